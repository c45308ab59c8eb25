import { type SQL, sql } from 'drizzle-orm'
import { type Db, sqlStateOf, type Tx } from '../db/client.ts'
import type { DeliveryError } from '../db/schema.ts'
import { tell } from './events.ts'
import { wakeChannel } from './queue.ts'
import type { Times } from './times.ts'

// The state machine of deliveries, as the worker moves it: one SQL statement a transition, its guard in the WHERE, the
// database's clock only. How an attempt ends is in settle.ts, what a person orders in orders.ts, what looking for a post
// finds in reconcile.ts, what a dead worker left in reaper.ts. Locks are taken in one order everywhere: channel, post, deliveries by id.

/** A delivery under this worker's lease, with what is needed to send it. */
export type Claimed = {
  id: string
  organisationId: string
  postId: string
  channelId: string
  publishKey: string
  prepared: string | null // kept from the try before when something may be out
  maybeOut: boolean
  backoffStep: number
  attemptNo: number
  leaseToken: string
  network: string
  remoteAccount: string
  credential: Uint8Array
  credentialVersion: number
}

/** How an attempt ended, for its record. */
export type Ending = { outcome: string; message?: string | null; status?: number | null; reply?: string | null }

/** A duration in milliseconds as an SQL interval. */
export const ms = (duration: number): SQL => sql`(${duration} * interval '1 millisecond')`

/** Clears a delivery's lease: with it goes every right to write something negative. */
export const leaseCleared = sql`lease_token = null, lease_owner = null, lease_until = null`

/** `prepared` is made anew on every return, except when it may be out: then only the very same bytes may follow. */
export const preparedCleared = sql`prepared = case when maybe_out then prepared end`

/**
 * Claim the oldest due delivery of the channel that `deliveryId` is on, in the order (due_at, id).
 *
 * Null when nothing is due there, another one of the channel is under way, or the channel is paused.
 * On a channel that is not connected, all that is due becomes held (needs_review where something may be out).
 * What was due more than a day ago is not sent: never tried, it waits for a person (`missed`); tried, it has failed (`gave_up`).
 */
export async function claimNext(db: Db, times: Times, owner: string, deliveryId: string): Promise<Claimed | null> {
  for (;;) {
    const row = await claimOnce(db, times, owner, deliveryId).catch(nullIfUnderWay)
    if (row?.isLate) await putAside(db, times, deliveryId)
    // A head that was not claimed was taken or changed while this statement waited for the channel: look again.
    if (!row?.head || row.leaseToken) return row?.leaseToken ? row : null
  }
}

// The backstop: two claims that could not see each other chose different heads. The other one has the channel.
function nullIfUnderWay(error: unknown): null {
  if (sqlStateOf(error) !== '23505') throw error
  return null
}

async function claimOnce(db: Db, times: Times, owner: string, deliveryId: string) {
  const [row] = await db.execute<Claimed & { head: string | null; isLate: boolean }>(sql`
    with channel as (
      select c.*, c.paused_until > now() as paused from channels c
      where c.id = (select d.channel_id from deliveries d where d.id = ${deliveryId})
      for no key update
    ), head as (
      select d.id from deliveries d, channel c
      where d.channel_id = c.id and c.status = 'active' and c.paused is not true and d.state = 'scheduled'
        and d.due_at <= now() and d.ready_at <= now() and d.due_at >= now() - ${ms(times.giveUpMs)}
        and not exists (
          select from deliveries u where u.channel_id = c.id and u.state in ('claimed', 'sending', 'uncertain'))
      order by d.due_at, d.id limit 1
    ), claimed as (
      update deliveries d set
        state = 'claimed', lease_token = gen_random_uuid(), lease_owner = ${owner}, lease_until = now() + ${ms(times.leaseMs)},
        attempt_no = attempt_no + 1, next_attempt_at = null
      from head h where d.id = h.id and d.state = 'scheduled' and d.ready_at <= now()
      returning d.*
    ), attempt as (
      insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at)
      select gen_random_uuid(), d.organisation_id, d.id, d.attempt_no, ${owner}, c.credential_version, now()
      from claimed d, channel c
    )
    select h.id as head, exists (
        select from deliveries l where l.channel_id = c.id and ${isLate(times, sql`l`, sql`c`)}) as "isLate", d.id, d.organisation_id as "organisationId", d.post_id as "postId", d.channel_id as "channelId",
      d.publish_key as "publishKey", d.prepared, d.maybe_out as "maybeOut", d.backoff_step as "backoffStep",
      d.attempt_no as "attemptNo", d.lease_token as "leaseToken",
      c.network, c.remote_account as "remoteAccount", c.credential, c.credential_version as "credentialVersion"
    from channel c left join head h on true left join claimed d on true`)
  return row
}

// Due deliveries of the channel `c` that are not to be sent any more, or not as things are.
function isLate(times: Times, d: SQL, c: SQL): SQL {
  return sql`(${d}.state = 'scheduled' and ${d}.due_at <= now() and ${d}.ready_at <= now()
    and (${c}.status <> 'active' or ${d}.due_at < now() - ${ms(times.giveUpMs)}))`
}

/** Hold what is due on a channel that is not connected, and end what was due more than a day ago. */
async function putAside(db: Db, times: Times, deliveryId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [channel] = await tx.execute<{ id: string; organisationId: string }>(sql`
      select id, organisation_id as "organisationId" from channels
      where id = (select d.channel_id from deliveries d where d.id = ${deliveryId}) for no key update`)
    if (!channel) return
    await tx.execute(sql`
      select p.id from posts p where p.id in (
        select d.post_id from deliveries d, channels c where d.channel_id = ${channel.id} and c.id = d.channel_id and ${isLate(times, sql`d`, sql`c`)})
      order by p.id for no key update`)
    const aside = await tx.execute<{ postId: string }>(sql`
      with late as (
        select d.id, c.status <> 'active' as unconnected,
          exists (select from attempts a where a.delivery_id = d.id and a.started_at >= d.due_at) as tried
        from deliveries d, channels c where d.channel_id = ${channel.id} and c.id = d.channel_id and ${isLate(times, sql`d`, sql`c`)}
        order by d.id for no key update of d
      )
      update deliveries d set
        state = case
          when maybe_out then 'needs_review'::delivery_state
          when l.unconnected then 'held'
          when l.tried then 'failed'
          else 'needs_review' end,
        error = case when l.unconnected then ${json(heldError)} when l.tried then ${json(gaveUpError)} else ${json(missedError)} end,
        next_attempt_at = null, ${preparedCleared}
      from late l where d.id = l.id
      returning d.post_id as "postId"`)
    await tell(
      tx,
      channel.organisationId,
      [...aside].map(({ postId }) => postId),
    )
  })
}

/** Renew the leases of `owner`, up to the ceiling of each: 10 minutes after the claim, 30 s after the intent. */
export async function renewLeases(tx: Tx, times: Times, owner: string): Promise<void> {
  await tx.execute(sql`
    update deliveries d set lease_until = least(now() + ${ms(times.leaseMs)}, case d.state
      when 'claimed' then a.started_at + ${ms(times.claimedAtMostMs)}
      else a.intended_at + ${ms(times.sendingAtMostMs)} end)
    from attempts a
    where a.delivery_id = d.id and a.no = d.attempt_no and d.lease_owner = ${owner} and d.state in ('claimed', 'sending')`)
}

/** Give back what `owner` has claimed and not begun to send: its process stops. A send that was about to begin loses its lease. */
export async function releaseClaims(tx: Tx, owner: string): Promise<void> {
  const released = await tx.execute<{ channelId: string }>(sql`
    with settled as (
      update deliveries set state = 'scheduled', ${preparedCleared}, ${leaseCleared}
      where lease_owner = ${owner} and state = 'claimed' returning id, attempt_no, channel_id
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'lost', message: 'Its worker was stopped.' })})
    select channel_id as "channelId" from settled`)
  for (const { channelId } of released) await wakeChannel(tx, channelId)
}

/**
 * Write down that `prepared` is about to be sent. Must have committed before the first byte leaves.
 *
 * False when the lease is gone or over, or the channel was paused or disconnected meanwhile: then nothing may be sent.
 */
export async function intend(db: Db, times: Times, claimed: Claimed, prepared: string): Promise<boolean> {
  const rows = await db.execute(sql`
    with intended as (
      update deliveries d set
        state = 'sending', prepared = ${prepared}, first_sent_at = coalesce(d.first_sent_at, now()),
        lease_until = now() + ${ms(Math.min(times.leaseMs, times.sendingAtMostMs))}
      from channels c
      where d.id = ${claimed.id} and d.state = 'claimed' and d.lease_token = ${claimed.leaseToken} and d.lease_until > now()
        and c.id = d.channel_id and c.status = 'active' and (c.paused_until is null or c.paused_until <= now())
      returning d.id, d.attempt_no
    )
    update attempts a set intended_at = now() from intended i where a.delivery_id = i.id and a.no = i.attempt_no
    returning a.id`)
  return rows.length === 1
}

/** The statement that completes an attempt, once, for the rows of the CTE `settled`. */
export function endAttempt(settled: SQL, attemptNo: number | SQL, ending: Ending): SQL {
  const { outcome, message = null, status = null, reply = null } = ending
  return sql`
    update attempts a set ended_at = now(), outcome = ${outcome}, message = ${message}, status = ${status}, reply = ${reply}
    from ${settled} s where a.delivery_id = s.id and a.no = ${attemptNo} and a.ended_at is null`
}

/** An error as what `deliveries.error` takes. */
export function json(value: DeliveryError): SQL {
  return sql`${JSON.stringify(value)}::jsonb`
}

const heldError: DeliveryError = {
  code: 'channel_needs_reconnect',
  message: 'The network no longer accepts this connection.',
  nextStep: 'Reconnect the channel: the post then goes out by itself.',
}
const missedError: DeliveryError = {
  code: 'missed',
  message: 'Its hour was more than a day ago when it could first be sent.',
  nextStep: 'Send it now or cancel it.',
}
/** A day of trying was in vain. */
export const gaveUpError: DeliveryError = {
  code: 'gave_up',
  message: 'It could not be sent for a day.',
  nextStep: 'Look at the attempts, then retry.',
}
