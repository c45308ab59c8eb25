import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import { emit } from './events.ts'
import { endAttempt, json, leaseCleared, preparedCleared } from './ledger.ts'

const PostsAtOnce = 1000

/**
 * Deliveries `d` that `which` (SQL) selects, and why a person must decide on them: `error`, or `maybeOut` if the post
 * may be out already. `posts` finds their posts if `which` alone reads too much. `message` ends their running
 * attempt.
 */
type PutAside = { which: SQL; posts?: SQL; error: DeliveryError; maybeOut?: DeliveryError; message: string }

/** Mark the organisation's deliveries that `which` selects as needs review, and emit the events. Returns how many. */
export async function putBeforePerson(tx: Tx, organisationId: string, aside: PutAside): Promise<number> {
  let count = 0
  for (;;) {
    const posts = await lockPosts(tx, organisationId, aside)
    if (posts.length === 0) return count
    count += await settle(tx, posts, aside)
    await emit(tx, organisationId, posts)
  }
}

async function lockPosts(tx: Tx, organisationId: string, { which, posts }: PutAside): Promise<string[]> {
  const theirs =
    posts ?? sql`select d.post_id from deliveries d where d.organisation_id = ${organisationId} and ${which}`
  const rows = await tx.execute<{ id: string }>(sql`
    select p.id from posts p where p.organisation_id = ${organisationId} and p.id in (${theirs} order by 1 limit ${PostsAtOnce})
    order by p.id for no key update`)
  return [...rows].map(({ id }) => id)
}

async function settle(tx: Tx, postIds: string[], aside: PutAside): Promise<number> {
  const { which, error, maybeOut = error, message } = aside
  const settled = await tx.execute(sql`
    with past as (
      select d.id from deliveries d where d.post_id = any(${sql.param(postIds)}::uuid[]) and ${which}
      order by d.id for no key update
    ), settled as (
      update deliveries d set
        state = 'needs_review', error = case when d.maybe_out then ${json(maybeOut)} else ${json(error)} end,
        next_attempt_at = null, ${preparedCleared}, ${leaseCleared}
      from past where d.id = past.id returning d.id, d.attempt_no
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'lost', message })})
    select id from settled`)
  return settled.length
}
