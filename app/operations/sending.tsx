import { CircleCheck, CirclePause } from 'lucide-react'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { Pill } from '../ui/status.tsx'
import { useOperations } from './operations.ts'
import { OrderForm } from './order-form.tsx'

/** Whether anything is sent at all, and if not, why; with the buttons that stop and start it. */
export function Sending() {
  const { pausedAt, restoredAt } = useOperations()
  const isStopped = pausedAt !== null || restoredAt !== null
  return (
    <Card title="Sending">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
        <div className="min-w-0 flex-1 basis-72 space-y-2">
          {isStopped ? (
            <Pill name="Stopped" icon={CirclePause} tone="warn" />
          ) : (
            <Pill name="On" icon={CircleCheck} tone="good" />
          )}
          {isStopped ? null : <p>The workers send what is due.</p>}
          {pausedAt ? (
            <p>
              An operator paused everything on <Instant at={pausedAt} />. Posts are taken, and wait.
            </p>
          ) : null}
          {restoredAt ? (
            <p>
              This database is a backup that was restored, noticed on <Instant at={restoredAt} />. What was past due in
              it may have gone out since the backup was made, and waits for a person of its organisation under Needs
              review. Resume sends all the rest.
            </p>
          ) : null}
        </div>
        <div className="flex flex-wrap gap-2">
          {isStopped ? (
            <OrderForm intent="resume" fields={{ scope: 'all' }} look="primary">
              Resume
            </OrderForm>
          ) : null}
          {pausedAt ? null : (
            <OrderForm intent="pause" fields={{ scope: 'all' }} look="danger">
              Pause all
            </OrderForm>
          )}
        </div>
      </div>
    </Card>
  )
}
