import { ChevronRight } from 'lucide-react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { Instant } from '../shell/instant.tsx'

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

const words: Record<string, string> = {
  published: 'Published',
  later: 'Not sent, tried again later',
  refused: 'Refused',
  reconnect: 'Connection no longer accepted',
  unknown: 'Unknown whether it arrived',
  internal: 'Our mistake, not sent',
  lost: 'The worker was lost',
  edited: 'Stopped by a change',
}

/** The ledger of a post, folded away: every try on every channel, latest first. */
export function Attempts({ attempts, channels }: { attempts: Attempt[]; channels: Channel[] }) {
  if (attempts.length === 0) return null
  return (
    <details className="group rounded-2xl border border-line bg-panel shadow-sm">
      <summary className="flex items-center gap-2 rounded-2xl px-5 py-3.5 text-sm font-medium sm:px-6">
        <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
        Attempts <span className="font-normal text-muted">{attempts.length}</span>
      </summary>
      <ol className="divide-y divide-line border-t border-line text-sm">
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.id} className="px-5 py-3 sm:px-6">
            <p className="flex flex-wrap gap-x-2">
              <span className="text-muted">
                <Instant at={attempt.startedAt} form="exact" />
              </span>
              <span>{channels.find(({ id }) => id === attempt.channelId)?.name}</span>
              <span className="font-medium">
                {attempt.outcome ? (words[attempt.outcome] ?? attempt.outcome) : 'Under way'}
              </span>
              {attempt.status ? <span className="text-muted">HTTP {attempt.status}</span> : null}
            </p>
            {attempt.message ? <p className="mt-0.5 text-muted">{attempt.message}</p> : null}
            {attempt.foundAt ? (
              <p className="mt-0.5 text-muted">
                Found on the account <Instant at={attempt.foundAt} form="exact" />
              </p>
            ) : null}
            {attempt.reply ? (
              <pre className="mt-1.5 whitespace-pre-wrap break-all rounded-lg bg-sunken px-3 py-2 font-mono text-xs">
                {attempt.reply}
              </pre>
            ) : null}
          </li>
        ))}
      </ol>
    </details>
  )
}
