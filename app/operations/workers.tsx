import { CircleCheck, CircleX } from 'lucide-react'
import type { WorkerSeen } from '../../server/operations/operations.ts'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { Pill } from '../ui/status.tsx'
import { Warning } from '../ui/warning.tsx'
import { useOperations } from './operations.ts'
import { operationsStrings } from './strings.tsx'

const strings = operationsStrings.workers

/** The worker processes, and the last heartbeat of each. */
export function Workers() {
  const { workers } = useOperations()
  return (
    <Card title={strings.title}>
      {workers.some(({ isSilent }) => !isSilent) ? null : (
        <Warning>
          <p>{strings.none(<code className="font-mono">npm run worker</code>)}</p>
        </Warning>
      )}
      <ul className="-my-3 divide-y divide-line">
        {workers.map((worker) => (
          <li key={worker.owner} className="py-3">
            <WorkerShown worker={worker} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function WorkerShown({ worker }: { worker: WorkerSeen }) {
  const { host, pid, concurrency, startedAt, seenAt, isSilent } = worker
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <p className="min-w-0 break-words font-medium">{strings.name(host, pid)}</p>
        {isSilent ? (
          <Pill name={strings.silent} icon={CircleX} tone="bad" />
        ) : (
          <Pill name={strings.alive} icon={CircleCheck} tone="good" />
        )}
      </div>
      <p className="text-sm text-muted">
        {strings.state(<Instant at={startedAt} />, concurrency, <Instant at={seenAt} form="exact" />)}
      </p>
    </>
  )
}
