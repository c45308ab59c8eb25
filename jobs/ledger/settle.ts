import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import { errorOf } from '../delivery-errors.ts'
import type { Publication } from '../networks/network.ts'
import { noticeChannel } from '../notices.ts'
import type { Times } from '../timeouts-and-delays.ts'
import { emit, emitAll, emitChannelEvent } from './events.ts'
import { type ClaimedDelivery, type Ending, endAttempt, json, leaseCleared, ms, preparedCleared } from './ledger.ts'
import { wakeAtDue, wakeChannels, wakeLook, wakeSuspect } from './wake-ups.ts'

// How an attempt ends. This is the second half of the state machine that begins in ledger.ts. Each function locks the
// post before the delivery, and emits the post's event in the same transaction.

/** Proof that a delivery is out: the network's answer to `attemptNo`, a look at the network, or a person's decision. */
export type Proof = Pick<ClaimedDelivery, 'id' | 'organisationId' | 'postId' | 'attemptNo'> & {
  publication: Publication
  evidence: 'answered' | 'found' | 'person'
}

/**
 * Record that deliveries are out, and emit their events. We accept proof from anyone, at any time, no matter who holds
 * the lease now. The publication time is the time of sending. Returns by id how long after its due time each delivery
 * was recorded, in milliseconds, without those that were recorded before.
 *
 * Throws a unique violation (23505) if a `remoteId` is recorded for another delivery of the channel: it is not ours
 * then.
 */
export async function recordPublished(tx: Tx, proofs: Proof[]): Promise<Map<string, number>> {
  const column = <T>(of: (proof: Proof) => T) => sql.param(proofs.map(of))
  // In a batch, we do not wait long for the lock of another transaction. If we time out, we record each delivery alone.
  if (proofs.length > 1) await tx.execute(sql`select set_config('lock_timeout', '200ms', true)`)
  await tx.execute(sql`
    select p.id from posts p where p.id = any(${column(({ postId }) => postId)}::uuid[]) order by p.id for no key update`)
  const rows = await tx.execute<{ id: string; lateMs: number }>(sql`
    with proof as materialized (
      select * from unnest(
        ${column(({ id }) => id)}::uuid[], ${column(({ attemptNo }) => attemptNo)}::integer[],
        ${column(({ evidence }) => evidence)}::evidence[], ${column(({ publication }) => publication.remoteId)}::text[],
        ${column(({ publication }) => publication.url)}::text[], ${column(({ publication }) => publication.status ?? null)}::integer[],
        ${column(({ publication }) => publication.reply ?? null)}::text[]
      ) as p (id, attempt_no, evidence, remote_id, url, status, reply), lateral (
        select max(a.intended_at) as sent_at from attempts a where a.delivery_id = p.id and a.no <= p.attempt_no
      ) as intent
    ), locked as materialized (
      select d.id from deliveries d join proof p using (id) where d.state <> 'published' order by d.id for no key update of d
    ), published as (
      update deliveries d set
        state = 'published', published_at = coalesce(p.sent_at, now()), evidence = p.evidence, remote_id = p.remote_id, remote_url = p.url,
        maybe_out = false, next_attempt_at = null, look_at = null, look_token = null, absent_at = null, error = null, ${leaseCleared}
      from locked join proof p using (id) where d.id = locked.id
      returning d.id, now() - d.due_at as late, p.evidence, p.attempt_no, p.status, p.reply
    ), overtaken as (
      update attempts a set ended_at = now(), outcome = 'lost', message = 'An earlier attempt proved to be out.'
      from published p where a.delivery_id = p.id and a.no > p.attempt_no and a.ended_at is null
    ), ended as (
      update attempts a set ended_at = coalesce(a.ended_at, now()), found_at = case when p.evidence = 'found' then now() end,
        outcome = case when a.ended_at is null then 'published' else a.outcome end,
        status = case when a.ended_at is null then p.status else a.status end,
        reply = case when a.ended_at is null then p.reply else a.reply end
      from published p where a.delivery_id = p.id and a.no = p.attempt_no and (a.ended_at is null or p.evidence = 'found')
    )
    select id, extract(epoch from late)::float8 * 1000 as "lateMs" from published`)
  await emitAll(tx, proofs)
  return new Map([...rows].map(({ id, lateMs }) => [id, lateMs]))
}

/**
 * The post is surely not sent, and may work later. We schedule it again `waitMs` from now, and pause the channel as
 * long if the network asked for it. A day after its due time it fails instead (`gave_up`; needs_review if it may be
 * out).
 */
export async function postpone(
  db: Db,
  times: Times,
  delivery: ClaimedDelivery,
  wait: { waitMs: number; countsAsStep: boolean; pausesChannel: boolean; error: DeliveryError | null },
  ending: Ending,
): Promise<void> {
  const over = sql`d.due_at < now() - ${ms(times.giveUpMs)}`
  const statement = sql`
    with channel as (
      select id from channels where id = ${delivery.channelId} and ${wait.pausesChannel} for no key update
    ), paused as (
      update channels c set paused_until = greatest(c.paused_until, now() + ${ms(wait.waitMs)}) from channel where c.id = channel.id
    ), ${lockedPost(delivery.id, channelFirst)}, settled as (
      update deliveries d set
        state = case when not ${over} then 'scheduled'::delivery_state when maybe_out then 'needs_review' else 'failed' end,
        error = case when ${over} then ${json(errorOf('gave_up'))} else ${wait.error === null ? sql`d.error` : json(wait.error)} end,
        next_attempt_at = case when not ${over} then now() + ${ms(wait.waitMs)} end,
        backoff_step = backoff_step + ${wait.countsAsStep ? 1 : 0}, crash_count = ${ending.outcome === 'lost' ? sql`d.crash_count` : 0}, ${preparedCleared}, ${leaseCleared}
      from post where d.post_id = post.id and ${isOurs(delivery)}
      returning d.id
    )
    ${endAttempt(sql`settled`, delivery.attemptNo, ending)}`
  await db.transaction(async (tx) => {
    await tx.execute(statement)
    await emit(tx, delivery.organisationId, [delivery.postId])
    // If the wait is 0, its worker goes on with the channel by itself.
    if (wait.waitMs > 0) await wakeAtDue(tx, [delivery.id])
    await wakeNextSuspect(tx, delivery)
  })
}

/** The post is surely not sent, and a retry would not help. It fails, or needs review if something may be out. */
export async function fail(db: Db, delivery: ClaimedDelivery, error: DeliveryError, ending: Ending): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`
    with ${lockedPost(delivery.id)}, settled as (
      update deliveries d set
        state = case when maybe_out then 'needs_review'::delivery_state else 'failed' end,
        error = ${json(error)}, crash_count = 0, ${preparedCleared}, ${leaseCleared}
      from post where d.post_id = post.id and ${isOurs(delivery)} returning d.id
    )
    ${endAttempt(sql`settled`, delivery.attemptNo, ending)}`)
    await emit(tx, delivery.organisationId, [delivery.postId])
    await wakeNextSuspect(tx, delivery)
  })
}

/**
 * The network no longer accepts the credential. The delivery is held, and a person must reconnect the channel. But if
 * the credential was refreshed or reconnected meanwhile, the refused version is old, and we just schedule the
 * delivery again.
 */
export async function hold(db: Db, delivery: ClaimedDelivery, error: DeliveryError, ending: Ending): Promise<void> {
  await db.transaction(async (tx) => {
    const broken = await tx.execute(sql`
    with channel as (
      select id, credential_version = ${delivery.credentialVersion} as current from channels
      where id = ${delivery.channelId} for no key update
    ), broken as (
      update channels c set status = 'needs_reconnect' from channel
      where c.id = channel.id and channel.current and c.status = 'active'
      returning c.id
    ), ${lockedPost(delivery.id, channelFirst)}, settled as (
      update deliveries d set
        state = case when not c.current then 'scheduled'::delivery_state when maybe_out then 'needs_review' else 'held' end,
        error = case when c.current then ${json(error)} end, crash_count = 0, ${preparedCleared}, ${leaseCleared}
      from channel c, post where d.post_id = post.id and ${isOurs(delivery)} returning d.id
    ), ended as (${endAttempt(sql`settled`, delivery.attemptNo, ending)})
    select id from broken`)
    if (broken.length > 0) {
      await emitChannelEvent(tx, delivery.organisationId, delivery.channelId, 'channel.needs_reconnect')
      await noticeChannel(tx, delivery)
    }
    await emit(tx, delivery.organisationId, [delivery.postId])
    await wakeNextSuspect(tx, delivery)
  })
}

/**
 * The post may be out, and the outcome is unknown: the delivery becomes uncertain. We look for it `lookAfterMs` after
 * the intent. We wake the next deliveries of its channel.
 */
export async function markUncertain(
  db: Db,
  delivery: ClaimedDelivery,
  lookAfterMs: number,
  error: DeliveryError,
  ending: Ending,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`
      with settled as (
        update deliveries d set
          state = 'uncertain', maybe_out = true, error = ${json(error)}, look_token = null, absent_at = null,
          look_at = (select a.intended_at + ${ms(lookAfterMs)} from attempts a where a.delivery_id = d.id and a.no = d.attempt_no),
          crash_count = 0, ${leaseCleared}
        where ${isOurs(delivery)} and d.state = 'sending' returning d.id
      )
      ${endAttempt(sql`settled`, delivery.attemptNo, ending)}`)
    await wakeLook(tx, [delivery.id])
    await wakeChannels(tx, [delivery.channelId])
    await wakeNextSuspect(tx, delivery)
  })
}

/** Deliveries that may have crashed their worker go one at a time. When one ends, we wake the next one. */
export async function wakeNextSuspect(tx: Tx, { isSuspect }: Pick<ClaimedDelivery, 'isSuspect'>): Promise<void> {
  if (isSuspect) await wakeSuspect(tx)
}

// Always true. It makes PostgreSQL read the CTE `channel` first, so that the channel is locked before the post.
const channelFirst = sql`(select count(*) from channel) >= 0`

/** The CTE `post`: the post of a delivery, locked. Everything that reads it waits for the lock. */
export function lockedPost(deliveryId: string, first: SQL = sql`true`): SQL {
  return sql`post as materialized (
    select p.id from posts p
    where p.id = (select o.post_id from deliveries o where o.id = ${deliveryId}) and ${first} for no key update of p)`
}

function isOurs({ id, leaseToken }: ClaimedDelivery): SQL {
  return sql`d.id = ${id} and d.lease_token = ${leaseToken} and d.state in ('claimed', 'sending')`
}
