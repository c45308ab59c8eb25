import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { isSameDatabase } from './database-identity.ts'
import { underWayOn } from './under-way.ts'
import { wakeChannels } from './wake-ups.ts'

// What operators stop and start. Claim and intend look at these columns; what is being sent at that moment still ends.

/** Everything, one network by its key, or one channel by its id. */
export type Reach = { scope: 'all' } | { scope: 'network'; name: string } | { scope: 'channel'; id: string }

/** SQL: nothing is claimed or intended in the whole installation. Also where a restored backup was not noticed yet. */
export const isStopped = sql`(
  not exists (select from installation i where i.paused_at is null and i.restored_at is null and ${isSameDatabase}))`

/**
 * SQL: an operator has suspended the organisation of the channel `c` (jobs/ledger/suspension.ts). Those few are read once a statement,
 * from an index of them alone, and not once a channel.
 */
export const isSuspended = sql`(c.organisation_id in (select o.id from organisations o where o.suspended_at is not null))`

/** SQL: an operator has stopped the channel `c`, its organisation, its network or everything, or what was restored is not resumed. */
export const isPaused = sql`(
  c.paused_at is not null or ${isSuspended}
  or exists (select from networks n where n.name = c.network and n.paused_at is not null)
  or ${isStopped})`

/** SQL: the channel `c`, whose network is `n` if it has a row, could take what is due. */
export const isFree = sql`(
  (c.paused_until is null or c.paused_until <= now()) and c.paused_at is null and n.paused_at is null
  and not ${isSuspended} and ${underWayOn(sql`c.id`)} is null)`

/** Stop sending within `reach`; one that is paused already stays so since then. Returns since when. */
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
 * Send within `reach` again, and wake what is due there. Everything: also after a restored backup. Narrower pauses stay.
 * Returns how many channels have something due.
 */
export async function resume(tx: Tx, reach: Reach): Promise<number> {
  if (reach.scope === 'all') await tx.execute(sql`update installation set paused_at = null, restored_at = null`)
  else if (reach.scope === 'network')
    await tx.execute(sql`update networks set paused_at = null where name = ${reach.name}`)
  else await tx.execute(sql`update channels set paused_at = null where id = ${reach.id}`)
  return wakeDue(tx, within(reach))
}

/** Let all workers together send at most `atOnce` posts to a network at the same time; null: as many as they can. */
export async function limit(tx: Tx, network: string, atOnce: number | null): Promise<void> {
  await tx.execute(sql`
    insert into networks (name, at_once) values (${network}, ${atOnce})
    on conflict (name) do update set at_once = excluded.at_once`)
  await wakeDue(tx, within({ scope: 'network', name: network }))
}

/** Wake what is due on the channels `c` that `which` (SQL) chooses: the wake-ups of what became due meanwhile are used up. Returns on how many. */
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
