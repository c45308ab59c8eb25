import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import { idempotencyKeys } from '../db/schema.ts'
import type { Post } from '../jobs/post-view.ts'
import type { Actor } from './actor.ts'
import { Failure } from './errors.ts'
import { mayRead } from './reach.ts'
import { sameDigest } from './secrets.ts'
import type { Context } from './trpc.ts'

const RetryAfterSeconds = 2

/**
 * Run `effect` in one transaction, and at most once for the request's Idempotency-Key, its owner and `route` in 24 h.
 *
 * A key belongs to the organisation, whose API keys share it; one that an app sent, to the app in that organisation.
 * The same key and body gives the first answer again; key, effect and answer commit together, and a failure frees the key.
 * Throws `idempotency_key_reused` for another body, `idempotency_key_in_use` while the first is still running.
 */
export async function once(
  {
    db,
    idempotency,
    organisationId,
    actor,
  }: Pick<Context, 'db' | 'idempotency'> & { organisationId: string; actor: Actor },
  route: string,
  effect: (tx: Tx) => Promise<Post>,
): Promise<Post> {
  const place = actor.kind === 'app' ? `${route} by ${actor.id}` : route
  return db.transaction(async (tx) => {
    if (!idempotency) return effect(tx)
    const { key, bodyHash } = idempotency
    await demandLock(tx, JSON.stringify([organisationId, place, key]))
    const isIt = and(
      eq(idempotencyKeys.organisationId, organisationId),
      eq(idempotencyKeys.route, place),
      eq(idempotencyKeys.key, key),
    )
    await tx.delete(idempotencyKeys).where(and(isIt, sql`${idempotencyKeys.createdAt} < now() - interval '24 hours'`))
    const [first] = await tx.select().from(idempotencyKeys).where(isIt)
    if (first && !sameDigest(first.bodyHash, bodyHash)) throw new Failure('idempotency_key_reused')
    if (first?.body === null) throw new Failure('idempotency_key_in_use', { retryAfterSeconds: RetryAfterSeconds })
    if (first) {
      const answer = JSON.parse(first.body) as Post
      // Two tokens of an app may differ, and the first answer show what this one was not granted.
      if (!mayRead(actor, answer)) throw new Failure('idempotency_key_reused')
      idempotency.replayed = true
      return answer
    }
    const answer = await effect(tx)
    await tx
      .insert(idempotencyKeys)
      .values({ organisationId, route: place, key, bodyHash, body: JSON.stringify(answer) })
    return answer
  })
}

// Tried and not waited for: whoever is second learns at once that the first is under way.
async function demandLock(tx: Tx, name: string): Promise<void> {
  const [row] = await tx.execute<{ locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`,
  )
  if (!row?.locked) throw new Failure('idempotency_key_in_use', { retryAfterSeconds: RetryAfterSeconds })
}
