import { z } from 'zod'
import type { Answer } from '../outbound.ts'
import { PublishError } from './network.ts'

const ReplyLength = 2000
const ReasonLength = 300
const AddressLength = 2000
const LongestWaitMs = 7 * 24 * 3_600_000

// 4xx that say nothing about whether the request was carried out: too slow, in conflict with its own twin, too early.
const SilentStatuses = new Set([408, 409, 425])

/**
 * The verdict on an answer that is no success, as far as HTTP alone decides it.
 *
 * `reason` is the network's own sentence, if it gave one; `secrets` are taken out of what is kept.
 */
export function failureOf(
  answer: Answer,
  { network, reason, secrets }: { network: string; reason: string | null; secrets: string[] },
): PublishError {
  const { status } = answer
  const kept = recordOf(answer, secrets)
  if (status === 401) return new PublishError('reconnect', `${network} no longer accepts this connection.`, kept)
  if (status === 429) {
    const retryAt = retryAtOf(answer.headers)
    return new PublishError('later', `${network} asks to wait.`, { ...kept, retryAt, code: 'rate_limited' })
  }
  if (status < 400 || status > 499 || SilentStatuses.has(status)) {
    return new PublishError('unknown', `${network} answered ${status}.`, kept)
  }
  const said = reason === null ? `with status ${status}.` : `and says: ${withoutSecrets(reason, secrets)}`
  return new PublishError('refused', `${network} refused this post ${said}`, kept)
}

/** The body of a success. Throws PublishError `unknown` when it is not what `schema` describes: it may be out all the same. */
export function readAs<T extends z.ZodType>(
  schema: T,
  answer: Answer,
  { network, secrets }: { network: string; secrets: string[] },
): z.infer<T> {
  const parsed = schema.safeParse(bodyOf(answer))
  if (parsed.success) return parsed.data
  throw new PublishError('unknown', `${network} answered something that cannot be read.`, {
    ...recordOf(answer, secrets),
    cause: parsed.error,
  })
}

/**
 * An address that a network gives of something of its own: http or https, made well-formed. Anything else counts as
 * absent (null): it becomes a link on our pages, where `javascript:` would run.
 */
export const WebAddress = z
  .string()
  .nullish()
  .catch(null)
  .transform((given) => {
    const url = given && URL.canParse(given) ? new URL(given) : null
    return url && /^https?:$/.test(url.protocol) && url.href.length <= AddressLength ? url.href : null
  })

/** The JSON of an answer; undefined when it is none. */
export function bodyOf(answer: Answer): unknown {
  try {
    return answer.json()
  } catch {
    return undefined
  }
}

/** What is kept of an answer in the attempt's record. */
export function recordOf(answer: Answer, secrets: string[]): { status: number; reply: string } {
  return { status: answer.status, reply: withoutSecrets(answer.text(), secrets).slice(0, ReplyLength) }
}

/** A network's own sentence as it may be shown: plain, one line, not endless. */
export function plainReason(reason: string): string {
  return reason
    .replace(/<[^>]*>/g, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, ReasonLength)
}

/**
 * When a network that answered 429 wants to be asked again: `Retry-After` (RFC 9110 §10.2.3), else Mastodon's
 * `X-RateLimit-Reset` (an ISO instant) or Bluesky's `RateLimit-Reset` (seconds since 1970).
 *
 * Null when it gives no time, none that can be understood, or one that is past. At most a week ahead.
 */
export function retryAtOf(headers: Answer['headers'], now = new Date()): Date | null {
  // An instant is meant by the network's clock, which its Date header shows; seconds are meant by nobody's.
  const theirNowMs = instantOf(headers.date) ?? now.getTime()
  const waitMs =
    secondsOf(headers['retry-after']) ??
    until(instantOf(headers['retry-after']), theirNowMs) ??
    until(instantOf(headers['x-ratelimit-reset']), theirNowMs) ??
    until(secondsOf(headers['ratelimit-reset']), theirNowMs)
  if (waitMs === null || waitMs <= 0) return null
  return new Date(now.getTime() + Math.min(waitMs, LongestWaitMs))
}

function secondsOf(header: string | undefined): number | null {
  return header !== undefined && /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : null
}

// Date.parse takes "5" and "-1" for years: only what begins like an HTTP date or an ISO instant is one.
function instantOf(header: string | undefined): number | null {
  if (header === undefined || !/^\s*([A-Z][a-z]+, |\d{4}-\d\d-\d\d)/.test(header)) return null
  const instant = Date.parse(header)
  return Number.isNaN(instant) ? null : instant
}

function until(instant: number | null, now: number): number | null {
  return instant === null ? null : instant - now
}

// PostgreSQL's text cannot hold NUL.
function withoutSecrets(text: string, secrets: string[]): string {
  return secrets
    .filter(Boolean)
    .reduce((kept, secret) => kept.replaceAll(secret, '[redacted]'), text.replaceAll('\0', ''))
}
