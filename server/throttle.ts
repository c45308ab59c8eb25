import type { Db } from '../db/client.ts'
import { addressKey, type Count, count, countNow, forget, giveBack, MinuteSeconds, refuse } from './rate-limit.ts'
import { digest } from './secrets.ts'

const HourSeconds = 3600
const AccountFailures = 20
const AccountWindowSeconds = 15 * 60

/** Counts wrong passwords in the database, so that all web processes share the count. */
export type Throttle = <T>(from: { address: string; email: string }, verify: () => Promise<T>) => Promise<T>

/**
 * At most `perMinute` failures a minute from one address (0: no bound) and 20 in 15 minutes on one account.
 *
 * The count is taken before the password is looked at and given back on success, so that a burst cannot slip by.
 * Throws `rate_limited` with the time to wait.
 */
export function createThrottle(db: Db, perMinute: number): Throttle {
  return async ({ address, email }, verify) => {
    if (perMinute === 0) return verify()
    // The e-mail as a digest: nothing of a person in a table of counters.
    const byAccount = `account:${Buffer.from(digest(email.toLowerCase())).toString('hex')}`
    const counts = await Promise.all([
      count(db, addressKey(address), MinuteSeconds),
      count(db, byAccount, AccountWindowSeconds),
    ])
    demandWithin(counts[0], perMinute)
    demandWithin(counts[1], AccountFailures)
    const result = await verify()
    await Promise.all([giveBack(db, addressKey(address)), forget(db, byAccount)])
    return result
  }
}

/**
 * Look for whom a secret belongs to, at most `perMinute` times a minute in vain from one address (0: no bound).
 * Counted together with the wrong passwords of that address.
 *
 * `find` gives null for nobody: that is a failure, and nothing else. It is counted after the look, for a program sends
 * many right secrets at once, and none can be guessed. Throws `rate_limited` with the time to wait, to a failure past
 * the limit, and from then on before anything is looked at.
 */
export async function boundFailures<T>(
  db: Db,
  perMinute: number,
  address: string,
  find: () => Promise<T | null>,
): Promise<T | null> {
  if (perMinute === 0) return find()
  const before = await countNow(db, addressKey(address))
  demandWithin(before, perMinute - 1)
  const found = await find()
  if (found === null) demandWithin(await count(db, addressKey(address), MinuteSeconds), perMinute)
  return found
}

/** Count a sign-up, of which one address has `perHour` (0: no bound). Throws `rate_limited` with the time to wait. */
export async function countSignUp(db: Db, perHour: number, address: string): Promise<void> {
  if (perHour === 0) return
  demandWithin(await count(db, `signup:${address}`, HourSeconds), perHour, 'new accounts from your address')
}

function demandWithin({ used, resetSeconds }: Count, most: number, what = 'failed attempts'): void {
  if (used > most) refuse(`Too many ${what}`, resetSeconds)
}
