import { PassThrough } from 'node:stream'
import {
  type ActionFunctionArgs,
  type AppLoadContext,
  createReadableStreamFromReadable,
  type EntryContext,
  type LoaderFunctionArgs,
} from '@remix-run/node'
import { RemixServer } from '@remix-run/react'
import { renderToPipeableStream } from 'react-dom/server'
import { RequestContext } from './shell/request.tsx'

/** Make a document. Pages wait for all that they show, so the first flush is the whole of it. */
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
    if (wait) headers.set('Retry-After', wait) // of what a route answers, Remix gives a document the cookies alone
  }
  return new Promise((resolve, reject) => {
    const { pipe } = renderToPipeableStream(
      <RequestContext.Provider value={{ nonce, requestId }}>
        <RemixServer context={entry} url={request.url} />
      </RequestContext.Provider>,
      {
        nonce,
        onShellReady() {
          const body = new PassThrough()
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

/** Whatever a loader or an action did not expect: to the log. The page shows the request's id and nothing of it. */
export function handleError(error: unknown, { request, context }: LoaderFunctionArgs | ActionFunctionArgs): void {
  if (!request.signal.aborted) context.report(error)
}
