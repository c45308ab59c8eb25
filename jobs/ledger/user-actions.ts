import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { errorOf } from '../delivery-errors.ts'
import type { Times } from '../durations.ts'
import { emit } from './events.ts'
import { endAttempt, json, leaseCleared, ms, preparedCleared } from './ledger.ts'
import { wakeAtDue, wakeChannels, wakeLook, wakeSuspect } from './wake-ups.ts'

// What a person orders of deliveries. Each takes ids that its caller has locked (`lockDeliveries`) and checked, in the
// transaction of that lock: the answer that the person reads is then what the network will show.

/** A delivery as the person's order finds it. */
export type Found = {
  id: string
  channelId: string
  state: string
  maybeOut: boolean
  attemptNo: number
  dueAt: Date | null
}

/**
 * The deliveries of an organisation's post, locked, oldest id first. Channels and the post are locked before them,
 * in the one order that everybody keeps. Empty when the organisation has no such post.
 */
export async function lockDeliveries(tx: Tx, organisationId: string, postId: string): Promise<Found[]> {
  await tx.execute(sql`
    select id from channels where organisation_id = ${organisationId}
      and id in (select channel_id from deliveries where post_id = ${postId} and organisation_id = ${organisationId})
    order by id for no key update`)
  await tx.execute(
    sql`select id from posts where id = ${postId} and organisation_id = ${organisationId} for no key update`,
  )
  const rows = await tx.execute<Omit<Found, 'dueAt'> & { dueAt: string | null }>(sql`
    select id, channel_id as "channelId", state, maybe_out as "maybeOut", attempt_no as "attemptNo", due_at as "dueAt"
    from deliveries where post_id = ${postId} and organisation_id = ${organisationId} order by id for no key update`)
  return [...rows].map((row) => ({ ...row, dueAt: row.dueAt === null ? null : new Date(row.dueAt) }))
}

/**
 * Draft, scheduled, claimed, held or cancelled deliveries get a new state and hour (null: a draft without one; left out:
 * the one that they have, which a retry may have moved). A running claim loses its lease.
 */
export async function reschedule(
  tx: Tx,
  found: Found[],
  to: { state: 'scheduled' | 'draft'; dueAt?: Date | null },
): Promise<void> {
  if (found.length === 0) return
  await tx.execute(sql`
    with settled as (
      update deliveries set
        state = case when ${isStillHeld} then 'held' else ${to.state}::delivery_state end,
        error = case when ${isStillHeld} then error end,
        due_at = ${to.dueAt === undefined ? sql`due_at` : (to.dueAt?.toISOString() ?? null)}, next_attempt_at = null, backoff_step = 0,
        ${preparedCleared}, ${leaseCleared}
      where id = any(${sql.param(ids(found))}::uuid[]) returning id, attempt_no
    )
    ${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'edited' })}`)
  await wakeAtDue(tx, ids(found))
  await wakeFreed(tx, found)
}

/** Cancel deliveries of which nothing can be out there, or whose fate a person has decided. */
export async function cancel(tx: Tx, found: Found[]): Promise<void> {
  if (found.length === 0) return
  await tx.execute(sql`
    with settled as (
      update deliveries set
        state = 'cancelled', ${preparedCleared}, maybe_out = false, next_attempt_at = null, error = null, ${lookCleared}, ${leaseCleared}
      where id = any(${sql.param(ids(found))}::uuid[]) returning id, attempt_no
    )
    ${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'cancelled' })}`)
  await wakeFreed(tx, found)
}

/** Send failed deliveries, or those that a person found not to be there, from the start: due now, nothing of the past kept. */
export async function sendAgain(tx: Tx, found: Found[]): Promise<void> {
  await tx.execute(sql`
    update deliveries set
      state = 'scheduled', due_at = now(), next_attempt_at = null, maybe_out = false, prepared = null,
      backoff_step = 0, crash_count = 0, error = null, ${lookCleared}, ${leaseCleared}
    where id = any(${sql.param(ids(found))}::uuid[])`)
  await wakeAtDue(tx, ids(found))
}

/** Hold what is unsent of a channel that a person disconnects, until it is connected again. */
export async function holdUnsent(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await lockPosts(tx, organisationId, channelId)
  await lookNoMore(tx, organisationId, channelId)
  const settled = await tx.execute<{ postId: string }>(sql`
    with settled as (
      update deliveries set
        state = case when maybe_out then 'needs_review'::delivery_state else 'held' end,
        error = ${json(errorOf('channel_disconnected'))}, next_attempt_at = null, ${preparedCleared}, ${leaseCleared}
      where organisation_id = ${organisationId} and channel_id = ${channelId} and state in ('scheduled', 'claimed')
      returning id, post_id, attempt_no
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'edited' })})
    select post_id as "postId" from settled`)
  await emit(
    tx,
    organisationId,
    [...settled].map(({ postId }) => postId),
  )
  await wakeSuspect(tx) // one of them may have been what the next one waited for
}

/** Cancel what is unsent of a channel that a person disconnects. What may be out waits for a person. */
export async function cancelUnsent(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await lockPosts(tx, organisationId, channelId)
  await lookNoMore(tx, organisationId, channelId)
  const settled = await tx.execute<{ postId: string }>(sql`
    with settled as (
      update deliveries set
        state = case when maybe_out then 'needs_review'::delivery_state else 'cancelled' end,
        next_attempt_at = null, error = null, ${preparedCleared}, ${leaseCleared}
      where organisation_id = ${organisationId} and channel_id = ${channelId} and state in ('draft', 'scheduled', 'claimed', 'held')
      returning id, post_id, attempt_no
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'cancelled' })})
    select post_id as "postId" from settled`)
  await emit(
    tx,
    organisationId,
    [...settled].map(({ postId }) => postId),
  )
  await wakeSuspect(tx) // one of them may have been what the next one waited for
}

/** Send what was held on a channel that is connected again: what was due within a day now, the rest at its due time. */
export async function releaseHeld(tx: Tx, times: Times, organisationId: string, channelId: string): Promise<void> {
  await lockPosts(tx, organisationId, channelId)
  const released = await tx.execute<{ id: string; postId: string }>(sql`
    update deliveries set
      state = 'scheduled', next_attempt_at = null, backoff_step = 0, crash_count = 0, error = null,
      due_at = case when due_at between now() - ${ms(times.giveUpMs)} and now() then now() else due_at end
    where organisation_id = ${organisationId} and channel_id = ${channelId} and state = 'held'
    returning id, post_id as "postId"`)
  await emit(
    tx,
    organisationId,
    [...released].map(({ postId }) => postId),
  )
  await wakeAtDue(
    tx,
    [...released].map(({ id }) => id),
  )
}

/**
 * Have what may be out of a channel that is connected again, and waits for a person, looked for once more: while the access
 * was lost its account could not be read. After `releaseHeld`, which locks the posts.
 */
export async function lookOnceMore(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  const sought = await tx.execute<{ id: string }>(sql`
    update deliveries d set look_at = now(), look_token = null, absent_at = null, backoff_step = 0, ${leaseCleared}
    from attempts a
    where d.organisation_id = ${organisationId} and d.channel_id = ${channelId} and d.state = 'needs_review' and d.maybe_out
      and a.delivery_id = d.id and a.no = d.attempt_no and a.intended_at is not null
    returning d.id`)
  await wakeLook(
    tx,
    [...sought].map(({ id }) => id),
  )
}

// A channel that is disconnected cannot be read: what waits for a person is looked for when it is connected again.
async function lookNoMore(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await tx.execute(sql`
    update deliveries set ${lookCleared}, ${leaseCleared}
    where organisation_id = ${organisationId} and channel_id = ${channelId} and state = 'needs_review' and look_at is not null`)
}

const lookCleared = sql`look_at = null, look_token = null, absent_at = null`

// The posts of a channel that its caller has locked, before their deliveries.
async function lockPosts(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await tx.execute(sql`
    select p.id from posts p where p.organisation_id = ${organisationId} and p.id in (
      select d.post_id from deliveries d
      where d.channel_id = ${channelId}
        and (d.state in ('draft', 'scheduled', 'claimed', 'held') or (d.state = 'needs_review' and d.maybe_out)))
    order by p.id for no key update`)
}

// Whatever is edited, what is held stays so while its channel is out of reach.
const isStillHeld = sql`(state = 'held' and exists (
  select from channels c where c.id = channel_id and c.status <> 'active'))`

async function wakeFreed(tx: Tx, found: Found[]): Promise<void> {
  const freed = found.flatMap(({ channelId, state }) => (state === 'claimed' ? [channelId] : []))
  if (freed.length === 0) return
  await wakeChannels(tx, freed)
  await wakeSuspect(tx) // one of them may have been what the next one waited for
}

function ids(found: Found[]): string[] {
  return found.map(({ id }) => id)
}
