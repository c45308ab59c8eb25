import { lookup as lookUpInDns } from 'node:dns/promises'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Client, type Dispatcher } from 'undici'
import { type BytesAtMost, bounded, type Reserve, reserved } from './bounded.ts'
import { type Call, connectorFor, type Deadline, end, OutboundError, type Rules, reset } from './connection.ts'
import { type Multipart, multipartOf } from './multipart.ts'
import { addressRule } from './public-address.ts'

export { OutboundError, type OutboundFault } from './connection.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** At most one of `json`, `form`, `multipart` and `body`. */
export type RequestOptions = {
  headers?: Record<string, string>
  json?: unknown
  form?: URLSearchParams
  multipart?: Multipart
  body?: Uint8Array | string
  signal?: AbortSignal
  timeoutMs?: number // for the whole call; default: 15,000
  maxBytes?: number // of the answer; default: 1 MiB
  excerptBytes?: number // read only this much of the answer: drop the rest, and accept any encoding
}

/** An answer with any status. Header names are in lower case, repeated ones joined. `json` throws SyntaxError. */
export type Answer = {
  status: number
  ok: boolean // 200 to 299
  headers: Record<string, string | undefined>
  body: Uint8Array
  text: () => string
  json: () => unknown
}

/** Calls to addresses that somebody else chose. They throw OutboundError; `download` also throws errors of the disk. */
export type Outbound = {
  /** One HTTP request on its own connection. It follows no redirect and retries nothing. */
  request: (method: Method, url: string, options?: RequestOptions) => Promise<Answer>
  get: (url: string, options?: RequestOptions) => Promise<Answer>
  post: (url: string, options?: RequestOptions) => Promise<Answer>
  /**
   * Stream the content of `url` into the new file `to`, with the limits of docs/api/media.md, Upload from a URL. A
   * failure deletes the file. `reserve` gets its size before we write each piece. If it throws, the download ends.
   */
  download: (
    url: string,
    options: { to: string; maxBytes: BytesAtMost; reserve?: Reserve | undefined; signal?: AbortSignal },
  ) => Promise<{ bytes: number }>
  /** The same, but the first byte of a call must leave within `ms` from now. Later it fails as `deadline`, not sent. */
  beginningWithin: (ms: number) => Outbound
  /** End all calls in progress. No new call starts. */
  close: () => Promise<void>
}

// docs/api/media.md, Upload from a URL.
const Limits = { connectMs: 10_000, betweenBytesMs: 15_000, downloadMs: 300_000, redirects: 3 }

/** `allow`: networks in CIDR form that the operator trusts, beside public ones. `lookup` and `limits` are for tests. */
export type OutboundOptions = {
  allow: string[]
  lookup?: (name: string) => Promise<string[]>
  limits?: Partial<typeof Limits>
}

/** The only way to call an address that somebody else chose. Rules: docs/api/media.md. Deadline: docs/faults.md. */
export function createOutbound({ allow, lookup = addressesInDns, limits }: OutboundOptions): Outbound {
  const rules = { ...Limits, ...limits, lookup, accepts: addressRule(allow) }
  return outboundOf({ rules, calls: new Set(), closed: false }, null)
}

async function addressesInDns(name: string): Promise<string[]> {
  return (await lookUpInDns(name, { all: true })).map(({ address }) => address)
}

type House = { rules: Rules & typeof Limits; calls: Set<Call>; closed: boolean }

function outboundOf(house: House, deadline: Deadline | null): Outbound {
  const { rules } = house
  const request: Outbound['request'] = (method, url, options = {}) => {
    const { timeoutMs = 15_000, signal } = options
    return during(house, { deadline, timeoutMs, signal }, (call) => answerOf(call, rules, method, url, options))
  }
  return {
    request,
    get: (url, options) => request('GET', url, options),
    post: (url, options) => request('POST', url, options),
    download: (url, { signal, ...way }) =>
      during(house, { deadline, timeoutMs: rules.downloadMs, signal }, (call) => save(call, rules, url, way)),
    beginningWithin: (ms) => outboundOf(house, earlier(deadline, ms)),
    close: async () => {
      house.closed = true
      for (const call of house.calls) end(call, 'aborted')
    },
  }
}

function earlier(deadline: Deadline | null, ms: number): Deadline {
  return {
    monotonicMs: Math.min(deadline?.monotonicMs ?? Number.POSITIVE_INFINITY, performance.now() + ms),
    wallMs: Math.min(deadline?.wallMs ?? Number.POSITIVE_INFINITY, Date.now() + ms),
  }
}

type Bounds = { deadline: Deadline | null; timeoutMs: number; signal: AbortSignal | undefined }

async function during<T>(house: House, bounds: Bounds, work: (call: Call) => Promise<T>): Promise<T> {
  const { deadline, timeoutMs, signal } = bounds
  if (house.closed || signal?.aborted) throw new OutboundError('aborted', false)
  const call: Call = { deadline, sent: false, raw: null, stop: new AbortController() }
  const abort = () => end(call, 'aborted')
  const timer = setTimeout(end, timeoutMs, call, 'timeout')
  signal?.addEventListener('abort', abort)
  house.calls.add(call)
  try {
    return await work(call)
  } finally {
    house.calls.delete(call)
    signal?.removeEventListener('abort', abort)
    clearTimeout(timer)
  }
}

async function answerOf(call: Call, rules: Rules, method: Method, address: string, options: RequestOptions) {
  const { maxBytes = 1_048_576, excerptBytes } = options
  const payload = { method, ...(await payloadOf(options)) }
  return exchange(call, rules, addressed(call, address), payload, async (response) =>
    answerFrom(
      response,
      await (excerptBytes === undefined
        ? buffer(bytesOf(call, response, maxBytes))
        : excerptOf(response, excerptBytes)),
    ),
  )
}

function answerFrom({ statusCode: status, headers }: Dispatcher.ResponseData, body: Buffer): Answer {
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')])),
    body,
    text: () => body.toString('utf8'),
    json: () => JSON.parse(body.toString('utf8')),
  }
}

async function payloadOf({ headers = {}, json, form, multipart, body }: RequestOptions) {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  if (multipart) {
    const streamed = multipartOf(multipart)
    return { headers: { ...own, ...streamed.headers }, body: Readable.from(streamed.body) }
  }
  const given = json === undefined ? (form ?? (body as BodyInit | undefined)) : JSON.stringify(json)
  const payload = new Response(given) // knows the content types
  const type = json === undefined ? payload.headers.get('content-type') : 'application/json'
  return {
    headers: { ...(type && { 'content-type': type }), ...own },
    body: given === undefined ? null : Buffer.from(await payload.arrayBuffer()),
  }
}

function addressed(call: Call, address: string | URL, base?: URL): URL {
  const url = URL.parse(address, base)
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return url
  throw new OutboundError('url', call.sent)
}

type Saving = { to: string; maxBytes: BytesAtMost; reserve?: Reserve | undefined }

async function save(call: Call, rules: House['rules'], address: string, { to, ...bounds }: Saving) {
  const first = addressed(call, address)
  const file = await open(to, 'wx', 0o600)
  try {
    await saveFollowing(call, rules, first, file, bounds)
    return { bytes: (await file.stat()).size }
  } catch (error) {
    await rm(to)
    throw error
  } finally {
    await file.close()
  }
}

async function saveFollowing(
  call: Call,
  rules: House['rules'],
  first: URL,
  file: FileHandle,
  { maxBytes, reserve }: Omit<Saving, 'to'>,
) {
  let url = first
  for (let followed = 0; followed <= rules.redirects; followed++) {
    const timeouts = { headersTimeout: rules.betweenBytesMs, bodyTimeout: rules.betweenBytesMs }
    const location = await exchange(call, rules, url, { method: 'GET', ...timeouts }, async (response) => {
      if (isRedirect(response)) return response.headers.location as string
      if (response.statusCode !== 200) throw new OutboundError('status', call.sent, { cause: response.statusCode })
      const pieces = bytesOf(call, response, maxBytes)
      for await (const piece of reserved(pieces, reserve, lengthOf(response))) await file.appendFile(piece)
      return null
    })
    if (location === null) return
    url = addressed(call, location, url)
  }
  throw new OutboundError('redirects', call.sent)
}

function lengthOf({ headers }: Dispatcher.ResponseData): number | undefined {
  return Number(headers['content-length']) || undefined
}

function isRedirect({ statusCode, headers }: Dispatcher.ResponseData): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode) && typeof headers.location === 'string'
}

type Payload = Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headersTimeout' | 'bodyTimeout'> & {
  headers?: Record<string, string>
}

async function exchange<T>(
  call: Call,
  rules: Rules,
  url: URL,
  { headers, ...payload }: Payload,
  read: (response: Dispatcher.ResponseData) => Promise<T>,
): Promise<T> {
  const connect = connectorFor(call, url, rules)
  // We don't pass the signal: an abort after a reset fails an assertion of undici 8.12, outside of all calls.
  // pipelining 0: `connection: close`. The time-outs are the call's own, or those of `payload`.
  const client = new Client(url.origin, { connect, pipelining: 0, allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
  try {
    const path = url.pathname + url.search
    const all = { 'user-agent': 'Punctual', accept: '*/*', ...headers, 'accept-encoding': 'identity' }
    const response = await client
      .request({ ...payload, path, headers: all })
      .catch((error) => Promise.reject(faultOf(call, error)))
    response.body.on('error', () => {}) // if it is destroyed unread, it would end the process
    return await read(response)
  } catch (error) {
    reset(call)
    throw error
  } finally {
    void client.destroy()
  }
}

const ExcerptMs = 1000 // we don't wait longer for a slow answer

async function excerptOf({ body }: Dispatcher.ResponseData, bytes: number): Promise<Buffer> {
  let read = Buffer.alloc(0)
  const impatience = setTimeout(() => body.destroy(), ExcerptMs)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      read = Buffer.concat([read, chunk])
      if (read.length >= bytes) break
    }
  } catch {
    // Only the status counts, and we have read it.
  } finally {
    clearTimeout(impatience)
  }
  return read.subarray(0, bytes)
}

async function* bytesOf(call: Call, { headers, body }: Dispatcher.ResponseData, maxBytes: BytesAtMost) {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw new OutboundError('encoding', call.sent)
  try {
    yield* bounded(body, maxBytes, () => new OutboundError('too_large', call.sent))
    call.stop.signal.throwIfAborted() // a body without a length simply ends when its connection is reset
  } catch (error) {
    throw faultOf(call, error)
  }
}

function faultOf(call: Call, error: unknown): OutboundError {
  if (call.stop.signal.aborted) return call.stop.signal.reason
  if (error instanceof OutboundError) return error
  const code = String((error as { code?: unknown }).code)
  if (code === 'UND_ERR_INVALID_ARG') return new OutboundError('request', call.sent, { cause: error })
  return new OutboundError(/TIMEOUT/.test(code) ? 'timeout' : 'reset', call.sent, { cause: error })
}
