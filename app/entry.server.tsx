import { Transform } from 'node:stream'
import {
  type ActionFunctionArgs,
  type AppLoadContext,
  createReadableStreamFromReadable,
  type EntryContext,
  type LoaderFunctionArgs,
} from '@remix-run/node'
import { isRouteErrorResponse, RemixServer } from '@remix-run/react'
import { renderToPipeableStream } from 'react-dom/server'
import { RequestContext } from './shell/request.tsx'

/** Render a document. Pages wait for everything that they show, so the first flush is the whole document. */
export default function handleRequest(
  request: Request,
  status: number,
  headers: Headers,
  entry: EntryContext,
  { nonce, requestId, report }: AppLoadContext,
): Promise<Response> {
  const { loaderHeaders, actionHeaders } = entry.staticHandlerContext
  for (const given of [...Object.values(loaderHeaders), ...Object.values(actionHeaders)]) {
    const wait = given.get('Retry-After')
    if (wait) headers.set('Retry-After', wait) // of a route's headers, Remix copies only cookies to the document
  }
  return new Promise((resolve, reject) => {
    const { pipe } = renderToPipeableStream(
      <RequestContext.Provider value={{ nonce, requestId, now: new Date().toISOString() }}>
        <RemixServer context={entry} url={request.url} />
      </RequestContext.Provider>,
      {
        nonce,
        onShellReady() {
          const body = withoutNulls()
          headers.set('Content-Type', 'text/html; charset=utf-8')
          resolve(new Response(createReadableStreamFromReadable(body), { headers, status }))
          pipe(body)
        },
        onShellError: reject,
        onError: report,
      },
    )
  })
}

// React 18 fills up its buffer with NULs where a letter of several bytes doesn't fit, and a browser shows each as U+FFFD, in
// text fields too. Texts of ours have no NUL: PostgreSQL takes none. (writeStringChunk in react-dom-server.node)
function withoutNulls(): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => done(null, chunk.includes(0) ? chunk.filter((byte) => byte !== 0) : chunk),
  })
}

/** Log an error that a loader or an action did not expect. The page shows only the request's id. */
export function handleError(error: unknown, { request, context }: LoaderFunctionArgs | ActionFunctionArgs): void {
  const isCallersFault = isRouteErrorResponse(error) && error.status < 500 // such as a form for a page that takes none
  if (!request.signal.aborted && !isCallersFault) context.report(error)
}
