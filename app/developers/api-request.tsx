import { Link } from '@remix-run/react'
import type { ApiRequest as Shown } from '../../server/api-requests/list.ts'
import { Instant } from '../shell/instant.tsx'
import { CopyableId } from '../ui/copy.tsx'
import { requestStrings } from './strings.tsx'

const link = 'text-accent-ink underline underline-offset-2'

/** One request to the public API: its method and path, its outcome, and its credential. */
export function ApiRequest({ request }: { request: Shown }) {
  const { at, method, path, durationMs, credentialId, credentialName, problem, requestId } = request
  return (
    <>
      <p className="flex items-baseline gap-3">
        <StatusCode of={request.status} />
        <code className="min-w-0 break-all font-mono text-sm">
          <span className="font-semibold">{method}</span> {path}
        </code>
      </p>
      <p className="mt-1 flex flex-wrap gap-x-3 gap-y-0.5 text-sm text-muted">
        <Instant at={at} form="exact" />
        <span className="tabular-nums">{requestStrings.request.duration(durationMs)}</span>
        <Link to={`/settings/developers/requests?credential=${credentialId}`} className={link}>
          {credentialName}
        </Link>
        {problem ? (
          <Link to={`/docs/errors#${problem}`} className={`${link} font-mono`}>
            {problem}
          </Link>
        ) : null}
        {request.status === CallerGone ? <span>{requestStrings.request.callerGone}</span> : null}
      </p>
      <CopyableId copyName={requestStrings.request.copyId} text={requestId} />
    </>
  )
}

const CallerGone = 499

function StatusCode({ of: status }: { of: number }) {
  const tone = status < 400 ? 'bg-good/10 text-good' : status < 500 ? 'bg-warn/10 text-warn' : 'bg-bad/10 text-bad'
  return (
    <span className={`shrink-0 rounded-full px-2.5 py-0.5 text-xs font-medium tabular-nums ${tone}`}>{status}</span>
  )
}
