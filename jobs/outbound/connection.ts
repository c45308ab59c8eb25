import { once } from 'node:events'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { buildConnector } from 'undici'
import { isLocalhost } from './public-address.ts'

// One sentence for everything that is wrong with an address, or a name without one: it tells an attacker nothing.
const NoPublicAddress = 'No public server has this address.'
const sentences = {
  url: 'The URL must begin with http:// or https:// and have no user name.',
  address: NoPublicAddress,
  dns: NoPublicAddress,
  connect: 'The server could not be reached.',
  tls: 'The server did not offer a secure connection that we can trust.',
  deadline: 'The server could not be reached in time.',
  timeout: 'The server took too long.',
  reset: 'The connection broke, or the answer was not HTTP.',
  request: "We couldn't build the request.", // a header that HTTP does not allow
  status: 'The server did not send the file.', // downloads only
  too_large: 'The answer is too large.',
  encoding: "The answer is compressed. We didn't ask for that.",
  redirects: 'The URL redirects too many times.', // downloads only
  aborted: 'We cancelled the call.',
}
export type OutboundFault = keyof typeof sentences

/** `sent`: a byte of the request may have left. The message may be shown to the person who chose the address. */
export class OutboundError extends Error {
  readonly kind: OutboundFault
  readonly sent: boolean
  constructor(kind: OutboundFault, sent: boolean, { cause }: { cause?: unknown } = {}) {
    super(sentences[kind], { cause })
    this.kind = kind
    this.sent = sent
  }

  /** The message with the server's name. */
  messageOf(server: string): string {
    return this.message.startsWith('The server ')
      ? this.message.replace('The server', server)
      : `${server}: ${this.message}`
  }
}

/** Which addresses we may call, how names become addresses, and how long connecting may take. */
export type Rules = {
  accepts: (address: string) => boolean
  lookup: (name: string) => Promise<string[]>
  connectMs: number
}

/** The last instant for the first byte, on both clocks: one stops while a machine sleeps, the other can be set. */
export type Deadline = { monotonicMs: number; wallMs: number }

/** A call in progress: its newest socket, and what ends it. The abort's reason is the error that the caller gets. */
export type Call = { deadline: Deadline | null; sent: boolean; raw: Socket | null; stop: AbortController }

/** End a call with the error `kind`, at any stage. */
export function end(call: Call, kind: OutboundFault): void {
  if (call.stop.signal.aborted) return
  call.stop.abort(new OutboundError(kind, call.sent))
  reset(call)
}

/** Drop the call's connection, with the data that the kernel would still deliver after a normal close. */
export function reset(call: Call): void {
  if (call.raw?.connecting) call.raw.destroy()
  else call.raw?.resetAndDestroy()
}

/**
 * How undici connects to `url` for `call`: once, to addresses that we checked. We check again on the socket.
 *
 * Fails with OutboundError. Between the check of the deadline and undici's first byte, nothing is awaited.
 */
export function connectorFor(call: Call, url: URL, rules: Rules): buildConnector.connector {
  let used = false
  return async (_options, callback) => {
    try {
      if (used) throw new OutboundError('reset', call.sent) // undici would connect again after a lost connection
      used = true
      const socket = await openSocket(call, url, rules)
      if (millisecondsLeft(call.deadline) <= 0) end(call, 'deadline')
      call.stop.signal.throwIfAborted()
      call.sent = true
      callback(null, socket)
    } catch (error) {
      callback(error as OutboundError, null)
    }
  }
}

async function openSocket(call: Call, url: URL, rules: Rules): Promise<Socket> {
  const { signal } = call.stop
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const left = millisecondsLeft(call.deadline)
  const timer = setTimeout(
    end,
    Math.max(0, Math.min(left, rules.connectMs)),
    call,
    left < rules.connectMs ? 'deadline' : 'connect',
  )
  let stage: OutboundFault = 'dns'
  try {
    const addresses = await unlessStopped(signal, addressesOf(host, rules))
    if (addresses.length === 0 || !addresses.every(rules.accepts)) throw new OutboundError('address', call.sent)
    stage = 'connect'
    const raw = await openRaw(call, host, Number(url.port) || (url.protocol === 'https:' ? 443 : 80), addresses)
    if (!rules.accepts(raw.remoteAddress ?? '')) throw new OutboundError('address', call.sent)
    stage = 'tls'
    return url.protocol === 'https:' ? await secured(raw, host, signal) : raw
  } catch (cause) {
    reset(call)
    signal.throwIfAborted()
    throw cause instanceof OutboundError ? cause : new OutboundError(stage, call.sent, { cause })
  } finally {
    clearTimeout(timer)
  }
}

async function addressesOf(host: string, { accepts, lookup }: Rules): Promise<string[]> {
  if (isIP(host)) return [host]
  return isLocalhost(host) ? ['127.0.0.1', '::1'].filter(accepts) : lookup(host)
}

// We can't cancel a DNS lookup. We can only stop waiting for it.
async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = once(signal, 'abort').then(() => Promise.reject(signal.reason))
  return Promise.race([work, stopped])
}

async function openRaw(call: Call, host: string, port: number, addresses: string[]): Promise<Socket> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, found)
  const raw = connect({
    host,
    port,
    lookup,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2000,
  })
  call.raw = raw.on('error', ignore)
  await once(raw, 'connect', { signal: call.stop.signal })
  return raw
}

async function secured(raw: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const servername = isIP(host) ? '' : host.replace(/\.$/, '')
  const socket = connectTls({ socket: raw, host, servername, ALPNProtocols: ['http/1.1'] }).on('error', ignore)
  await once(socket, 'secureConnect', { signal })
  return socket
}

function millisecondsLeft(deadline: Deadline | null): number {
  if (!deadline) return Number.POSITIVE_INFINITY
  return Math.min(deadline.monotonicMs - performance.now(), deadline.wallMs - Date.now())
}

function ignore() {} // for an emitter whose error we handle elsewhere: without a listener it would end the process
