import { isRouteErrorResponse, useLocation } from '@remix-run/react'
import { ButtonLink } from '../ui/forms/button.tsx'
import { useFailedRequestId } from './request.tsx'
import { errorPageStrings } from './strings.tsx'

const titles: Record<number, string> = {
  403: errorPageStrings.title.forbidden,
  404: errorPageStrings.title.notFound,
  429: errorPageStrings.title.wait,
  503: errorPageStrings.title.wait,
}

/** The page for an error: what the caller caused has the catalogue's sentence, what we caused has the request's id. */
export function ErrorPage({ error }: { error: unknown }) {
  const requestId = useFailedRequestId()
  const here = useLocation()
  const status = isRouteErrorResponse(error) ? error.status : 500
  const isOurs = status >= 500
  return (
    <div className="py-12 text-center">
      <p className="text-sm font-medium tabular-nums text-muted">{status}</p>
      <h1 tabIndex={-1} className="mt-1 text-2xl font-semibold tracking-tight">
        {titles[status] ?? (isOurs ? errorPageStrings.title.ours : errorPageStrings.title.other)}
      </h1>
      <p className="mx-auto mt-2 max-w-md text-muted">
        {isOurs && status !== 503 ? errorPageStrings.ours : sentenceOf(error)}
      </p>
      {isOurs && requestId ? (
        <p className="mt-4 text-sm text-muted">
          {errorPageStrings.request(
            <code className="select-all rounded bg-sunken px-1.5 py-0.5 font-mono text-ink">{requestId}</code>,
          )}
        </p>
      ) : null}
      <div className="mt-6 flex justify-center gap-2">
        {isOurs ? (
          <ButtonLink to={here} reloadDocument look="primary">
            {errorPageStrings.tryAgain}
          </ButtonLink>
        ) : null}
        <ButtonLink to="/">{errorPageStrings.toPosts}</ButtonLink>
      </div>
    </div>
  )
}

function sentenceOf(error: unknown): string {
  const isAbsent = isRouteErrorResponse(error) && error.status === 404 // the catalogue says no more than the title
  const said: unknown = isRouteErrorResponse(error) && !isAbsent ? error.data?.detail : null
  return typeof said === 'string' ? said : errorPageStrings.notFound
}
