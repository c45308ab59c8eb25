import { and, eq, type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../db/client.ts'
import { idempotencyKeys } from '../db/schema.ts'
import type { Post } from '../jobs/post-view.ts'
import type { Actor } from './actor.ts'
import { Failure } from './errors.ts'
import { mayRead } from './reach.ts'
import { sameDigest } from './secrets.ts'
import type { Context, Idempotency } from './trpc.ts'

const RetryAfterSeconds = 2
const LeaseSeconds = 60

type Caller = Pick<Context, 'db' | 'idempotency'> & { organisationId: string; actor: Actor }

/**
 * Run `effect` in one transaction, and at most once for the request's Idempotency-Key, its owner and `route` in 24 h.
 *
 * A key belongs to the organisation, whose API keys share it; one that an app sent, to the app in that organisation.
 * The same key and body gives the first answer again; key, effect and answer commit together, and a failure frees the key.
 * Throws `idempotency_key_reused` for another body, `idempotency_key_in_use` while the first is still running.
 */
export async function once(caller: Caller, route: string, effect: (tx: Tx) => Promise<Post>): Promise<Post> {
  const { db, idempotency, actor } = caller
  return db.transaction(async (tx) => {
    if (!idempotency) return effect(tx)
    const place = placeOf(caller, route, idempotency)
    const first = await firstAnswer(tx, place, idempotency)
    if (first !== null) {
      const answer = JSON.parse(first) as Post
      // Two tokens of an app may differ, and the first answer show what this one was not granted.
      if (!mayRead(actor, answer)) throw new Failure('idempotency_key_reused')
      idempotency.replayed = true
      return answer
    }
    const answer = await effect(tx)
    await tx.insert(idempotencyKeys).values({ ...place, bodyHash: idempotency.bodyHash, body: JSON.stringify(answer) })
    return answer
  })
}

/** Writes the answer down in the transaction of what it tells of. */
type Finish<T> = (tx: Tx, answer: T) => Promise<void>

/**
 * The same for what takes longer than a transaction may be open: the key is held by a lease meanwhile, which is renewed
 * while `effect` runs and ends by itself when its process does. `effect` calls `finish` in its last transaction; where
 * the lease was lost by then, that throws `idempotency_key_in_use` and nothing of it is done.
 */
export async function onceWhileHeld<T>(
  caller: Caller,
  route: string,
  effect: (finish: Finish<T>) => Promise<T>,
): Promise<T> {
  const { db, idempotency } = caller
  if (!idempotency) return effect(async () => {})
  const place = placeOf(caller, route, idempotency)
  const leaseToken = uuidv7()
  const first = await db.transaction(async (tx) => {
    const first = await firstAnswer(tx, place, idempotency)
    if (first === null)
      await tx.insert(idempotencyKeys).values({ ...place, ...idempotencyRow(idempotency, leaseToken) })
    return first
  })
  if (first !== null) {
    idempotency.replayed = true
    return JSON.parse(first) as T
  }
  const isHeld = and(isAt(place), eq(idempotencyKeys.leaseToken, leaseToken))
  const renewal = setInterval(renew, (LeaseSeconds * 1000) / 3, db, isHeld)
  try {
    return await effect((tx, answer) => writeAnswer(tx, isHeld, JSON.stringify(answer)))
  } catch (error) {
    await db
      .delete(idempotencyKeys)
      .where(isHeld)
      .catch(() => {}) // then the lease ends by itself
    throw error
  } finally {
    clearInterval(renewal)
  }
}

type Place = { organisationId: string; route: string; key: string }

function placeOf({ organisationId, actor }: Caller, route: string, { key }: Idempotency): Place {
  return { organisationId, route: actor.kind === 'app' ? `${route} by ${actor.id}` : route, key }
}

function isAt({ organisationId, route, key }: Place) {
  return and(
    eq(idempotencyKeys.organisationId, organisationId),
    eq(idempotencyKeys.route, route),
    eq(idempotencyKeys.key, key),
  )
}

/** What the first request with the key was answered; null for the first one. Nobody else asks until `tx` ends. */
async function firstAnswer(tx: Tx, place: Place, { bodyHash }: Idempotency): Promise<string | null> {
  await demandLock(tx, JSON.stringify([place.organisationId, place.route, place.key]))
  const isOver = sql`(${idempotencyKeys.createdAt} < now() - interval '24 hours' or ${idempotencyKeys.leaseUntil} < now())`
  await tx.delete(idempotencyKeys).where(and(isAt(place), isOver))
  const [first] = await tx.select().from(idempotencyKeys).where(isAt(place))
  if (!first) return null
  if (!sameDigest(first.bodyHash, bodyHash)) throw new Failure('idempotency_key_reused')
  if (first.body === null) throw inUse()
  return first.body
}

// Tried and not waited for: whoever is second learns at once that the first is under way.
async function demandLock(tx: Tx, name: string): Promise<void> {
  const [row] = await tx.execute<{ locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`,
  )
  if (!row?.locked) throw inUse()
}

function inUse(): Failure {
  return new Failure('idempotency_key_in_use', { retryAfterSeconds: RetryAfterSeconds })
}

const leaseEnd = sql`now() + make_interval(secs => ${LeaseSeconds})`

function idempotencyRow({ bodyHash }: Idempotency, leaseToken: string) {
  return { bodyHash, body: null, leaseToken, leaseUntil: leaseEnd }
}

// One that fails is made up for by the next; what counts is whether the lease is still ours in the end.
function renew(db: Db, isHeld: SQL | undefined): void {
  db.update(idempotencyKeys)
    .set({ leaseUntil: leaseEnd })
    .where(isHeld)
    .catch(() => {})
}

async function writeAnswer(tx: Tx, isHeld: SQL | undefined, body: string): Promise<void> {
  const done = await tx.update(idempotencyKeys).set({ body, leaseToken: null, leaseUntil: null }).where(isHeld)
  if (done.count === 0) throw inUse()
}
