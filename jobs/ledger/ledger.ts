import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import type { Times } from '../timeouts-and-delays.ts'
import { emitAll, type TheirPost } from './events.ts'
import { isStopped, isSuspended } from './pause.ts'

// The state machine of deliveries, as the worker runs it: one SQL statement per transition, with its guard in the
// WHERE. We use only the database's clock. Claims are in claim.ts, the ends of attempts in settle.ts, the actions of
// people in user-actions.ts, the results of looks in publish/findings.ts, what a dead worker left in
// publish/reaper.ts. All code takes locks in one order: queue, channel, post, deliveries by id.

/** A delivery under this worker's lease, with all that we need to send it. */
export type ClaimedDelivery = {
  id: string
  organisationId: string
  postId: string
  channelId: string
  publishKey: string
  prepared: string | null // kept from the previous attempt if the post may be out
  maybeOut: boolean
  backoffStep: number
  attemptNo: number
  leaseToken: string
  network: string
  remoteAccount: string
  credential: Uint8Array
  credentialVersion: number
  isSuspect: boolean // it may have crashed its worker before
  text: string
  media: StoredMedia[]
}

/** How log lines name a delivery and its attempt. */
export function logFields({
  organisationId,
  postId,
  id,
  attemptNo,
}: Pick<ClaimedDelivery, 'organisationId' | 'postId' | 'id' | 'attemptNo'>) {
  return { organisation: organisationId, post: postId, delivery: id, attempt: attemptNo }
}

/** A file of a delivery, as it is stored. */
export type StoredMedia = {
  key: string // a key of db/files/files.ts
  mime: string
  bytes: number
  width: number | null
  height: number | null
  durationMs: number | null
  alt: string
}

/** How an attempt ended, for its record. */
export type Ending = { outcome: string; message?: string | null; status?: number | null; reply?: string | null }

/** A duration in milliseconds as an SQL interval. */
export const ms = (duration: number): SQL => sql`(${duration} * interval '1 millisecond')`

/** Clears a delivery's lease. Without a lease, a worker may only record that the post is out. */
export const leaseCleared = sql`lease_token = null, lease_owner = null, lease_until = null`

/** We make `prepared` again for the next attempt. But if the post may be out, we may only send the same bytes again. */
export const preparedCleared = sql`prepared = case when maybe_out then prepared end`

/**
 * Renew the leases of `owner` on the deliveries that it still works on, up to the limit of each: 10 minutes after the
 * claim, 30 s after the intent. If it could not record the end of an attempt, the reaper takes over.
 */
export async function renewLeases(tx: Tx, times: Times, owner: string, deliveryIds: string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  await tx.execute(sql`
    update deliveries d set lease_until = least(now() + ${ms(times.leaseMs)}, case d.state
      when 'claimed' then a.started_at + ${ms(times.claimedAtMostMs)}
      else a.intended_at + ${ms(times.sendingAtMostMs)} end)
    from attempts a
    where a.delivery_id = d.id and a.no = d.attempt_no and d.lease_owner = ${owner} and d.state in ('claimed', 'sending')
      and d.id = any(${sql.param(deliveryIds)}::uuid[])`)
}

/**
 * Release the deliveries that `owner` has claimed but not begun to send, because its process stops. A send that was
 * about to begin loses its lease. Returns the channels on which we must wake other workers.
 */
export async function releaseClaims(tx: Tx, owner: string): Promise<string[]> {
  await tx.execute(sql`
    select p.id from posts p where p.id in (select d.post_id from deliveries d where d.lease_owner = ${owner} and d.state = 'claimed')
    order by p.id for no key update`)
  const released = await tx.execute<TheirPost & { channelId: string }>(sql`
    with settled as (
      update deliveries set state = 'scheduled', ${preparedCleared}, ${leaseCleared}
      where lease_owner = ${owner} and state = 'claimed' returning id, attempt_no, channel_id, organisation_id, post_id
    ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'lost', message: 'Its worker was stopped.' })})
    select channel_id as "channelId", organisation_id as "organisationId", post_id as "postId" from settled`)
  await emitAll(tx, [...released])
  return [...released].map(({ channelId }) => channelId)
}

/** A delivery that is about to be sent, and its prepared request. */
export type Intent = { delivery: Pick<ClaimedDelivery, 'id' | 'leaseToken'>; prepared: string }

/**
 * Record what we are about to send. This must be committed before we send the first byte. Returns a result for each, in
 * order.
 *
 * False: we may not send it. The lease is gone or over, the channel was paused or disconnected meanwhile, or its
 * organisation, its network or the installation was paused.
 */
export async function intend(db: Tx, times: Times, intents: Intent[]): Promise<boolean[]> {
  const rows = await db.execute<{ id: string }>(sql`
    with wanted as materialized (
      select * from unnest(
        ${sql.param(intents.map(({ delivery }) => delivery.id))}::uuid[],
        ${sql.param(intents.map(({ delivery }) => delivery.leaseToken))}::uuid[],
        ${sql.param(intents.map(({ prepared }) => prepared))}::text[]) as w (id, token, prepared)
    ), locked as materialized (
      select d.id, w.prepared from wanted w join deliveries d on d.id = w.id
      join channels c on c.id = d.channel_id left join networks n on n.name = c.network
      where d.state = 'claimed' and d.lease_token = w.token and d.lease_until > now()
        and c.status = 'active' and (c.paused_until is null or c.paused_until <= now())
        and c.paused_at is null and n.paused_at is null and not ${isSuspended} and not ${isStopped}
      order by d.id for no key update of d skip locked -- the transaction that holds the lock takes the delivery away
    ), intended as (
      update deliveries d set
        state = 'sending', prepared = l.prepared, first_sent_at = coalesce(d.first_sent_at, now()),
        lease_until = now() + ${ms(Math.min(times.leaseMs, times.sendingAtMostMs))}
      from locked l where d.id = l.id
      returning d.id, d.attempt_no
    )
    update attempts a set intended_at = now() from intended i where a.delivery_id = i.id and a.no = i.attempt_no
    returning a.delivery_id as id`)
  const intended = new Set([...rows].map(({ id }) => id))
  return intents.map(({ delivery }) => intended.has(delivery.id))
}

/** The statement that ends the attempts of the rows in the CTE `settled`. An attempt ends only once. */
export function endAttempt(settled: SQL, attemptNo: number | SQL, ending: Ending): SQL {
  const { outcome, message = null, status = null, reply = null } = ending
  return sql`
    update attempts a set ended_at = now(), outcome = ${outcome}, message = ${message}, status = ${status}, reply = ${reply}
    from ${settled} s where a.delivery_id = s.id and a.no = ${attemptNo} and a.ended_at is null`
}

/** An error as the value of `deliveries.error`. */
export function json(value: DeliveryError): SQL {
  return sql`${JSON.stringify(value)}::jsonb`
}
