import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { Failure } from './errors.ts'

const WindowSeconds = 60

/** How much of a limit is used: `remaining` requests for the next `resetSeconds`. */
export type Quota = { policy: 'organisation' | 'address'; limit: number; remaining: number; resetSeconds: number }

/** Count one request of the organisation, whichever of its credentials and of our processes it comes by. */
export function countRequest(db: Db, limit: number, organisationId: string): Promise<Quota> {
  return count(db, { policy: 'organisation', limit, key: organisationId })
}

/** Count one failed authentication from an address, in one count with the wrong passwords typed there (throttle.ts). */
export function countRefusal(db: Db, limit: number, address: string): Promise<Quota> {
  return count(db, { policy: 'address', limit, key: address })
}

/** The two fields that tell a caller where it stands (draft-ietf-httpapi-ratelimit-headers-10 §3, §4). */
export function fieldsOf({ policy, limit, remaining, resetSeconds }: Quota): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${WindowSeconds}`,
    RateLimit: `"${policy}";r=${Math.max(0, remaining)};t=${resetSeconds}`,
  }
}

/** Throws `rate_limited` when a quota was used up before this request. */
export function demandRest({ policy, limit, remaining, resetSeconds }: Quota): void {
  if (remaining >= 0) return
  const what = policy === 'organisation' ? 'requests of this organisation' : 'failed authentications from this address'
  const detail = `More than ${limit} ${what} in a minute. Try again in ${resetSeconds} s.`
  throw new Failure('rate_limited', { detail, retryAfterSeconds: resetSeconds })
}

// One statement and one row: a minute begins with the first request after the last minute's end.
async function count(db: Db, { policy, limit, key }: { policy: Quota['policy']; limit: number; key: string }) {
  const [row] = await db.execute<{ points: number; resetSeconds: number }>(sql`
    insert into throttles as t (key, points, expire)
    values (${`${policy}:${key}`}, 1, now() + ${WindowSeconds} * interval '1 second')
    on conflict (key) do update set
      points = case when t.expire > now() then t.points else 0 end + 1,
      expire = case when t.expire > now() then t.expire else excluded.expire end
    returning points, greatest(1, ceil(extract(epoch from expire - now())))::int as "resetSeconds"`)
  const { points, resetSeconds } = row!
  return { policy, limit, remaining: limit - points, resetSeconds }
}
