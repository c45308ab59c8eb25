export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** At most one of `json`, `form`, `multipart` and `body`. */
export type RequestOptions = {
  headers?: Record<string, string>
  json?: unknown
  form?: URLSearchParams
  multipart?: FormData
  body?: Uint8Array | string
  signal?: AbortSignal
  timeoutMs?: number // the whole call; 15,000 unless told
  maxBytes?: number // of the answer; 1 MiB unless told
}

/** What was answered, whatever its status. Header names are in lower case, repeated ones joined. `json` throws SyntaxError. */
export type Answer = {
  status: number
  ok: boolean // 200 to 299
  headers: Record<string, string | undefined>
  body: Uint8Array
  text: () => string
  json: () => unknown
}

/** Calls to addresses that somebody else chose. All throw OutboundError and nothing else. */
export type Outbound = {
  /** One HTTP request on a connection of its own: no redirect is followed, nothing is retried. */
  request: (method: Method, url: string, options?: RequestOptions) => Promise<Answer>
  get: (url: string, options?: RequestOptions) => Promise<Answer>
  post: (url: string, options?: RequestOptions) => Promise<Answer>
  /** Stream what is at `url` into the new file `to`, with the limits of API.md §5. The file is gone after a failure. */
  download: (url: string, options: { to: string; maxBytes: number; signal?: AbortSignal }) => Promise<{ bytes: number }>
  /** The same, for calls whose first byte leaves within `ms` of now or never: past it they fail as `deadline`, not sent. */
  beginningWithin: (ms: number) => Outbound
  /** End all that is under way. */
  close: () => Promise<void>
}

export type OutboundFault =
  | 'url' // not an http or https address, or one with user info
  | 'address' // not public
  | 'dns'
  | 'connect'
  | 'tls'
  | 'deadline'
  | 'timeout'
  | 'reset' // the connection broke, or what came was not HTTP
  | 'status' // a download was answered with something else than 200
  | 'too_large'
  | 'encoding'
  | 'redirects'
  | 'aborted'

/** `sent`: a byte of the request may have left. The message may be shown to whoever chose the address. */
export class OutboundError extends Error {
  readonly kind: OutboundFault
  readonly sent: boolean
  constructor(kind: OutboundFault, sent: boolean, message: string, { cause }: { cause?: unknown } = {}) {
    super(message, { cause })
    this.kind = kind
    this.sent = sent
  }
}

/** `allow`: networks in CIDR form that the operator trusts beside the public ones. `lookup` stands in for DNS in tests. */
export type OutboundOptions = { allow: string[]; lookup?: (name: string) => Promise<string[]> }

export function createOutbound(_options: OutboundOptions): Outbound {
  throw new Error('Not built yet.')
}
