import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { errorOf, heldError } from '../delivery-errors.ts'
import { emitUpdates } from '../ledger/events.ts'
import { json, leaseCleared, preparedCleared } from '../ledger/ledger.ts'
import { isQueued } from '../ledger/post-view.ts'
import { wakeAtDue } from '../ledger/wake-ups.ts'

// The posts that wait in a queue: nothing of them is out, being sent, or may be out. They change their times together,
// for any number of posts with the same few statements. Each caller has locked the queue.

/** A queue of an organisation. */
export type TheirQueue = { organisationId: string; queueId: string }

/** A post and its time in the queue. */
export type WaitingPost = { postId: string; date: Date }

/** Posts that will go out, or drafts of a paused queue. */
export type Kind = 'scheduled' | 'draft'

const isOf: Record<Kind, SQL> = {
  scheduled: sql`p.type <> 'draft' and p.told in ('SCHEDULED', 'HELD')`,
  draft: sql`p.type = 'draft' and p.told = 'DRAFT'`,
}

/** The posts that wait in a queue, by their times, locked with their channels and deliveries. */
export async function lockWaiting(tx: Tx, { organisationId, queueId }: TheirQueue, kind: Kind): Promise<WaitingPost[]> {
  const theirs = sql`
    select p.id from posts p
    where p.queue_id = ${queueId} and p.organisation_id = ${organisationId} and ${isQueued} and ${isOf[kind]}`
  await tx.execute(sql`
    select id from channels where organisation_id = ${organisationId} and id in (
      select channel_id from deliveries where organisation_id = ${organisationId} and post_id in (${theirs}))
    order by id for no key update`)
  await tx.execute(sql`select id from posts where id in (${theirs}) order by id for no key update`)
  await tx.execute(sql`
    select id from deliveries where organisation_id = ${organisationId} and post_id in (${theirs})
    order by id for no key update`)
  return readWaiting(tx, { organisationId, queueId }, kind)
}

/** The same without locks, to show them. */
export async function readWaiting(tx: Tx, { organisationId, queueId }: TheirQueue, kind: Kind): Promise<WaitingPost[]> {
  const rows = await tx.execute<{ postId: string; date: string }>(sql`
    select p.id as "postId", p.date from posts p
    where p.queue_id = ${queueId} and p.organisation_id = ${organisationId} and ${isQueued} and ${isOf[kind]}
      and not exists (
        select from deliveries d where d.post_id = p.id and d.organisation_id = ${organisationId}
          and (d.maybe_out or d.state not in ('draft', 'scheduled', 'held', 'cancelled')))
    order by p.date, p.id`)
  return [...rows].map(({ postId, date }) => ({ postId, date: new Date(date) }))
}

/** Make scheduled posts drafts. They keep their times, which are their order. */
export async function makeDrafts(tx: Tx, { organisationId }: TheirQueue, postIds: string[]): Promise<void> {
  await tx.execute(sql`
    update deliveries set state = 'draft', error = null, next_attempt_at = null, backoff_step = 0,
      ${preparedCleared}, ${leaseCleared}
    where organisation_id = ${organisationId} and post_id = any(${sql.param(postIds)}::uuid[])
      and state in ('scheduled', 'held')`)
  await tx.execute(sql`
    update posts set type = 'draft', version = version + 1
    where organisation_id = ${organisationId} and id = any(${sql.param(postIds)}::uuid[])`)
  await emitUpdates(tx, organisationId, postIds)
}

/** Free the times of posts that get others: no two posts of a queue have one time, not even for a moment. */
export async function freeTimesOf(tx: Tx, { organisationId }: TheirQueue, postIds: string[]): Promise<void> {
  await tx.execute(sql`
    update posts set queue_date = null
    where organisation_id = ${organisationId} and id = any(${sql.param(postIds)}::uuid[])`)
}

/**
 * Give posts their times in the queue, after `freeTimesOf`. A scheduled one is due then. A draft of a paused queue stays
 * one, unless `schedules`: on a channel that is not connected it is held.
 */
export async function placeAt(
  tx: Tx,
  { organisationId, queueId }: TheirQueue,
  placed: WaitingPost[],
  { schedules }: { schedules: boolean },
): Promise<void> {
  const postIds = placed.map(({ postId }) => postId)
  const dates = placed.map(({ date }) => date.toISOString())
  const places = sql`(
    select o.post_id, o.date::timestamptz as date
    from unnest(${sql.param(postIds)}::uuid[], ${sql.param(dates)}::text[]) as o (post_id, date)) n`
  await tx.execute(sql`
    update posts p set date = n.date, queue_id = ${queueId}, queue_date = n.date, version = p.version + 1
      ${schedules ? sql`, type = 'schedule'` : sql``}
    from ${places} where p.id = n.post_id and p.organisation_id = ${organisationId}`)
  const moved = await tx.execute<{ id: string }>(sql`
    update deliveries d set due_at = n.date, next_attempt_at = null, backoff_step = 0, ${schedules ? scheduled : sql`state = d.state`}
    from ${places}, channels c
    where d.post_id = n.post_id and d.organisation_id = ${organisationId} and d.state in ('draft', 'scheduled', 'held')
      and c.id = d.channel_id and c.organisation_id = ${organisationId}
    returning d.id`)
  await wakeAtDue(
    tx,
    [...moved].map(({ id }) => id),
  )
  await emitUpdates(tx, organisationId, postIds)
}

const scheduled = sql`
  state = case when c.status = 'active' then 'scheduled'::delivery_state else 'held' end,
  error = case c.status when 'active' then null when 'disconnected' then ${json(errorOf('channel_disconnected'))} else ${json(heldError)} end`

/** Take posts out of their queue. They keep their dates. */
export async function leaveQueue(tx: Tx, { organisationId }: TheirQueue, postIds: string[]): Promise<void> {
  if (postIds.length === 0) return
  await tx.execute(sql`
    update posts set queue_id = null, queue_date = null, version = version + 1
    where organisation_id = ${organisationId} and id = any(${sql.param(postIds)}::uuid[])`)
  await emitUpdates(tx, organisationId, postIds)
}
