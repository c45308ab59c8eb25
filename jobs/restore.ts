import { sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import type { DeliveryError } from '../db/schema.ts'
import { tell } from './events.ts'
import { endAttempt, json, leaseCleared, preparedCleared } from './ledger.ts'

const PostsAtOnce = 1000

/** What `afterRestore` has put before a person. */
export type Restored = { restoredAt: Date; needsReview: number; organisations: number }

/**
 * Stop every claim until `resume`, for the database is a restored backup, and put what was past due in it before a person:
 * it may have gone out between the backup and now. Safe to say again.
 *
 * Uncertain deliveries are left to the looks, which ask the network itself.
 */
export async function afterRestore(tx: Tx): Promise<Restored> {
  const [stopped] = await tx.execute<{ at: string }>(
    sql`update installation set restored_at = now() returning restored_at as at`,
  )
  const organisations = await tx.execute<{ id: string }>(sql`
    select distinct d.organisation_id as id from deliveries d where ${isPastDue} order by 1`)
  let needsReview = 0
  for (const { id } of organisations)
    for (let posts = await lockPosts(tx, id); posts.length > 0; posts = await lockPosts(tx, id))
      needsReview += await putBeforePerson(tx, id, posts)
  return { restoredAt: new Date(stopped!.at), needsReview, organisations: organisations.length }
}

// A held one goes out by itself once its channel is reconnected, so it counts as well.
const isPastDue = sql`(d.state in ('scheduled', 'claimed', 'held') and d.due_at <= now())`

async function lockPosts(tx: Tx, organisationId: string): Promise<string[]> {
  const rows = await tx.execute<{ id: string }>(sql`
    select p.id from posts p where p.organisation_id = ${organisationId} and p.id in (
      select d.post_id from deliveries d where d.organisation_id = ${organisationId} and ${isPastDue}
      order by d.post_id limit ${PostsAtOnce})
    order by p.id for no key update`)
  return [...rows].map(({ id }) => id)
}

async function putBeforePerson(tx: Tx, organisationId: string, postIds: string[]): Promise<number> {
  const settled = await tx.execute(sql`
    with past as (
      select d.id from deliveries d where d.post_id = any(${sql.param(postIds)}::uuid[]) and ${isPastDue}
      order by d.id for no key update
    ), settled as (
      update deliveries d set
        state = 'needs_review', error = ${json(restoredError)}, next_attempt_at = null, ${preparedCleared}, ${leaseCleared}
      from past where d.id = past.id returning d.id, d.attempt_no
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'lost', message: 'A backup was restored.' })})
    select id from settled`)
  await tell(tx, organisationId, postIds)
  return settled.length
}

const restoredError: DeliveryError = {
  code: 'restored',
  message: 'It may have gone out between the backup and its restore.',
  nextStep: 'Look at the account yourself, then say whether it is there.',
}
