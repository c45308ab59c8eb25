import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { isSameDatabase } from './database-identity.ts'
import { iso } from './post-view.ts'
import { underWayOn } from './under-way.ts'
import { wakeChannels } from './wake-ups.ts'

// What operators stop and start. Claim and intend check these columns. What is being sent at that time still finishes.

/** Everything, one network by its key, or one channel by its id. */
export type Reach = { scope: 'all' } | { scope: 'network'; name: string } | { scope: 'channel'; id: string }

/**
 * SQL: the whole installation claims and intends nothing. Also if it has not noticed yet that a backup was restored.
 */
export const isStopped = sql`(
  not exists (select from installation i where i.paused_at is null and i.restored_at is null and ${isSameDatabase}))`

/**
 * SQL: an operator has suspended the organisation of the channel `c` (jobs/ledger/suspension.ts). There are few of
 * these. We read them once per statement, from an index of only them, and not once per channel.
 */
export const isSuspended = sql`(c.organisation_id in (select o.id from organisations o where o.suspended_at is not null))`

/**
 * SQL: an operator has stopped the channel `c`, its organisation, its network or everything, or has not resumed a
 * restored backup.
 */
export const isPaused = sql`(
  c.paused_at is not null or ${isSuspended}
  or exists (select from networks n where n.name = c.network and n.paused_at is not null)
  or ${isStopped})`

/** SQL: the channel `c` is free to send what is due. `n` is the row of its network, if there is one. */
export const isFree = sql`(
  (c.paused_until is null or c.paused_until <= now()) and c.paused_at is null and n.paused_at is null
  and not ${isSuspended} and ${underWayOn(sql`c.id`)} is null)`

/** What operators have paused for an organisation. `networks` and `channels` are names, both empty if all is paused. */
export type Pause = { since: string; networks: string[]; channels: string[] }

/** The pauses that stop posts of an organisation, as one, or null. A network counts if the organisation has a channel there. */
export async function pauseOf(db: Tx, organisationId: string): Promise<Pause | null> {
  const [row] = await db.execute<{ since: string | null; networks: string[]; channels: string[] }>(sql`
    with own as materialized (
      select name, network, paused_at from channels where organisation_id = ${organisationId} and status <> 'disconnected'
    ), everything as (
      select least(paused_at, restored_at) as since from installation where paused_at is not null or restored_at is not null
    ), paused as (
      select n.paused_at as since, n.name as network, null as channel from networks n
      where n.paused_at is not null and n.name in (select network from own)
      union all select o.paused_at, null, o.name from own o where o.paused_at is not null
    )
    select coalesce((select since from everything), (select min(since) from paused)) as since,
      array(select network from paused where network is not null and not exists (select from everything) order by 1) as networks,
      array(select channel from paused where channel is not null and not exists (select from everything) order by 1) as channels`)
  return row?.since ? { ...row, since: iso(row.since) } : null
}

/** Stop sending within `reach`. If it is paused already, it keeps its pause time. Returns the pause time. */
export async function pause(tx: Tx, reach: Reach): Promise<Date> {
  const [row] = await tx.execute<{ since: string }>(pausing(reach))
  return new Date(row!.since)
}

function pausing(reach: Reach): SQL {
  if (reach.scope === 'all')
    return sql`update installation set paused_at = coalesce(paused_at, now()) returning paused_at as since`
  if (reach.scope === 'network')
    return sql`
      insert into networks (name, paused_at) values (${reach.name}, now())
      on conflict (name) do update set paused_at = coalesce(networks.paused_at, excluded.paused_at) returning paused_at as since`
  return sql`update channels set paused_at = coalesce(paused_at, now()) where id = ${reach.id} returning paused_at as since`
}

/**
 * Send within `reach` again, and wake what is due there. `all` also resumes after a restored backup. Narrower pauses
 * stay. Returns how many channels have something due.
 */
export async function resume(tx: Tx, reach: Reach): Promise<number> {
  if (reach.scope === 'all') await tx.execute(sql`update installation set paused_at = null, restored_at = null`)
  else if (reach.scope === 'network')
    await tx.execute(sql`update networks set paused_at = null where name = ${reach.name}`)
  else await tx.execute(sql`update channels set paused_at = null where id = ${reach.id}`)
  return wakeDue(tx, within(reach))
}

/** Let all workers together send at most `atOnce` posts to a network at the same time. Null: no cap. */
export async function limit(tx: Tx, network: string, atOnce: number | null): Promise<void> {
  await tx.execute(sql`
    insert into networks (name, at_once) values (${network}, ${atOnce})
    on conflict (name) do update set at_once = excluded.at_once`)
  await wakeDue(tx, within({ scope: 'network', name: network }))
}

/**
 * Wake what is due on the channels `c` that `which` (SQL) selects: the wake-ups of what became due meanwhile are used
 * up. Returns how many channels.
 */
export async function wakeDue(tx: Tx, which: SQL): Promise<number> {
  const due = await tx.execute<{ channelId: string }>(sql`
    select distinct d.channel_id as "channelId" from deliveries d join channels c on c.id = d.channel_id
    where d.state = 'scheduled' and d.ready_at <= now() and ${which}`)
  await wakeChannels(
    tx,
    [...due].map(({ channelId }) => channelId),
  )
  return due.length
}

function within(reach: Reach): SQL {
  if (reach.scope === 'all') return sql`true`
  return reach.scope === 'network' ? sql`c.network = ${reach.name}` : sql`c.id = ${reach.id}`
}
