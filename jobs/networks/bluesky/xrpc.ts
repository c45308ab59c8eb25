import { z } from 'zod'
import type { Answer, Outbound } from '../../outbound/outbound.ts'
import { reasonIn } from '../reason.ts'
import { bodyOf, plainReason } from '../verdict.ts'

export const BlueskyCredential = z.object({
  pds: z.string(), // an origin
  did: z.string(),
  handle: z.string(),
  accessJwt: z.string(),
  refreshJwt: z.string(),
})

/** One method of the AT Protocol: a query, or with `post` a procedure. */
export type Method = {
  nsid: string
  query?: Record<string, string>
  post?: { json?: unknown; body?: Uint8Array; mime?: string }
  timeoutMs?: number
}

const Problem = z.object({ error: z.string(), message: z.unknown() })

/** Call a method of a PDS. It returns an answer with any status. https://atproto.com/specs/xrpc */
export function xrpc(
  outbound: Outbound,
  pds: string,
  { nsid, query, post, timeoutMs }: Method,
  { token, signal }: { token?: string; signal?: AbortSignal } = {},
): Promise<Answer> {
  const url = new URL(`/xrpc/${nsid}`, pds)
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
  const { mime, ...payload } = post ?? {}
  return outbound.request(post ? 'POST' : 'GET', url.href, {
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(mime ? { 'content-type': mime } : {}),
    },
    ...payload,
    ...(signal ? { signal } : {}),
    ...(timeoutMs ? { timeoutMs } : {}),
  })
}

/** The error's name, and its sentence if it has one. Null if the answer is not an error of this protocol. */
export function problemOf(answer: Answer): { error: string; reason: string } | null {
  const problem = Problem.safeParse(bodyOf(answer))
  if (!problem.success) return null
  const { error, message } = problem.data
  return { error, reason: reasonIn({ message }) ?? plainReason(error) }
}
