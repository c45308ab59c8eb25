import { RateLimiterDrizzle, RateLimiterRes } from 'rate-limiter-flexible'
import type { Db } from '../db/client.ts'
import { throttles } from '../db/schema.ts'
import { Failure } from './errors.ts'
import { digest } from './secrets.ts'

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
  const byAddress = addresses(db, perMinute)
  const byAccount = new RateLimiterDrizzle({
    ...storeIn(db),
    keyPrefix: 'account',
    points: AccountFailures,
    duration: AccountWindowSeconds,
  })
  return async ({ address, email }, verify) => {
    if (perMinute === 0) return verify()
    // The e-mail as a digest: nothing of a person in a table of counters.
    const account = Buffer.from(digest(email.toLowerCase())).toString('hex')
    await Promise.all([take(byAddress, address), take(byAccount, account)])
    const result = await verify()
    await Promise.all([byAddress.reward(address), byAccount.delete(account)])
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
  const byAddress = addresses(db, perMinute)
  const counted = await byAddress.get(address)
  if (counted && counted.consumedPoints >= perMinute) throw tooMany(counted)
  const found = await find()
  if (found === null) await take(byAddress, address)
  return found
}

/** Count a sign-up, of which one address has `perHour` (0: no bound). Throws `rate_limited` with the time to wait. */
export async function countSignUp(db: Db, perHour: number, address: string): Promise<void> {
  if (perHour === 0) return
  const byAddress = new RateLimiterDrizzle({ ...storeIn(db), keyPrefix: 'signup', points: perHour, duration: 3600 })
  await take(byAddress, address, 'new accounts from your address')
}

function addresses(db: Db, perMinute: number): RateLimiterDrizzle {
  return new RateLimiterDrizzle({ ...storeIn(db), keyPrefix: 'address', points: perMinute, duration: 60 })
}

// Its own clean-up would be a timer for every call of this; jobs/sweep.ts deletes the old rows.
function storeIn(db: Db) {
  return { storeClient: db, schema: throttles, clearExpiredByTimeout: false }
}

async function take(limiter: RateLimiterDrizzle, key: string, what?: string): Promise<void> {
  try {
    await limiter.consume(key)
  } catch (spent) {
    if (!(spent instanceof RateLimiterRes)) throw spent
    throw tooMany(spent, what)
  }
}

function tooMany({ msBeforeNext }: RateLimiterRes, what = 'failed attempts'): Failure {
  const retryAfterSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
  const wait = retryAfterSeconds > 120 ? `${Math.ceil(retryAfterSeconds / 60)} minutes` : `${retryAfterSeconds} s`
  const detail = `Too many ${what}. Try again in ${wait}.`
  return new Failure('rate_limited', { detail, retryAfterSeconds })
}
