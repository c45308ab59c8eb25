import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeReadableStreamToWritable } from '@remix-run/node'

type Addressed = IncomingMessage & { originalUrl: string }

/** A request as Remix takes it (Fetch), without its body: an action gets the form that was read in page-form.ts, or nothing. */
export function pageRequest(appUrl: string, req: Addressed, res: ServerResponse): Request {
  const gone = new AbortController()
  res.once('close', () => res.writableFinished || gone.abort())
  return new Request(new URL(req.originalUrl, appUrl), {
    method: req.method ?? 'GET',
    headers: headersOf(req),
    signal: gone.signal,
  })
}

const ofBody = new Set(['content-type', 'content-length', 'transfer-encoding', 'content-encoding'])

function headersOf(req: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(req.headers))
    if (!ofBody.has(name)) for (const value of [values ?? []].flat()) headers.append(name, value)
  return headers
}

/** Answer with what Remix made. */
export async function sendPage(res: ServerResponse, response: Response): Promise<void> {
  if (res.headersSent) return void (await response.body?.cancel()) // it waited too long and was already refused (waiting.ts)
  res.statusMessage = response.statusText
  res.statusCode = response.status
  for (const [name, value] of response.headers) res.appendHeader(name, value)
  if (response.body) await writeReadableStreamToWritable(response.body, res)
  else res.end()
}
