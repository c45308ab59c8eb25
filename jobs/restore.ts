import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Db, Tx } from '../db/client.ts'
import type { DeliveryError } from '../db/schema.ts'
import { tell } from './events.ts'
import { endAttempt, json, leaseCleared, preparedCleared } from './ledger.ts'

const PostsAtOnce = 1000

/**
 * See whether this is the database that the installation last ran on. A backup that was restored into another database or
 * cluster, or that became a primary of its own, differs: then nothing is claimed until an operator resumes, since what was
 * due after the backup may have gone out. A copy put back in place cannot be told from the original.
 */
export async function noticeRestore(db: Db, log: Logger): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.execute<{ isKnown: boolean; isSame: boolean }>(sql`
      select system_identifier is not null as "isKnown",
        (system_identifier, database_oid, timeline) is not distinct from (${identity}) as "isSame"
      from installation for no key update`)
    if (row!.isSame) return
    if (!row!.isKnown) {
      await tx.execute(sql`update installation set (system_identifier, database_oid, timeline) = (${identity})`)
      return
    }
    const restored = await afterRestore(tx)
    log.error(restored, 'this database is a restored backup: nothing is sent until `npm run admin -- resume`')
  })
}

// The cluster, the database in it, and the line of its history (https://www.postgresql.org/docs/current/functions-info.html).
const identity = sql`
  (select system_identifier::text from pg_control_system()), (select oid::bigint from pg_database where datname = current_database()),
  ('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 8, '0'))::bit(32)::integer`

/** What `afterRestore` has put before a person. */
export type Restored = { restoredAt: Date; needsReview: number; organisations: number }

/**
 * Stop every claim until `resume`, for the database is a restored backup, and put what was past due in it before a person:
 * it may have gone out between the backup and now. Safe to say again.
 *
 * Uncertain deliveries are left to the looks, which ask the network itself.
 */
export async function afterRestore(tx: Tx): Promise<Restored> {
  const [stopped] = await tx.execute<{ at: string }>(sql`
    update installation set restored_at = now(), (system_identifier, database_oid, timeline) = (${identity})
    returning restored_at as at`)
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
