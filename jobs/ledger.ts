import { type SQL, sql } from 'drizzle-orm'
import { type Db, sqlStateOf, type Tx } from '../db/client.ts'
import type { DeliveryError } from '../db/schema.ts'
import type { Publication } from './networks/network.ts'
import { wakeAtDue, wakeChannel, wakeLook } from './queue.ts'
import type { Times } from './times.ts'

// The state machine of deliveries, as the worker moves it: one SQL statement a transition, its guard in the WHERE, the
// database's clock only. What a person orders is in orders.ts, what looking for a post finds in reconcile.ts, what a dead
// worker left in reaper.ts. Locks are taken in one order everywhere: channel, post, deliveries by id.

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
  const [row] = await db.execute<Claimed & { head: string | null }>(sql`
    with channel as (
      select c.*, c.paused_until > now() as paused from channels c
      where c.id = (select d.channel_id from deliveries d where d.id = ${deliveryId})
      for no key update
    ), held as (
      update deliveries d set
        state = case when maybe_out then 'needs_review'::delivery_state else 'held' end,
        error = ${json(heldError)}, next_attempt_at = null, ${preparedCleared}
      from channel c
      where d.channel_id = c.id and c.status <> 'active' and d.state = 'scheduled' and d.due_at <= now() and d.ready_at <= now()
    ), late as (
      select d.id, exists (select from attempts a where a.delivery_id = d.id and a.started_at >= d.due_at) as tried
      from deliveries d, channel c
      where d.channel_id = c.id and c.status = 'active' and d.state = 'scheduled'
        and d.due_at < now() - ${ms(times.giveUpMs)} and d.ready_at <= now()
    ), given_up as (
      update deliveries d set
        state = case when maybe_out or not l.tried then 'needs_review'::delivery_state else 'failed' end,
        error = case when l.tried then ${json(gaveUpError)} else ${json(missedError)} end, next_attempt_at = null, ${preparedCleared}
      from late l where d.id = l.id and d.state = 'scheduled'
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
    select h.id as head, d.id, d.organisation_id as "organisationId", d.post_id as "postId", d.channel_id as "channelId",
      d.publish_key as "publishKey", d.prepared, d.maybe_out as "maybeOut", d.backoff_step as "backoffStep",
      d.attempt_no as "attemptNo", d.lease_token as "leaseToken",
      c.network, c.remote_account as "remoteAccount", c.credential, c.credential_version as "credentialVersion"
    from channel c left join head h on true left join claimed d on true`)
  return row
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

/**
 * Record that the post is out there. Proof is accepted from anyone, at any time, whoever holds the lease by now.
 *
 * Throws a unique violation (23505) when `remoteId` is recorded for another delivery of the channel: then it is not ours.
 */
export async function recordPublished(
  tx: Tx,
  { id, attemptNo }: { id: string; attemptNo: number },
  { remoteId, url, status = null, reply = null }: Publication,
  evidence: 'answered' | 'found' | 'person',
): Promise<void> {
  await tx.execute(sql`
    with published as (
      update deliveries set
        state = 'published', published_at = now(), evidence = ${evidence}, remote_id = ${remoteId}, remote_url = ${url},
        maybe_out = false, next_attempt_at = null, look_at = null, look_token = null, absent_at = null, error = null, ${leaseCleared}
      where id = ${id} and state <> 'published'
      returning id
    ), overtaken as (
      update attempts a set ended_at = now(), outcome = 'lost', message = 'An earlier attempt proved to be out.'
      from published p where a.delivery_id = p.id and a.no > ${attemptNo} and a.ended_at is null
    )
    ${endAttempt(sql`published`, attemptNo, { outcome: 'published', status, reply })}`)
}

/**
 * Surely not sent, and may pass: scheduled again `waitMs` from now, the channel paused as long when the network asked for it.
 * A day after its hour it has failed instead (`gave_up`; needs_review where something may be out).
 */
export async function postpone(
  db: Db,
  times: Times,
  claimed: Claimed,
  wait: { waitMs: number; countsAsStep: boolean; pausesChannel: boolean; error: DeliveryError | null },
  ending: Ending,
): Promise<void> {
  const channelFirst = sql`(select count(*) from channel) >= 0` // always true: the channel is locked before the delivery
  const over = sql`d.due_at < now() - ${ms(times.giveUpMs)}`
  const statement = sql`
    with channel as (
      select id from channels where id = ${claimed.channelId} and ${wait.pausesChannel} for no key update
    ), paused as (
      update channels c set paused_until = greatest(c.paused_until, now() + ${ms(wait.waitMs)}) from channel where c.id = channel.id
    ), settled as (
      update deliveries d set
        state = case when not ${over} then 'scheduled'::delivery_state when maybe_out then 'needs_review' else 'failed' end,
        error = case when ${over} then ${json(gaveUpError)} else ${wait.error === null ? sql`d.error` : json(wait.error)} end,
        next_attempt_at = case when not ${over} then now() + ${ms(wait.waitMs)} end,
        backoff_step = backoff_step + ${wait.countsAsStep ? 1 : 0}, ${preparedCleared}, ${leaseCleared}
      where ${channelFirst} and ${isOurs(claimed)}
      returning d.id
    )
    ${endAttempt(sql`settled`, claimed.attemptNo, ending)}`
  await db.transaction(async (tx) => {
    await tx.execute(statement)
    // At once: the task goes on down the channel by itself.
    if (wait.waitMs > 0) await wakeAtDue(tx, [claimed.id])
  })
}

/** Surely not sent, and will not pass: failed, or put before a person where something may be out. */
export async function fail(tx: Tx, claimed: Claimed, error: DeliveryError, ending: Ending): Promise<void> {
  await tx.execute(sql`
    with settled as (
      update deliveries d set
        state = case when maybe_out then 'needs_review'::delivery_state else 'failed' end,
        error = ${json(error)}, ${preparedCleared}, ${leaseCleared}
      where ${isOurs(claimed)} returning d.id
    )
    ${endAttempt(sql`settled`, claimed.attemptNo, ending)}`)
}

/**
 * The network no longer accepts the credential: held, and the channel needs a person. But only while the version that was
 * refused is still the current one; refreshed or reconnected meanwhile, the delivery is simply scheduled again.
 */
export async function hold(tx: Tx, claimed: Claimed, error: DeliveryError, ending: Ending): Promise<void> {
  await tx.execute(sql`
    with channel as (
      select id, credential_version = ${claimed.credentialVersion} as current from channels
      where id = ${claimed.channelId} for no key update
    ), broken as (
      update channels c set status = 'needs_reconnect' from channel
      where c.id = channel.id and channel.current and c.status = 'active'
    ), settled as (
      update deliveries d set
        state = case when not c.current then 'scheduled'::delivery_state when maybe_out then 'needs_review' else 'held' end,
        error = case when c.current then ${json(error)} end, ${preparedCleared}, ${leaseCleared}
      from channel c where ${isOurs(claimed)} returning d.id
    )
    ${endAttempt(sql`settled`, claimed.attemptNo, ending)}`)
}

/** Something may be out there, and nobody knows: uncertain, to be looked for `lookAfterMs` after the intent. */
export async function doubt(
  db: Db,
  claimed: Claimed,
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
          ${leaseCleared}
        where ${isOurs(claimed)} and d.state = 'sending' returning d.id
      )
      ${endAttempt(sql`settled`, claimed.attemptNo, ending)}`)
    await wakeLook(tx, [claimed.id])
  })
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

function isOurs({ id, leaseToken }: Claimed): SQL {
  return sql`d.id = ${id} and d.lease_token = ${leaseToken} and d.state in ('claimed', 'sending')`
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
const gaveUpError: DeliveryError = {
  code: 'gave_up',
  message: 'It could not be sent for a day.',
  nextStep: 'Look at the attempts, then retry.',
}
