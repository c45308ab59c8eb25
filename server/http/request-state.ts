import type { ServerResponse } from 'node:http'

/** What one part of a request learns and a later part reads: its log line, its metrics, its entry in the list of requests. */
export type RequestState = {
  /** The route's pattern, for the metrics: never the path itself. */
  route?: string
  caller?: KnownCaller
  /** What the route asks of a credential, for the challenge of one that lacks it (RFC 6750 §3.1). */
  scope?: string | undefined
  /** The code of the problem that was answered. */
  problem?: string
  isPastLimit?: boolean
  /** Of a page's scripts (CSP). */
  nonce?: string
}

/** An actor, or an app that showed its secret at an OAuth endpoint; its organisation is then that of its makers. */
export type KnownCaller = { kind: 'member' | 'api_key' | 'app'; id: string; organisationId: string; name: string }

const states = new WeakMap<ServerResponse, RequestState>()

/** The state of the request that `res` answers. Express has `res.locals` for it, which no type can hold. */
export function stateOf(res: ServerResponse): RequestState {
  const known = states.get(res)
  if (known) return known
  const state: RequestState = {}
  states.set(res, state)
  return state
}
