import { z } from 'zod'
import type { Answer } from '../outbound/outbound.ts'
import { oneLine } from './names.ts'
import { PublishError } from './network.ts'

const ReplyLength = 2000
const ReasonLength = 300
const AddressLength = 2000
const LongestWaitMs = 7 * 24 * 3_600_000
const FirstOfMilliseconds = 1e11 // since 1970: in 1973, while as many seconds are in 5138
const LongestSentence = 10 * ReasonLength // of a network, with its markup
const DeepestJson = 64
const [Quote, Backslash, OpenArray, CloseArray, OpenObject, CloseObject] = Buffer.from('"\\[]{}')

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
    const url = given && given.length <= AddressLength ? URL.parse(given) : null
    return url && /^https?:$/.test(url.protocol) && url.href.length <= AddressLength ? url.href : null
  })

/** What a network calls something of its own. It is kept and found by: it is not endless. */
export const RemoteId = z.string().min(1).max(500)

/** The JSON of an answer; undefined when it is none, or nested deeper than anything that we read. */
export function bodyOf(answer: Answer): unknown {
  if (isDeep(answer.body)) return undefined // a million brackets cost a hundred times what they cost to look at
  try {
    return answer.json()
  } catch {
    return undefined
  }
}

function isDeep(body: Uint8Array): boolean {
  let depth = 0
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (byte === Quote) i = endOfString(body, i)
    else if (byte === OpenArray || byte === OpenObject) depth++
    else if (byte === CloseArray || byte === CloseObject) depth--
    if (depth > DeepestJson) return true
  }
  return false
}

function endOfString(body: Uint8Array, start: number): number {
  let i = start + 1
  while (i < body.length && body[i] !== Quote) i += body[i] === Backslash ? 2 : 1
  return i
}

/** What is kept of an answer in the attempt's record. */
export function recordOf(answer: Answer, secrets: string[]): { status: number; reply: string } {
  return { status: answer.status, reply: withoutSecrets(answer.text(), secrets).slice(0, ReplyLength) }
}

/** A network's own sentence as it may be shown: plain, one line, not endless. */
export function plainReason(reason: string): string {
  return oneLine(withoutTags(reason.slice(0, LongestSentence))).slice(0, ReasonLength)
}

// Not by `<[^>]*>`: of tags that never end, it reads the rest anew at each.
function withoutTags(text: string): string {
  let kept = ''
  for (let from = 0; ; ) {
    const start = text.indexOf('<', from)
    const end = start < 0 ? -1 : text.indexOf('>', start)
    if (end < 0) return kept + text.slice(from)
    kept += text.slice(from, start)
    from = end + 1
  }
}

/**
 * When a network that answered 429 wants to be asked again: `Retry-After` (RFC 9110 §10.2.3), else Mastodon's
 * `X-RateLimit-Reset` (an ISO instant; elsewhere seconds or milliseconds since 1970) or Bluesky's `RateLimit-Reset` (seconds
 * since 1970). A reset of at most a week is a number of seconds from now (draft-ietf-httpapi-ratelimit-headers).
 *
 * Null when it gives no time, none that can be understood, or one that is past. At most a week ahead.
 */
export function retryAtOf(headers: Answer['headers'], now = new Date()): Date | null {
  // An instant is meant by the network's clock, which its Date header shows; seconds are meant by nobody's.
  const theirNowMs = instantOf(headers.date) ?? now.getTime()
  const waitMs =
    secondsOf(headers['retry-after']) ??
    until(instantOf(headers['retry-after']), theirNowMs) ??
    untilReset(headers['x-ratelimit-reset'], theirNowMs) ??
    untilReset(headers['ratelimit-reset'], theirNowMs)
  if (waitMs === null || waitMs <= 0) return null
  return new Date(now.getTime() + Math.min(waitMs, LongestWaitMs))
}

function untilReset(header: string | undefined, theirNowMs: number): number | null {
  if (header === undefined || !/^\s*\d{1,15}(\.\d{1,9})?\s*$/.test(header)) return until(instantOf(header), theirNowMs)
  const number = Number(header)
  if (number * 1000 <= LongestWaitMs) return number * 1000
  return (number < FirstOfMilliseconds ? number * 1000 : number) - theirNowMs
}

function secondsOf(header: string | undefined): number | null {
  return header !== undefined && /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : null
}

/** An instant in a header, in milliseconds since 1970: an HTTP date (RFC 9110 §5.6.7) or an ISO instant; null if it is neither. */
// Date.parse takes "5" and "-1" for years: only what begins like one of the two is one.
export function instantOf(header: string | undefined): number | null {
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
