import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { errorOf } from '../delivery-errors.ts'
import type { Times } from '../timeouts-and-delays.ts'
import { emit } from './events.ts'
import { endAttempt, json, leaseCleared, ms, preparedCleared } from './ledger.ts'
import { wakeAtDue, wakeChannels, wakeLook, wakeSuspect } from './wake-ups.ts'

// Actions of people on deliveries. Each takes deliveries that its caller has locked (`lockDeliveries`) and checked,
// in the transaction of that lock. So the answer that the person reads is what the network will show.

/** A delivery as the person's action finds it. */
export type Found = {
  id: string
  channelId: string
  state: string
  maybeOut: boolean
  attemptNo: number
  dueAt: Date | null
}

/**
 * The deliveries of an organisation's post, locked, oldest id first. We lock the channels and the post before them, in
 * the order that all code uses. Empty if the organisation does not have this post.
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
 * Give draft, scheduled, claimed, held or cancelled deliveries a new state and due time. Null: a draft without a due
 * time. Left out: they keep their due time, which a retry may have moved. A running claim loses its lease.
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

/** Cancel deliveries that cannot be published, or whose outcome a person has decided. */
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

/**
 * Send failed deliveries, or those that a person did not find at the network, from the start: due now or at `dueAt`,
 * with no history.
 */
export async function sendAgain(tx: Tx, found: Found[], dueAt: Date | null = null): Promise<void> {
  if (found.length === 0) return
  await tx.execute(sql`
    update deliveries set
      state = 'scheduled', due_at = ${dueAt === null ? sql`now()` : dueAt.toISOString()}, next_attempt_at = null, maybe_out = false, prepared = null,
      backoff_step = 0, crash_count = 0, error = null, ${lookCleared}, ${leaseCleared}
    where id = any(${sql.param(ids(found))}::uuid[])`)
  await wakeAtDue(tx, ids(found))
}

/** Hold the unsent deliveries of a channel that a person disconnects, until it is connected again. Returns how many. */
export async function holdUnsent(tx: Tx, organisationId: string, channelId: string): Promise<number> {
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
  await wakeSuspect(tx) // the next suspect may have waited for one of them
  return settled.length
}

/** Cancel the unsent deliveries of a channel that a person disconnects, and return how many. Those that may be out need review. */
export async function cancelUnsent(tx: Tx, organisationId: string, channelId: string): Promise<number> {
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
  await wakeSuspect(tx) // the next suspect may have waited for one of them
  return settled.length
}

/** Send the held deliveries of a channel that is connected again: those due in the last day now, the rest when due. */
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
 * Look once more for the deliveries that may be out and need review, on a channel that is connected again. Without
 * access we could not read its account. Call this after `releaseHeld`, which locks the posts.
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

// We cannot read a disconnected channel. We look for deliveries that need review when it is connected again.
async function lookNoMore(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await tx.execute(sql`
    update deliveries set ${lookCleared}, ${leaseCleared}
    where organisation_id = ${organisationId} and channel_id = ${channelId} and state = 'needs_review' and look_at is not null`)
}

const lookCleared = sql`look_at = null, look_token = null, absent_at = null`

// Locks the posts before their deliveries. The caller has locked the channel.
async function lockPosts(tx: Tx, organisationId: string, channelId: string): Promise<void> {
  await tx.execute(sql`
    select p.id from posts p where p.organisation_id = ${organisationId} and p.id in (
      select d.post_id from deliveries d
      where d.channel_id = ${channelId}
        and (d.state in ('draft', 'scheduled', 'claimed', 'held') or (d.state = 'needs_review' and d.maybe_out)))
    order by p.id for no key update`)
}

// After an edit, a held delivery stays held while its channel is not connected.
const isStillHeld = sql`(state = 'held' and exists (
  select from channels c where c.id = channel_id and c.status <> 'active'))`

async function wakeFreed(tx: Tx, found: Found[]): Promise<void> {
  const freed = found.flatMap(({ channelId, state }) => (state === 'claimed' ? [channelId] : []))
  if (freed.length === 0) return
  await wakeChannels(tx, freed)
  await wakeSuspect(tx) // the next suspect may have waited for one of them
}

function ids(found: Found[]): string[] {
  return found.map(({ id }) => id)
}
