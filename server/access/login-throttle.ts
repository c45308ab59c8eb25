import type { Db, Tx } from '../../db/client.ts'
import {
  addressKey,
  beginWait,
  type Count,
  count,
  countNow,
  countWithin,
  forget,
  giveBack,
  MinuteSeconds,
  refuse,
} from './rate-limit.ts'
import { digest } from './secrets.ts'

const HourSeconds = 3600
const OwnTries = 5
const WindowSeconds = 15 * 60
const LongestDelaySeconds = 60

/**
 * One try of a password for an account. `known` names a device or a session that the account's owner has used
 * before. Null: anybody at an address.
 */
export type PasswordAttempt = { email: string; address: string; known: string | null }

/**
 * Check a password, so that nobody can guess it and nobody can lock its owner out.
 *
 * An address (of IPv6, a /64) has 5 tries of its own on an account, and `perMinute` failures a minute on all accounts
 * (0: nothing is counted). After the 5 it waits for the account: one try each delay, 1 s at first, then twice as long up
 * to 60 s. Only an accepted try starts a delay, and only when none is running. A known device never waits for
 * others: it has counters of its own, as an address and as an account.
 *
 * `verify` returns null for a wrong password: only that is a failure. It is counted before the check and given
 * back after it, so that a burst cannot slip through. Counts are in the database, for all web processes together. Throws
 * `rate_limited` with the time to wait; a refused try writes nothing.
 */
export async function throttled<T>(
  db: Db,
  perMinute: number,
  attempt: PasswordAttempt,
  verify: () => Promise<T | null>,
): Promise<T | null> {
  if (perMinute === 0) return verify()
  const counters = countersOf(attempt)
  await requireRoom(db, perMinute, counters)
  await db.transaction((tx) => take(tx, perMinute, counters))
  const found = await verify().catch(async (error: unknown) => {
    await undo(db, counters).catch(() => {}) // then it counts as a failure until the window ends
    throw error
  })
  if (found !== null) await Promise.all([undo(db, counters), forget(db, counters.own)])
  return found
}

/** `account` is null where `own` is all that counts. */
type Counters = { minute: string; own: string; account: string | null; delay: string }

// The e-mail as a digest: the table of counters holds no personal data.
function countersOf({ email, address, known }: PasswordAttempt): Counters {
  const account = Buffer.from(digest(email.toLowerCase())).toString('base64url')
  const minute = known === null ? addressKey('sign-in', address) : `sign-in:${known}`
  const own = `${minute}:${account}`
  if (known !== null) return { minute, own, account: null, delay: `delay:${own}` }
  return { minute, own, account: `account:${account}`, delay: `delay:${account}` }
}

// Most further tries of a person who keeps trying end here.
async function requireRoom(db: Db, perMinute: number, { minute, own, delay }: Counters): Promise<void> {
  const inMinute = await countNow(db, minute)
  if (inMinute.used >= perMinute) refuse('Too many failed attempts', inMinute.resetSeconds)
  if ((await countNow(db, own)).used >= OwnTries) await requireNoDelay(db, delay)
}

// Always lock these rows in this order.
async function take(tx: Tx, perMinute: number, { minute, own, account, delay }: Counters): Promise<void> {
  requireWithin(await countWithin(tx, minute, MinuteSeconds, perMinute), perMinute)
  const { used: ownUsed } = await count(tx, own, WindowSeconds)
  const accountUsed = account === null ? 0 : (await count(tx, account, WindowSeconds)).used
  const delaySeconds = delayAfter(Math.max(ownUsed, accountUsed))
  const isTurn = delaySeconds > 0 && (await beginWait(tx, delay, delaySeconds))
  if (ownUsed > OwnTries && !isTurn) await requireNoDelay(tx, delay)
}

function delayAfter(failures: number): number {
  return failures < OwnTries ? 0 : Math.min(LongestDelaySeconds, 2 ** (failures - OwnTries))
}

async function requireNoDelay(db: Tx, delay: string): Promise<void> {
  const { resetSeconds } = await countNow(db, delay)
  if (resetSeconds > 0) refuse('Too many failed attempts', resetSeconds)
}

async function undo(db: Db, { minute, own, account }: Counters): Promise<void> {
  const keys = [minute, own, ...(account === null ? [] : [account])]
  await Promise.all(keys.map((key) => giveBack(db, key)))
}

/** What `boundFailures` counts under: failures of OAuth clients from an address. */
export type Bound = { perMinute: number; address: string }

/**
 * Find the client of a secret, with at most `perMinute` failures a minute from one address (0: no limit).
 *
 * `find` returns null for no client: only that is a failure. It is counted after the check, because an app sends
 * many right secrets at once, and nobody can guess one. Throws `rate_limited` with the time to wait, for a failure past
 * the limit, and from then on before any check. A refused try writes nothing.
 */
export async function boundFailures<T>(
  db: Db,
  { perMinute, address }: Bound,
  find: () => Promise<T | null>,
): Promise<T | null> {
  if (perMinute === 0) return find()
  const key = addressKey('oauth', address)
  requireWithin(await countNow(db, key), perMinute - 1)
  const found = await find()
  if (found === null) requireWithin(await countWithin(db, key, MinuteSeconds, perMinute), perMinute)
  return found
}

/** Count a sign-up. One address has `perHour` (0: no limit). Throws `rate_limited` with the time to wait. */
export async function countSignUp(db: Db, perHour: number, address: string): Promise<void> {
  if (perHour === 0) return
  const counted = await countWithin(db, addressKey('sign-up', address), HourSeconds, perHour)
  requireWithin(counted, perHour, 'new accounts from your address')
}

const MailsPerHour = 3

/**
 * Count a request for a new password. Throws `rate_limited` after `perHour` requests from one address (0: no limit).
 * Returns if a mail may be sent: an e-mail address gets 3 an hour from all callers, with or without an account.
 */
export async function countReset(db: Db, perHour: number, of: { email: string; address: string }): Promise<boolean> {
  if (perHour > 0) {
    const counted = await countWithin(db, addressKey('reset', of.address), HourSeconds, perHour)
    requireWithin(counted, perHour, 'requests for a new password from your address')
  }
  return mayMail(db, 'reset', of.email)
}

const SignUpMailsPerMinute = 20 // of the installation

/**
 * Count a sign-up that waits for a mail. Throws `rate_limited` after 20 a minute from all callers: many addresses together
 * fill neither the database nor the operator's mail account. Returns if a mail may be sent, as for a new password.
 */
export async function countSignUpMail(db: Db, email: string): Promise<boolean> {
  const counted = await countWithin(db, 'sign-up-mails', MinuteSeconds, SignUpMailsPerMinute)
  requireWithin(counted, SignUpMailsPerMinute, 'sign-ups')
  return mayMail(db, 'sign-up', email)
}

type CountedMail = 'reset' | 'verify' | 'sign-up' | 'new-address'

/** Whether another mail of this kind may go to `email` in this hour. Counts it, for all `name+anything@host` together. */
export async function mayMail(db: Db, kind: CountedMail, email: string): Promise<boolean> {
  const mailbox = email.toLowerCase().replace(/\+.*@/, '@')
  const name = Buffer.from(digest(mailbox)).toString('base64url')
  const { used } = await countWithin(db, `mail:${kind}:${name}`, HourSeconds, MailsPerHour)
  return used <= MailsPerHour
}

function requireWithin({ used, resetSeconds }: Count, most: number, what = 'failed attempts'): void {
  if (used > most) refuse(`Too many ${what}`, resetSeconds)
}
