import { and, eq, not, type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db, Tx } from '../../db/client.ts'
import { IdempotencyHours, idempotencyKeys } from '../../db/schema/api.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { Failure } from '../errors.ts'
import type { Actor } from './credentials.ts'
import { sameDigest } from './secrets.ts'
import type { Context, Idempotency } from './trpc.ts'
import { mayRead } from './visibility.ts'

const RetryAfterSeconds = 2
const LeaseSeconds = 60

type IdempotentContext = Pick<Context, 'db' | 'idempotency'> & { organisationId: string; actor: Actor }

/**
 * Run `effect` in one transaction, and at most once for the request's Idempotency-Key, its owner and its route in 24 h.
 *
 * A key belongs to the organisation, whose API keys share it; one that an app sent, to the app in that organisation.
 * The same key and body gets the first answer again; key, effect and answer commit together, and a failure frees the key.
 * Throws `idempotency_key_reused` for another body, `idempotency_key_in_use` while the first is still running.
 */
export async function once(ctx: IdempotentContext, effect: (tx: Tx) => Promise<Post>): Promise<Post> {
  const { db, idempotency } = ctx
  if (!idempotency) return db.transaction(effect)
  const storedKey = storedKeyOf(ctx, idempotency)
  const first = await storedAnswer(db, storedKey, idempotency)
  if (first !== null) return replayedPost(ctx.actor, idempotency, first)
  return db.transaction(async (tx) => {
    const first = await lockUnlessAnswered(tx, storedKey, idempotency)
    if (first !== null) return replayedPost(ctx.actor, idempotency, first)
    const answer = await effect(tx)
    await tx
      .insert(idempotencyKeys)
      .values({ ...storedKey, bodyHash: idempotency.bodyHash, body: JSON.stringify(answer) })
    return answer
  })
}

// Two tokens of an app may have different grants: the first answer may show what this token may not see.
function replayedPost(actor: Actor, idempotency: Idempotency, first: string): Post {
  const answer = JSON.parse(first) as Post
  if (!mayRead(actor, answer)) throw new Failure('idempotency_key_reused')
  idempotency.replayed = true
  return answer
}

/** Stores the answer in the same transaction as its effect. */
type Finish<T> = (tx: Tx, answer: T) => Promise<void>

/**
 * The same for work that is too long for one transaction: a lease holds the key meanwhile. It is renewed
 * while `effect` runs, and expires when its process dies. `effect` calls `finish` in its last transaction. If
 * the lease is lost by then, `finish` throws `idempotency_key_in_use` and the transaction does nothing.
 */
export async function onceWhileHeld<T>(ctx: IdempotentContext, effect: (finish: Finish<T>) => Promise<T>): Promise<T> {
  const { db, idempotency } = ctx
  if (!idempotency) return effect(async () => {})
  const storedKey = storedKeyOf(ctx, idempotency)
  const leaseToken = uuidv7()
  const first =
    (await storedAnswer(db, storedKey, idempotency)) ??
    (await leaseUnlessAnswered(db, storedKey, idempotency, leaseToken))
  if (first !== null) {
    idempotency.replayed = true
    return JSON.parse(first) as T
  }
  const isHeld = and(isAt(storedKey), eq(idempotencyKeys.leaseToken, leaseToken))
  const renewal = setInterval(renew, (LeaseSeconds * 1000) / 3, db, isHeld)
  try {
    return await effect((tx, answer) => writeAnswer(tx, isHeld, JSON.stringify(answer)))
  } catch (error) {
    await db
      .delete(idempotencyKeys)
      .where(isHeld)
      .catch(() => {}) // then the lease expires
    throw error
  } finally {
    clearInterval(renewal)
  }
}

type StoredKey = { organisationId: string; route: string; key: string }

function storedKeyOf({ organisationId, actor }: IdempotentContext, { key, route }: Idempotency): StoredKey {
  return { organisationId, route: actor.kind === 'app' ? `${route} by ${actor.id}` : route, key }
}

function isAt({ organisationId, route, key }: StoredKey) {
  return and(
    eq(idempotencyKeys.organisationId, organisationId),
    eq(idempotencyKeys.route, route),
    eq(idempotencyKeys.key, key),
  )
}

// One whose lease ended belongs to a process that died.
const isOver = sql<boolean>`(${idempotencyKeys.createdAt} < now() - make_interval(hours => ${IdempotencyHours}) or coalesce(${idempotencyKeys.leaseUntil} < now(), false))`

/**
 * The answer to the first request with the key; null when there was none, or it has expired. Takes no lock: any number
 * of replays can read the answer at the same time.
 */
async function storedAnswer(tx: Tx, storedKey: StoredKey, { bodyHash }: Idempotency): Promise<string | null> {
  const { bodyHash: firstHash, body } = idempotencyKeys
  const [first] = await tx
    .select({ firstHash, body })
    .from(idempotencyKeys)
    .where(and(isAt(storedKey), not(isOver)))
  if (!first) return null
  if (!sameDigest(first.firstHash, bodyHash)) throw new Failure('idempotency_key_reused')
  if (first.body === null) throw inUse()
  return first.body
}

/**
 * The same for a caller that found no answer. Null: the caller is the first, and the only one until `tx` ends.
 *
 * Looks for the answer again, with or without the lock. Since the first look a request may have
 * ended, and another one that is about to see this may hold its lock.
 */
async function lockUnlessAnswered(tx: Tx, storedKey: StoredKey, idempotency: Idempotency): Promise<string | null> {
  const isFirst = await tryLock(tx, storedKey)
  const answer = await storedAnswer(tx, storedKey, idempotency)
  if (answer === null && !isFirst) throw inUse()
  return answer
}

// Does not wait for the lock: the second request learns immediately that the first is running. Deletes an expired row.
async function tryLock(tx: Tx, storedKey: StoredKey): Promise<boolean> {
  const name = JSON.stringify([storedKey.organisationId, storedKey.route, storedKey.key])
  const [row] = await tx.execute<{ isLocked: boolean }>(sql`
    with lock as materialized (select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_locked),
      removed as (delete from ${idempotencyKeys} using lock where is_locked and ${isAt(storedKey)} and ${isOver})
    select is_locked as "isLocked" from lock`)
  return row!.isLocked
}

function leaseUnlessAnswered(
  db: Db,
  storedKey: StoredKey,
  idempotency: Idempotency,
  leaseToken: string,
): Promise<string | null> {
  return db.transaction(async (tx) => {
    const first = await lockUnlessAnswered(tx, storedKey, idempotency)
    if (first === null)
      await tx.insert(idempotencyKeys).values({ ...storedKey, ...idempotencyRow(idempotency, leaseToken) })
    return first
  })
}

function inUse(): Failure {
  return new Failure('idempotency_key_in_use', { retryAfterSeconds: RetryAfterSeconds })
}

const leaseEnd = sql`now() + make_interval(secs => ${LeaseSeconds})`

function idempotencyRow({ bodyHash }: Idempotency, leaseToken: string) {
  return { bodyHash, body: null, leaseToken, leaseUntil: leaseEnd }
}

// If one fails, the next makes up for it. Only the end matters: is the lease still ours?
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
