import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { Failure } from '../errors.ts'
import { networkOf } from '../http/client-address.ts'

export const MinuteSeconds = 60

/** How often something was counted in the current window, and when the window ends. */
export type Count = { used: number; resetSeconds: number }

/** How much of a caller's limit is used: `remaining` requests for the next `resetSeconds`; below 0 this was one too many. */
export type Quota = { policy: 'organisation' | 'address'; limit: number; remaining: number; resetSeconds: number }

/** What `limit` a minute leaves after a count. */
export function quotaOf(policy: Quota['policy'], limit: number, { used, resetSeconds }: Count): Quota {
  return { policy, limit, remaining: limit - used, resetSeconds }
}

/** The two rate limit headers of a response (draft-ietf-httpapi-ratelimit-headers-10 §3, §4). */
export function fieldsOf({ policy, limit, remaining, resetSeconds }: Quota): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${MinuteSeconds}`,
    RateLimit: `"${policy}";r=${Math.max(0, remaining)};t=${resetSeconds}`,
  }
}

/** Throws `rate_limited` when a quota was used up before this request. */
export function requireRest({ policy, limit, remaining, resetSeconds }: Quota): void {
  if (remaining >= 0) return
  const what =
    policy === 'organisation' ? 'requests from this organisation' : 'failed authentications from this address'
  refuse(`More than ${limit} ${what} in a minute`, resetSeconds)
}

/** Throws `rate_limited`: what was too much, and how long to wait. */
export function refuse(what: string, resetSeconds: number): never {
  const wait = resetSeconds > 120 ? `${Math.ceil(resetSeconds / 60)} minutes` : `${resetSeconds} s`
  throw new Failure('rate_limited', { detail: `${what}. Try again in ${wait}.`, retryAfterSeconds: resetSeconds })
}

/** The counter of an address for one kind of request. Each kind has its own. */
export function addressKey(of: 'api' | 'oauth' | 'sign-up' | 'sign-in' | 'reset', address: string): string {
  return `${of}:${networkOf(address)}`
}

/** Count once under `key`, over all our processes, with this time included. */
export async function count(db: Tx, key: string, windowSeconds: number): Promise<Count> {
  const [row] = await db.execute<Count>(counting(sql`select ${key}`, windowSeconds))
  return row!
}

/**
 * SQL: count once under each key that `keys` selects. A window begins with the first count after the last one's end.
 *
 * One row that a crash may forget (the table is unlogged): no wait for the disk.
 */
export function counting(keys: SQL, windowSeconds: number): SQL {
  return sql`
    insert into throttles as t (key, points, expire)
    select k.key, 1, now() + ${windowSeconds} * interval '1 second' from (${keys}) as k (key)
    on conflict (key) do update set
      points = case when t.expire > now() then t.points else 0 end + 1,
      expire = case when t.expire > now() then t.expire else excluded.expire end
    returning points as used, ${secondsLeft} as "resetSeconds"`
}

/**
 * Count once under `key` unless `most` are counted already: then nothing is written, and `used` is one more than `most`.
 */
export async function countWithin(db: Tx, key: string, windowSeconds: number, most: number): Promise<Count> {
  const [row] = await db.execute<Count>(sql`
    insert into throttles as t (key, points, expire)
    select k.key, 1, now() + ${windowSeconds} * interval '1 second' from (select ${key}) as k (key)
    where not exists (select from throttles f where f.key = k.key and f.points >= ${most} and f.expire > now())
    on conflict (key) do update set
      points = case when t.expire > now() then t.points else 0 end + 1,
      expire = case when t.expire > now() then t.expire else excluded.expire end
    where t.points < ${most} or t.expire <= now()
    returning points as used, ${secondsLeft} as "resetSeconds"`)
  return row ?? { used: most + 1, resetSeconds: Math.max(1, (await countNow(db, key)).resetSeconds) }
}

/** Begin a wait of so many seconds under `key`, unless one is running: then nothing changes, and false. */
export async function beginWait(db: Tx, key: string, seconds: number): Promise<boolean> {
  const begun = await db.execute(sql`
    insert into throttles as t (key, points, expire) values (${key}, 0, now() + ${seconds} * interval '1 second')
    on conflict (key) do update set expire = excluded.expire where t.expire <= now()`)
  return begun.count > 0
}

/** What was counted under `key` so far, without counting. */
export async function countNow(db: Tx, key: string): Promise<Count> {
  const [row] = await db.execute<Count>(
    sql`select points as used, ${secondsLeft} as "resetSeconds" from throttles where key = ${key} and expire > now()`,
  )
  return row ?? { used: 0, resetSeconds: 0 }
}

/** Take one count back. */
export async function giveBack(db: Db, key: string): Promise<void> {
  await db.execute(sql`update throttles set points = greatest(points - 1, 0) where key = ${key}`)
}

export async function forget(db: Db, key: string): Promise<void> {
  await db.execute(sql`delete from throttles where key = ${key}`)
}

// By the clock, not by the start of the transaction, which may be before the window's. Times are stored in whole
// milliseconds, rounded: a minute must not read as 61 s.
const secondsLeft = sql`greatest(1, ceil(extract(epoch from expire - clock_timestamp()) - 0.001))::int`
