import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { errorOf, heldError } from '../delivery-errors.ts'
import type { Times } from '../timeouts-and-delays.ts'
import { emit } from './events.ts'
import { type ClaimedDelivery, json, ms, preparedCleared } from './ledger.ts'
import { isStopped, isSuspended } from './pause.ts'
import { underWayOn } from './under-way.ts'

// The first transition of a delivery. We claim by channel, and many channels at once: one transaction claims as much as
// the worker has room for, and this makes it fast (docs/decisions/016, 021).

const PutAsideAtOnce = 1000
const CapLock = 70_038 // the first half of a cap's advisory lock; the second half is hashtext(its network)

/** A channel with due deliveries that we may not send any more, or not now: see `putAside`. */
export type Late = { lateOn: string }

/**
 * Why nothing was claimed. `locked`: another transaction changes the channel, and ends soon. `elsewhere`: another
 * worker works on the channel, and may have too much to do. `full`: its network has reached its cap. `nothing`:
 * nothing is due, or nothing may be done now; the change that ends this state wakes the channel.
 */
export type NotClaimed = 'locked' | 'elsewhere' | 'full' | 'nothing'

/**
 * What a claim found on a channel: a delivery under this worker's lease, late deliveries, or the reason for neither.
 */
export type Claim = ClaimedDelivery | Late | NotClaimed

/**
 * Claim the oldest due delivery of each channel, in the order (due_at, id). We skip a channel that has a claimed or
 * sending delivery or three uncertain ones, that is paused (also its network or installation), or whose network is at
 * its cap. Suspects (they may have crashed their worker) go one at a time in the whole installation. Returns by
 * channel.
 *
 * A due delivery is `Late` if its channel is not connected, or if it was due more than a day ago.
 */
export async function claimHeads(
  db: Db,
  times: Times,
  owner: string,
  channelIds: string[],
): Promise<Map<string, Claim>> {
  const claims = new Map<string, Claim>()
  const rows = await db.transaction(async (tx) => {
    const seen = await lockChannels(tx, owner, channelIds)
    for (const channel of seen) claims.set(channel.id, withoutLock(channel))
    const locked = seen.filter(({ isLocked }) => isLocked)
    return locked.length > 0 ? claimLocked(tx, times, owner, locked) : []
  })
  for (const row of rows) claims.set(row.channelId, claimOf(row))
  return claims
}

type Seen = {
  id: string
  underWay: string | null
  isLocked: boolean
  isShared: boolean // it shares the lock of its network's cap with other claims
}

function withoutLock({ underWay }: Seen): Claim {
  if (underWay === null) return 'locked'
  return underWay === 'uncertain' ? 'nothing' : 'elsewhere'
}

function claimOf(row: Row): Claim {
  const { isLate, isChosen, isElsewhere, ...delivery } = row
  if (delivery.id) return { ...delivery, id: delivery.id }
  if (isLate) return { lateOn: row.channelId }
  if (isChosen) return 'locked' // another transaction has changed it meanwhile
  if (isChosen === false) return delivery.isSuspect ? 'nothing' : 'full'
  return isElsewhere ? 'elsewhere' : 'nothing'
}

// The most that can be under way on a network. No worker uses more than half of its places there
// (jobs/publish/dispatch.ts). We add what dead workers left, on any network. Null for an owner that counts as dead.
const mostAtOnce = (owner: string) => sql`(
  select sum((concurrency + 1) / 2) + (
    select count(*) from deliveries where state in ('claimed', 'sending') and lease_owner not in (select owner from workers))
  from workers having bool_or(owner = ${owner}))`

const capLock = (name: SQL) => sql`${CapLock}, hashtext(${name})`

// Locks in the global order: first the caps of networks, then channels by id. If all workers together cannot reach a
// cap, we count nothing and claims share its lock. That blocks only a claim that counts. No claim waits for a lock,
// because all other channels would wait too: we leave a channel that is locked or under way for the next time. The
// commit of a claim need not wait for the disk. The commit of the intent does, and a delivery without an intent was
// never sent.
async function lockChannels(tx: Tx, owner: string, channelIds: string[]): Promise<Seen[]> {
  const locking = sql`
    with seen as materialized (
      select c.id, c.network, ${underWayOn(sql`c.id`)} as under_way from channels c where c.id = any(${sql.param(channelIds)}::uuid[])
    ), capped as materialized (
      select n.name, coalesce(n.at_once < ${mostAtOnce(owner)}, true) as is_counted from networks n
      where n.at_once is not null and n.name in (select network from seen where under_way is null)
    ), held as materialized (
      select name, is_counted from capped n where case
        when is_counted then pg_try_advisory_xact_lock(${capLock(sql`name`)})
        else pg_try_advisory_xact_lock_shared(${capLock(sql`name`)}) end
    ), locked as materialized (
      select c.id from channels c
      where c.id = any(array(select id from seen where under_way is null))
        and not exists (select from capped n where n.name = c.network and n.name not in (select name from held))
      order by c.id for no key update of c skip locked
    )
    select
      s.id, s.under_way as "underWay", l.id is not null as "isLocked",
      s.network in (select name from held where not is_counted) as "isShared",
      set_config('synchronous_commit', 'off', true),
      set_config('idle_in_transaction_session_timeout', '5s', true) -- a lost host keeps these locks for 5 s at most
    from seen s left join locked l using (id)`
  // In one round trip. By default PostgreSQL plans both statements again each time, for lists of this length. This
  // takes twice as long as running them. A plan that we keep must stay good for all later data. So it uses indexes
  // and does not join growing tables: we read each row by its id. (Before version 18, a plan without the disabled
  // features may look expensive enough to be compiled.)
  const [, rows] = await Promise.all([
    tx.execute(sql`
      select set_config('plan_cache_mode', 'force_generic_plan', true),
        set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`),
    tx.execute<Seen>(locking),
  ])
  return [...rows]
}

type Row = Omit<ClaimedDelivery, 'id'> & {
  id: string | null
  isSuspect: boolean
  isChosen: boolean | null // null: nothing is due
  isElsewhere: boolean
  isLate: boolean
}

// A separate statement after the locks: it sees what was committed before them. If a worker has joined meanwhile and we
// must count for the cap, a shared lock gives no room: the next claim takes the lock exclusively.
async function claimLocked(tx: Tx, times: Times, owner: string, locked: Seen[]): Promise<Row[]> {
  const shared = locked.flatMap(({ id, isShared }) => (isShared ? [id] : []))
  const rows = await tx.execute<Row>(sql`
    with open as materialized (
      select c.*, n.at_once,
        (c.paused_until > now() or c.paused_at is not null or n.paused_at is not null or ${isSuspended} or ${isStopped}) is true
          as paused,
        ${underWayOn(sql`c.id`)} as under_way
      from channels c left join networks n on n.name = c.network where c.id = any(${sql.param(locked.map(({ id }) => id))}::uuid[])
    ), taken as materialized (
      select network, count(*) from (
        select (select c.network from channels c where c.id = d.channel_id) as network from deliveries d
        where d.state in ('claimed', 'sending') and exists (select from open where at_once is not null)) u group by network
    ), head as materialized (
      select o.id as channel_id, h.id, h.crash_count > 0 as is_suspect, case
          when o.at_once >= ${mostAtOnce(owner)} then null
          when o.id = any(${sql.param(shared)}::uuid[]) then 0
          else o.at_once - coalesce(t.count, 0) end as room,
        row_number() over (partition by o.network order by h.due_at, h.id) as place,
        row_number() over (partition by h.crash_count > 0 order by h.ready_at, h.id) as suspect_place
      from open o left join taken t on t.network = o.network, lateral (
        select d.id, d.due_at, d.ready_at, d.crash_count from deliveries d
        where d.channel_id = o.id and d.state = 'scheduled' and d.due_at <= now() and d.ready_at <= now()
          and d.due_at >= now() - ${ms(times.giveUpMs)}
        order by d.due_at, d.id limit 1) h
      where o.status = 'active' and not o.paused and o.under_way is null
    ), chosen as materialized (
      select h.*, (h.room is null or h.place <= h.room) and (not h.is_suspect or (h.suspect_place = 1 and not exists (
        select from deliveries s where s.crash_count > 0 and s.state in ('claimed', 'sending')))) as is_chosen
      from head h
    ), claimed as (
      update deliveries d set
        state = 'claimed', lease_token = gen_random_uuid(), lease_owner = ${owner}, lease_until = now() + ${ms(times.leaseMs)},
        attempt_no = attempt_no + 1, next_attempt_at = null
      where d.id = any(array(select id from chosen where is_chosen)) and d.state::text = 'scheduled' -- by id, not by the index of states
      returning d.*
    ), attempt as (
      insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at)
      select gen_random_uuid(), d.organisation_id, d.id, d.attempt_no, ${owner}, o.credential_version, now()
      from claimed d join open o on o.id = d.channel_id
    )
    select o.id as "channelId", o.organisation_id as "organisationId", c.is_chosen as "isChosen", c.is_suspect as "isSuspect",
      coalesce(o.under_way in ('claimed', 'sending'), false) as "isElsewhere", not o.paused and (
        select d.due_at from deliveries d where d.channel_id = o.id and ${isLate(times, sql`d`, sql`o`)}
        order by d.due_at, d.id limit 1) is not null as "isLate",
      d.id, d.post_id as "postId", d.publish_key as "publishKey", d.prepared, d.maybe_out as "maybeOut",
      d.backoff_step as "backoffStep", d.attempt_no as "attemptNo", d.lease_token as "leaseToken",
      o.network, o.remote_account as "remoteAccount", o.credential, o.credential_version as "credentialVersion",
      coalesce(d.content, (select p.content from posts p where p.id = d.post_id)) as text, ${mediaOf(sql`d`)} as media
    from open o left join chosen c on c.channel_id = o.id left join claimed d on d.channel_id = o.id`)
  return [...rows]
}

// The media of the delivery `d`, in their order.
function mediaOf(d: SQL): SQL {
  return sql`(
    select coalesce(json_agg(json_build_object(
      'key', m.file_key, 'mime', m.mime, 'bytes', m.bytes, 'width', m.width, 'height', m.height, 'durationMs', m.duration_ms, 'alt', m.alt
    ) order by used.place), '[]')
    from unnest(coalesce(${d}.media_ids, array(
      select pm.media_id from post_media pm where pm.post_id = ${d}.post_id order by pm.position
    ))) with ordinality as used (id, place), lateral (
      select * from media where id = used.id and organisation_id = ${d}.organisation_id order by id limit 1) m)`
}

// Due deliveries of the channel `c` that we may not send any more, or not now.
function isLate(times: Times, d: SQL, c: SQL): SQL {
  return sql`(${d}.state = 'scheduled' and ${d}.ready_at <= now()
    and ${d}.due_at <= case when ${c}.status = 'active' then now() - ${ms(times.giveUpMs)} else now() end)`
}

/**
 * If the channel is not connected, all due deliveries become held (needs_review if something may be out). A delivery
 * that was due more than a day ago is not sent: if it was never tried, a person decides (`missed`); if it was tried, it
 * fails (`gave_up`).
 *
 * We do a thousand posts at a time. The next claim reports if there are more.
 */
export async function putAside(db: Db, times: Times, channelId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const [channel] = await tx.execute<{ organisationId: string }>(sql`
      select organisation_id as "organisationId" from channels where id = ${channelId} for no key update`)
    if (!channel) return
    const posts = await tx.execute<{ id: string }>(sql`
      select p.id from posts p where p.id in (
        select d.post_id from deliveries d, channels c
        where d.channel_id = ${channelId} and c.id = d.channel_id and ${isLate(times, sql`d`, sql`c`)}
        order by d.due_at limit ${PutAsideAtOnce})
      order by p.id for no key update`)
    const aside = await tx.execute<{ postId: string }>(sql`
      with late as (
        select d.id, c.status <> 'active' as unconnected,
          exists (select from attempts a where a.delivery_id = d.id and a.started_at >= d.due_at) as tried
        from deliveries d, channels c where d.channel_id = ${channelId} and c.id = d.channel_id and ${isLate(times, sql`d`, sql`c`)}
          and d.post_id = any(${sql.param([...posts].map(({ id }) => id))}::uuid[])
        order by d.id for no key update of d
      )
      update deliveries d set
        state = case
          when maybe_out then 'needs_review'::delivery_state
          when l.unconnected then 'held'
          when l.tried then 'failed'
          else 'needs_review' end,
        error = case when l.unconnected then ${json(heldError)} when l.tried then ${json(errorOf('gave_up'))} else ${json(errorOf('missed'))} end,
        next_attempt_at = null, ${preparedCleared}
      from late l where d.id = l.id
      returning d.post_id as "postId"`)
    await emit(
      tx,
      channel.organisationId,
      [...aside].map(({ postId }) => postId),
    )
  })
}
