import { ChevronRight } from 'lucide-react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { Instant } from '../shell/instant.tsx'
import { postStrings } from './strings.tsx'

type Attempt = {
  id: string
  channelId: string
  no: number
  startedAt: string
  endedAt: string | null
  foundAt: string | null
  outcome: string | null
  status: number | null
  message: string | null
  reply: string | null
}

const strings = postStrings.attempts
const outcomes: Record<string, string> = strings.outcomes

/** The ledger of a post, folded away: every attempt on every channel, latest first. */
export function Attempts({ attempts, channels }: { attempts: Attempt[]; channels: Channel[] }) {
  if (attempts.length === 0) return null
  return (
    <details className="group rounded-2xl border border-line bg-panel shadow-sm">
      <summary className="flex items-center gap-2 rounded-2xl px-5 py-3.5 text-sm font-medium sm:px-6">
        <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
        {strings.title(<span className="font-normal text-muted">{attempts.length}</span>)}
      </summary>
      <ol className="divide-y divide-line border-t border-line text-sm">
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.id} className="px-5 py-3 sm:px-6">
            <p className="flex flex-wrap gap-x-2">
              <span className="text-muted">
                <Instant at={attempt.startedAt} form="exact" />
              </span>
              <bdi>{channels.find(({ id }) => id === attempt.channelId)?.name}</bdi>
              <span className="font-medium">
                {attempt.outcome ? (outcomes[attempt.outcome] ?? attempt.outcome) : strings.inProgress}
              </span>
              {attempt.status ? <span className="text-muted">{strings.status(attempt.status)}</span> : null}
            </p>
            {attempt.message ? <p className="mt-0.5 text-muted">{attempt.message}</p> : null}
            {attempt.foundAt ? (
              <p className="mt-0.5 text-muted">{strings.found(<Instant at={attempt.foundAt} form="exact" />)}</p>
            ) : null}
            {attempt.reply ? (
              <pre
                dir="auto"
                className="mt-1.5 whitespace-pre-wrap break-all rounded-lg bg-sunken px-3 py-2 font-mono text-xs"
              >
                {attempt.reply}
              </pre>
            ) : null}
          </li>
        ))}
      </ol>
    </details>
  )
}
