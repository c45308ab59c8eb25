import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { errorOf, goneError } from '../delivery-errors.ts'
import type { Deps } from '../deps.ts'
import { emitAll } from '../ledger/events.ts'
import { json, leaseCleared, ms } from '../ledger/ledger.ts'
import { isStopped, isSuspended } from '../ledger/pause.ts'
import { underWayOn } from '../ledger/under-way.ts'
import { jobsHeldBy, renewJobs, wakeAtDue, wakeChannels, wakeLook, wakeSuspect } from '../ledger/wake-ups.ts'
import { type Dead, findDead, forgetDead, isGone, isPastGrace } from '../monitoring/presence.ts'
import type { Times } from '../timeouts-and-delays.ts'

const WokenPerTick = 5000
const LooksWokenPerTick = 500 // more than can begin before the next tick
const LatelyAtMost = 1000
const CrashesAtMost = 3

/** A delivery that we took over from a dead worker, and its new state. */
export type Taken = {
  id: string
  state: string
  attemptNo: number
  organisationId: string
  postId: string
  channelId: string
}

/** The result of one tick: the dead workers, and the deliveries that we took over from them. */
export type Reaped = { dead: string[]; taken: Taken[] }

/**
 * Give the deliveries of dead workers to other workers. Safe at any time, in any number of processes.
 *
 * A worker is dead if its advisory lock is free at two checks in a row (the process is gone), or if one of its leases
 * is over (its host is gone). Only the first case counts as a crash of the deliveries under way, and only if the
 * worker did not announce its end. We give up a delivery when its workers crashed three times.
 */
export async function reap({ times, networks, at }: Pick<Deps, 'times' | 'networks' | 'at'>, db: Db): Promise<Reaped> {
  const owners = await findDead(db, times)
  const dead = [...owners.crashed, ...owners.ended]
  const taken = await takeOver(db, { times, networks, at }, owners)
  if (dead.length > 0) {
    await renewJobs(db, await jobsHeldBy(db, dead))
    await wakeForgotten(db, 0) // items that waited in their memory
  }
  await forgetDead(db, dead)
  return { dead, taken }
}

async function takeOver(
  db: Db,
  { times, networks, at }: Pick<Deps, 'times' | 'networks' | 'at'>,
  { crashed, ended }: Dead,
): Promise<Taken[]> {
  const dead = [...crashed, ...ended]
  const blind = Object.entries(networks).flatMap(([key, { repeatedSend }]) => (repeatedSend === 'blind' ? [key] : []))
  return db.transaction(async (tx) => {
    const abandoned = await tx.execute<{ id: string }>(sql`
      select d.id from deliveries d join posts p on p.id = d.post_id
      where d.state in ('claimed', 'sending') and ${isAbandoned(dead, times)} order by p.id for no key update of p skip locked`)
    if (abandoned.length === 0) return []
    const rows = await tx.execute<Taken>(sql`
      with abandoned as materialized (
        select d.id, a.intended_at, c.network = any(${sql.param(blind)}::text[]) as is_blind,
          d.crash_count + case when d.lease_owner = any(${sql.param(crashed)}::text[]) then 1 else 0 end as crashes
        from deliveries d join channels c on c.id = d.channel_id
        join attempts a on a.delivery_id = d.id and a.no = d.attempt_no
        where d.id = any(${sql.param([...abandoned].map(({ id }) => id))}::uuid[])
          and d.state in ('claimed', 'sending') and ${isAbandoned(dead, times)} order by d.id for no key update of d skip locked
      ), settled as (
        update deliveries d set
          crash_count = a.crashes,
          state = case
            when a.crashes >= ${CrashesAtMost} and d.state = 'claimed' and not d.maybe_out then 'failed'::delivery_state
            when a.crashes >= ${CrashesAtMost} then 'needs_review'
            when d.state = 'claimed' then 'scheduled'
            else 'uncertain' end,
          error = case
            when a.crashes >= ${CrashesAtMost} then ${json(errorOf('crashed_worker'))}
            when d.state = 'sending' then ${json(goneError)} else d.error end,
          prepared = case when d.state = 'sending' or d.maybe_out then d.prepared end, maybe_out = d.maybe_out or d.state = 'sending',
          look_token = null, absent_at = null, next_attempt_at = null,
          look_at = case
            when d.state = 'claimed' or a.crashes >= ${CrashesAtMost} then null
            when a.is_blind then now()
            -- After a freeze, all leases end at once. We spread the looks for their deliveries over time.
            else greatest(a.intended_at + ${ms(times.sendMs + times.firstLookMs)}, now()) + random() * ${ms(times.lookSpreadMs)} end,
          ${leaseCleared}
        from abandoned a where d.id = a.id
        returning d.id, d.state, d.attempt_no, d.organisation_id, d.post_id, d.channel_id, d.maybe_out
      ), ended as (
        update attempts a set ended_at = now(),
          outcome = case when a.intended_at is null then 'lost' else 'unknown' end, message = ${goneError.message}
        from settled s where a.delivery_id = s.id and a.no = s.attempt_no and a.ended_at is null)
      select id, state, attempt_no as "attemptNo", organisation_id as "organisationId", post_id as "postId", channel_id as "channelId" from settled`)
    const taken = [...rows]
    at('reaping')
    await emitAll(tx, taken)
    await wakeTaken(tx, taken)
    return taken
  })
}

async function wakeTaken(tx: Tx, taken: Taken[]): Promise<void> {
  const uncertain = taken.filter(({ state }) => state === 'uncertain')
  await wakeChannels(
    tx,
    taken.map(({ channelId }) => channelId),
  )
  await wakeLook(
    tx,
    uncertain.map(({ id }) => id),
  )
  await wakeSuspect(tx)
}

// If the lease is over and the owner's lock is free, we leave the delivery to the next tick. Its owner is dead then,
// and this must count as a crash. Otherwise, if workers restart only after their leases end, we would try a post that
// crashes each worker forever.
const isAbandoned = (dead: string[], times: Times) => sql`
  (d.lease_owner = any(${sql.param(dead)}::text[])
    or (d.lease_until < now() and ${isPastGrace(times)} and not ${isGone(sql`d.lease_owner`)}))`

/**
 * Add a wake-up for each channel whose head waits longer than `overdueMs` although it could be claimed. The same for
 * uncertain deliveries that no worker looks for. Returns how many.
 */
export async function wakeForgotten(db: Db, overdueMs: number): Promise<number> {
  // This reads one entry of an index. PostgreSQL may plan an `exists` as a scan.
  const isAny = sql`(select min(ready_at) from deliveries where state = 'scheduled') < now() - ${ms(overdueMs)}`
  const heads = await overdueHeads(db, overdueMs, isAny)
  await wakeAtDue(
    db,
    heads.map(({ id }) => id),
  )
  const unlooked = await db.execute<{ id: string }>(sql`
    with unlooked as (
      select id, look_at, look_token, lease_until from deliveries where state = 'uncertain'
      union all select id, look_at, look_token, lease_until from deliveries where state = 'needs_review'
    )
    select id from unlooked d where d.look_at < now() - ${ms(overdueMs)}
      and (d.look_token is null or d.lease_until < now()) order by d.look_at limit ${LooksWokenPerTick}`)
  await wakeLook(
    db,
    [...unlooked].map(({ id }) => id),
  )
  return heads.length + unlooked.length
}

/**
 * Channels whose head waits longer than `overdueMs` although it could be claimed, the oldest first. We check only the
 * channels of the last thousand deliveries that became overdue. So this is cheap even if very many are paused.
 */
export function overdueLately(db: Db, overdueMs: number): Promise<Overdue[]> {
  const lately = sql`
    select d.channel_id from deliveries d where d.state = 'scheduled' and d.ready_at < now() - ${ms(overdueMs)}
    order by d.ready_at desc limit ${LatelyAtMost}`
  return overdueHeads(db, overdueMs, sql`c.id = any(array(${lately}))`)
}

type Overdue = { id: string; channelId: string; network: string }

async function overdueHeads(db: Db, overdueMs: number, which: SQL): Promise<Overdue[]> {
  const heads = await db.execute<Overdue>(sql`
    with full_networks as materialized (
      select n.name from networks n where n.paused_at is not null or n.at_once <= (
        select count(*) from deliveries u join channels uc on uc.id = u.channel_id
        where u.state in ('claimed', 'sending') and uc.network = n.name)
    )
    select h.id, c.id as "channelId", c.network from channels c, lateral (
      select d.id, d.ready_at, d.crash_count from deliveries d
      where d.channel_id = c.id and d.state = 'scheduled' and d.ready_at < now() - ${ms(overdueMs)}
      order by d.ready_at limit 1
    ) h
    where ${which} and not ${isStopped} and not ${isSuspended} and c.paused_at is null
      and (c.paused_until is null or c.paused_until < now() - ${ms(overdueMs)})
      and c.network not in (select name from full_networks)
      and ${underWayOn(sql`c.id`)} is null
      and (h.crash_count = 0 or not exists (select from deliveries s where s.crash_count > 0 and s.state in ('claimed', 'sending')))
    order by h.ready_at limit ${WokenPerTick}`)
  return [...heads]
}
