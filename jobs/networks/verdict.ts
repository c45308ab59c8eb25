import { z } from 'zod'
import type { Answer } from '../outbound/outbound.ts'
import { oneLine } from './names.ts'
import { PublishError } from './network.ts'
import { beginningOf } from './text-length.ts'

const ReplyLength = 2000
const ReasonLength = 300
const AddressLength = 2000
const LongestWaitMs = 7 * 24 * 3_600_000
const FirstOfMilliseconds = 1e11 // since 1970: in 1973; as seconds, it would be in 5138
const LongestSentence = 10 * ReasonLength // from a network, with its markup
const DeepestJson = 64
const [Quote, Backslash, OpenArray, CloseArray, OpenObject, CloseObject] = Buffer.from('"\\[]{}')

// 4xx that don't say if the request was carried out: too slow, in conflict with a copy of itself, too early.
const SilentStatuses = new Set([408, 409, 425])

/**
 * The verdict on an answer that is not a success, as far as HTTP alone decides it.
 *
 * `reason` is the network's own sentence, if it gave one; we remove `secrets` from what we store.
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
    return new PublishError('later', `${network} asked us to wait.`, { ...kept, retryAt, code: 'rate_limited' })
  }
  if (status < 400 || status > 499 || SilentStatuses.has(status)) {
    return new PublishError('unknown', `${network} answered ${status}.`, kept)
  }
  const said = reason === null ? `with status ${status}.` : `and says: ${withoutSecrets(reason, secrets)}`
  return new PublishError('refused', `${network} refused this post ${said}`, kept)
}

/** The body of a success. Throws PublishError `unknown` if it doesn't match `schema`: the post may be published. */
export function readAs<T extends z.ZodType>(
  schema: T,
  answer: Answer,
  { network, secrets }: { network: string; secrets: string[] },
): z.infer<T> {
  const parsed = schema.safeParse(bodyOf(answer))
  if (parsed.success) return parsed.data
  throw new PublishError('unknown', `${network} sent an answer that we can't read.`, {
    ...recordOf(answer, secrets),
    cause: parsed.error,
  })
}

/**
 * A URL that a network gives for something: http or https, made well-formed. Anything else counts as absent (null),
 * because the URL becomes a link on our pages, where `javascript:` would run.
 */
export const WebAddress = z
  .string()
  .nullish()
  .catch(null)
  .transform((given) => {
    const url = given && given.length <= AddressLength ? URL.parse(given) : null
    return url && /^https?:$/.test(url.protocol) && url.href.length <= AddressLength ? url.href : null
  })

/** A network's own id for something. We store it and search by it, so its length is limited. */
export const RemoteId = z.string().min(1).max(500)

/** The JSON of an answer. Undefined if it is not JSON, or nested deeper than anything that we read. */
export function bodyOf(answer: Answer): unknown {
  if (isDeep(answer.body)) return undefined // parsing a million brackets costs a hundred times more than counting them
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

/** What we store of an answer in the attempt's record. */
export function recordOf(answer: Answer, secrets: string[]): { status: number; reply: string } {
  return { status: answer.status, reply: beginningOf(withoutSecrets(answer.text(), secrets), ReplyLength) }
}

/** A network's own sentence as we may show it: plain, one line, of limited length. */
export function plainReason(reason: string): string {
  return beginningOf(oneLine(withoutTags(reason.slice(0, LongestSentence))), ReasonLength)
}

// Not by `<[^>]*>`: if tags never end, it reads the rest again at each of them.
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
 * When we may call a network again after a 429: `Retry-After` (RFC 9110 §10.2.3), else Mastodon's `X-RateLimit-Reset`
 * (an ISO instant; elsewhere seconds or milliseconds since 1970) or Bluesky's `RateLimit-Reset` (seconds since 1970). A
 * reset of at most a week is a number of seconds from now (draft-ietf-httpapi-ratelimit-headers).
 *
 * Null if it gives no time, one that we can't read, or one that is past. At most a week ahead.
 */
export function retryAtOf(headers: Answer['headers'], now = new Date()): Date | null {
  // An instant is by the network's clock, which its Date header shows. A number of seconds needs no clock.
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

/** An HTTP date (RFC 9110 §5.6.7) or an ISO instant in a header, in milliseconds since 1970. Null if it is neither. */
// Date.parse reads "5" and "-1" as years, so we first check how the header begins.
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
