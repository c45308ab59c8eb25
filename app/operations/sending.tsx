import { CircleCheck, CirclePause } from 'lucide-react'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { Pill } from '../ui/status.tsx'
import { ActionForm } from './action-form.tsx'
import { useOperations } from './operations.ts'
import { operationsStrings } from './strings.tsx'

const strings = operationsStrings.sending

/** Whether posts are sent, and if not, why, with buttons to pause and resume. */
export function Sending() {
  const { pausedAt, restoredAt } = useOperations()
  const isStopped = pausedAt !== null || restoredAt !== null
  return (
    <Card title={strings.title}>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
        <div className="min-w-0 flex-1 basis-72 space-y-2">
          {isStopped ? (
            <Pill name={strings.stopped} icon={CirclePause} tone="warn" />
          ) : (
            <Pill name={strings.on} icon={CircleCheck} tone="good" />
          )}
          {isStopped ? null : <p>{strings.onText}</p>}
          {pausedAt ? <p>{strings.paused(<Instant at={pausedAt} />)}</p> : null}
          {restoredAt ? <p>{strings.restored(<Instant at={restoredAt} />)}</p> : null}
        </div>
        <div className="flex flex-wrap gap-2">
          {isStopped ? (
            <ActionForm intent="resume" fields={{ scope: 'all' }} look="primary">
              {strings.resume}
            </ActionForm>
          ) : null}
          {pausedAt ? null : (
            <ActionForm intent="pause" fields={{ scope: 'all' }} look="danger">
              {strings.pauseAll}
            </ActionForm>
          )}
        </div>
      </div>
    </Card>
  )
}
