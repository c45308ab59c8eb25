import type { IncomingMessage, ServerResponse } from 'node:http'
import { writeReadableStreamToWritable } from '@remix-run/node'
import { codingFor, compressed } from '../http/content-coding.ts'

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

/** Answer with what Remix made, compressed if the request and the answer allow it. */
export async function sendPage(req: Addressed, res: ServerResponse, response: Response): Promise<void> {
  const isCompressible = reflectsNothing(req) && hasText(response)
  const coding = isCompressible ? codingFor(req) : null
  const body = coding && response.body ? await compressed(coding, await bytesOf(response)) : response.body
  if (res.headersSent) return void (await response.body?.cancel()) // it waited too long and was already refused (waiting.ts)
  res.statusMessage = response.statusText
  res.statusCode = response.status
  for (const [name, value] of response.headers) res.appendHeader(name, value)
  if (isCompressible) res.appendHeader('Vary', 'Accept-Encoding')
  if (coding) res.setHeader('Content-Encoding', coding)
  if (body instanceof ReadableStream) await writeReadableStreamToWritable(body, res)
  else if (body) res.setHeader('Content-Length', body.length).end(body)
  else res.end()
}

// The size of a compressed page shows where it repeats parts of the request. Another site can open our pages with the
// person's cookie, and guess from the size what else is on the page (BREACH). So we compress only where the request can
// say nothing: without a query, except the name of a loader. The consent page has a secret, and is never compressed.
function reflectsNothing({ method, originalUrl }: Addressed): boolean {
  return /^(GET|HEAD)$/.test(method ?? '') && /^(?!\/oauth\/)[^?]*(\?_data=[^&]*)?$/i.test(originalUrl)
}

// Only with 200: an error page may repeat the path. A resource with an ETag would need another one for each coding.
function hasText({ status, headers }: Response): boolean {
  const isText = /^(text\/html|application\/([\w.-]+\+)?(json|xml))\b/.test(headers.get('Content-Type') ?? '')
  return status === 200 && isText && !headers.has('ETag') && !headers.has('Content-Encoding')
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer())
}
