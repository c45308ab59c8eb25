import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import type { DeliveryError } from '../db/schema.ts'
import { endAttempt, json, leaseCleared, ms, preparedCleared } from './ledger.ts'
import type { Networks } from './networks/registry.ts'
import { isGone } from './presence.ts'
import { heldJobs, renewJobs, wakeAtDue, wakeChannel, wakeLook } from './queue.ts'
import type { Times } from './times.ts'

const ChannelsPerTick = 500

/** What one tick took from dead workers and woke, by delivery or channel id. */
export type Reaped = { rescheduled: number; uncertain: number; woken: number }

/**
 * Give a dead worker's deliveries to the living, and wake what has lost its wake-up. Safe at any time, in any number of processes.
 *
 * A worker is dead when its advisory lock is free (the process is gone) or a lease of it is over (its host is). Within
 * `graceMs` of PostgreSQL's own start every lock is free and proves nothing, so nothing is taken.
 */
export async function reap(db: Db, times: Times, networks: Networks): Promise<Reaped> {
  const dead = await deadOwners(db)
  const rescheduled = await takeClaimed(db, times, dead)
  const uncertain = await takeSending(db, times, networks, dead)
  const stuck = (await heldJobs(db)).filter(({ owner }) => dead.includes(owner))
  await renewJobs(
    db,
    stuck.map(({ key }) => key),
  )
  const woken = await wakeForgotten(db, times)
  await eraseCredentials(db)
  return { rescheduled, uncertain, woken }
}

async function deadOwners(db: Db): Promise<string[]> {
  const holders = new Set((await heldJobs(db)).map(({ owner }) => owner))
  const rows = await db.execute<{ owner: string }>(sql`
    select owner from (
      select lease_owner as owner from deliveries where state in ('claimed', 'sending', 'uncertain') and lease_owner is not null
      union select unnest(${sql.param([...holders])}::text[])
    ) owners where ${isGone(sql`owner`)}`)
  return [...rows].map(({ owner }) => owner)
}

const isAbandoned = (dead: string[], { graceAfterRestartMs }: Times) => sql`
  (d.lease_owner = any(${sql.param(dead)}::text[]) or d.lease_until < now())
  and pg_postmaster_start_time() < now() - ${ms(graceAfterRestartMs)}`

async function takeClaimed(db: Db, times: Times, dead: string[]): Promise<number> {
  return db.transaction(async (tx) => {
    const taken = await tx.execute<{ channelId: string }>(sql`
      with abandoned as (
        select d.id from deliveries d where d.state = 'claimed' and ${isAbandoned(dead, times)} order by d.id for no key update skip locked
      ), settled as (
        update deliveries d set state = 'scheduled', next_attempt_at = null, ${preparedCleared}, ${leaseCleared}
        from abandoned a where d.id = a.id returning d.id, d.attempt_no, d.channel_id
      ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'lost', message: 'Its worker is gone.' })})
      select channel_id as "channelId" from settled`)
    for (const { channelId } of taken) await wakeChannel(tx, channelId)
    return taken.length
  })
}

async function takeSending(db: Db, times: Times, networks: Networks, dead: string[]): Promise<number> {
  const blind = Object.entries(networks).flatMap(([key, { repeatedSend }]) => (repeatedSend === 'blind' ? [key] : []))
  return db.transaction(async (tx) => {
    const taken = await tx.execute<{ id: string }>(sql`
      with abandoned as (
        select d.id, a.intended_at, c.network from deliveries d
        join attempts a on a.delivery_id = d.id and a.no = d.attempt_no join channels c on c.id = d.channel_id
        where d.state = 'sending' and ${isAbandoned(dead, times)} order by d.id for no key update of d skip locked
      ), settled as (
        update deliveries d set
          state = 'uncertain', maybe_out = true, error = ${json(goneError)}, look_token = null, absent_at = null, ${leaseCleared},
          look_at = case when a.network = any(${sql.param(blind)}::text[]) then now()
            else a.intended_at + ${ms(times.sendMs + times.firstLookMs)} end
        from abandoned a where d.id = a.id returning d.id, d.attempt_no
      ), ended as (${endAttempt(sql`settled`, sql`s.attempt_no`, { outcome: 'unknown', message: goneError.message })})
      select id from settled`)
    await wakeLook(
      tx,
      [...taken].map(({ id }) => id),
    )
    return taken.length
  })
}

/** One wake-up for each channel whose head waits too long though it could be claimed; likewise for what nobody looks for. */
async function wakeForgotten(db: Db, times: Times): Promise<number> {
  const heads = await db.execute<{ id: string }>(sql`
    select h.id from (
      select distinct on (d.channel_id) d.id, d.ready_at from deliveries d join channels c on c.id = d.channel_id
      where d.state = 'scheduled' and d.ready_at < now() - ${ms(times.overdueMs)}
        and (c.paused_until is null or c.paused_until < now() - ${ms(times.overdueMs)})
        and not exists (select from deliveries u where u.channel_id = c.id and u.state in ('claimed', 'sending', 'uncertain'))
      order by d.channel_id, d.ready_at
    ) h order by h.ready_at limit ${ChannelsPerTick}`)
  await wakeAtDue(
    db,
    [...heads].map(({ id }) => id),
  )
  const unlooked = await db.execute<{ id: string }>(sql`
    select id from deliveries d where d.state = 'uncertain' and d.look_at < now() - ${ms(times.overdueMs)}
      and (d.look_token is null or d.lease_until < now()) order by d.look_at limit ${ChannelsPerTick}`)
  await wakeLook(
    db,
    [...unlooked].map(({ id }) => id),
  )
  return heads.length + unlooked.length
}

/** A disconnected channel keeps its credential only until the last of its sends is known. */
async function eraseCredentials(db: Db): Promise<void> {
  await db.execute(sql`
    update channels c set credential = null where c.status = 'disconnected' and c.credential is not null
      and not exists (select from deliveries d where d.channel_id = c.id and d.state in ('sending', 'uncertain'))`)
}

const goneError: DeliveryError = {
  code: 'outcome_unknown',
  message: 'The worker that sent it is gone.',
  nextStep: 'We are looking whether it is there.',
}
