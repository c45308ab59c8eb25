import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { crc32 } from 'node:zlib'
import { Argon2id } from 'oslo/password'
import pLimit from 'p-limit'
import { Failure } from '../errors.ts'

const Base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KeyPrefix = 'pak_live_'
const KeyForm = /^pak_live_[0-9A-Za-z]{36}$/

/** A new API key: `pak_live_`, 30 base62 characters (178 bits) and the CRC-32 of what stands before it in 6. */
export function mintApiKey(): string {
  const body = KeyPrefix + randomBase62(30)
  return body + checksum(body)
}

/** Whether `text` is an API key by its form and checksum: a mistyped one needs no look-up. */
export function isApiKey(text: string): boolean {
  return KeyForm.test(text) && checksum(text.slice(0, -6)) === text.slice(-6)
}

/** A new client id: `pca_` and 24 base62 characters. Public. */
export function mintClientId(): string {
  return `pca_${randomBase62(24)}`
}

/** A new client secret: `pcs_` and 43 characters of `[A-Za-z0-9_-]`. */
export function mintClientSecret(): string {
  return `pcs_${mintToken()}`
}

/** A new access token: `pos_` and 43 characters of `[A-Za-z0-9_-]`. */
export function mintAccessToken(): string {
  return `pos_${mintToken()}`
}

/** Whether `text` is an access token by its form. */
export function isAccessToken(text: string): boolean {
  return /^pos_[\w-]{43}$/.test(text)
}

/** The S256 challenge of a PKCE verifier (RFC 7636 §4.2). */
export function challengeOf(verifier: string): string {
  return Buffer.from(digest(verifier)).toString('base64url')
}

/** A new webhook secret: `whsec_` and 32 random bytes in base64 (https://www.standardwebhooks.com). */
export function mintWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** 32 random bytes as 43 characters of `[A-Za-z0-9_-]`: session tokens, OAuth states. */
export function mintToken(): string {
  return randomBytes(32).toString('base64url')
}

/** 128 random bits in hexadecimal: a name that nobody can guess. */
export function mintName(): string {
  return randomBytes(16).toString('hex')
}

/** SHA-256 of a secret. We store only this of the secrets that we mint. */
export function digest(secret: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(secret).digest()
}

/** Whether two digests are equal, in constant time. */
export function sameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

// OWASP's second recommendation for Argon2id; about 50 ms of a core and 19 MiB each.
const argon = new Argon2id({ memorySize: 19_456, iterations: 2, parallelism: 1 })
const AtOnce = Math.min(availableParallelism(), 3) // of the four threads that files and names need as well
const WaitingAtMost = 40 // a second or so
const inOrder = pLimit(AtOnce)

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (inOrder.activeCount + inOrder.pendingCount < AtOnce + WaitingAtMost) return inOrder(work)
  const detail = 'Too many people are signing in right now. Try again in a moment.'
  throw new Failure('rate_limited', { detail, retryAfterSeconds: 2 }) // not 503: a stranger's burst is no failure of ours
}

/**
 * Argon2id of a password, in PHC form. Few are computed at once, or a burst of sign-ins uses up the memory and the
 * processor of everything else. Throws `rate_limited` when many already wait.
 */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => argon.hash(password.normalize('NFKC')))
}

/**
 * Whether `password` belongs to `hash`. Null (nobody has that e-mail) takes as long and returns false. Throws `rate_limited`
 * as hashPassword does.
 */
export async function verifyPassword(hash: string | null, password: string): Promise<boolean> {
  dummy ??= argon.hash(mintToken()) // outside the limit: a refused one would be kept
  const against = hash ?? (await dummy)
  const same = await inTurn(() => argon.verify(against, password.normalize('NFKC')))
  return same && hash !== null
}

let dummy: Promise<string> | undefined

function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    // 248 is the largest multiple of 62 in a byte: without the cut some characters would be likelier.
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += Base62[byte % 62]
  }
  return text
}

function checksum(text: string): string {
  let rest = crc32(text)
  let code = ''
  for (let i = 0; i < 6; i++, rest = Math.floor(rest / 62)) code = Base62[rest % 62] + code
  return code
}
