import { isRouteErrorResponse, useLocation } from '@remix-run/react'
import { ButtonLink } from '../ui/forms/button.tsx'
import { useFailedRequestId } from './request.tsx'

const headings: Record<number, string> = {
  403: 'Not for your role',
  404: 'There is nothing here',
  429: 'One moment',
  503: 'One moment',
}

/** What a page shows that could not be made: a failure of the catalogue by its sentence, ours by the request's id. */
export function ErrorPage({ error }: { error: unknown }) {
  const requestId = useFailedRequestId()
  const here = useLocation()
  const status = isRouteErrorResponse(error) ? error.status : 500
  const isOurs = status >= 500
  return (
    <div className="py-12 text-center">
      <p className="text-sm font-medium tabular-nums text-muted">{status}</p>
      <h1 tabIndex={-1} className="mt-1 text-2xl font-semibold tracking-tight">
        {headings[status] ?? (isOurs ? 'Something went wrong on our side' : 'This did not work')}
      </h1>
      <p className="mx-auto mt-2 max-w-md text-muted">
        {isOurs && status !== 503
          ? 'What you see here is not your fault, and your posts go on. Try again; if it stays, tell your operator.'
          : sentenceOf(error)}
      </p>
      {isOurs && requestId ? (
        <p className="mt-4 text-sm text-muted">
          Request <code className="select-all rounded bg-sunken px-1.5 py-0.5 font-mono text-ink">{requestId}</code>
        </p>
      ) : null}
      <div className="mt-6 flex justify-center gap-2">
        {isOurs ? (
          <ButtonLink to={here} reloadDocument look="primary">
            Try again
          </ButtonLink>
        ) : null}
        <ButtonLink to="/">To the posts</ButtonLink>
      </div>
    </div>
  )
}

function sentenceOf(error: unknown): string {
  const said: unknown = isRouteErrorResponse(error) ? error.data?.detail : null
  return typeof said === 'string' ? said : 'The address may be mistyped, or what was here is gone.'
}
