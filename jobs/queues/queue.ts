import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { WeeklyTime } from '../../db/schema/queues.ts'
import { isQueued } from '../ledger/post-view.ts'
import { nextTimes } from './weekly-times.ts'

// A queue's times, and which of them are taken. Code that takes a time holds the queue's lock until the end of the
// transaction, so two at once get two times. The order of locks is queue, channel, post, deliveries.

/** The facts that decide a queue's next time. */
export type Queue = { id: string; timeZone: string; times: WeeklyTime[]; isPaused: boolean }

/** The taken times of a queue, and the connected channels that its posts can go to. */
export type Taken = { now: Date; dates: string[]; channelIds: string[] }

/** The organisation's queue of this id, or its default queue. Null: there is none. */
export function findQueue(tx: Tx, organisationId: string, id: string | null): Promise<Queue | null> {
  return readQueue(tx, organisationId, id, sql``)
}

/** The same, locked until the end of the transaction. */
export function lockQueue(tx: Tx, organisationId: string, id: string | null): Promise<Queue | null> {
  return readQueue(tx, organisationId, id, sql`for no key update`)
}

/**
 * The same, with the taken times. Both statements are sent at once, because others wait for the lock. The second one
 * starts after the wait, so it sees the times that were taken meanwhile. A statement that waits itself does not.
 */
export async function lockToTake(tx: Tx, organisationId: string, id: string | null) {
  const take = async () => {
    const [queue, taken] = await Promise.all([lockQueue(tx, organisationId, id), takenOf(tx, organisationId, id)])
    return queue && taken && { queue, taken }
  }
  // While the first waited for the default queue, another one may have become the default.
  return (await take()) ?? (id === null ? take() : null)
}

/** SQL: the post `p` takes a time of its queue. */
export const takesTime = sql`(${isQueued} and p.told <> 'CANCELLED')`

function isIt(organisationId: string, id: string | null): SQL {
  return sql`q.organisation_id = ${organisationId} and ${id === null ? sql`q.is_default` : sql`q.id = ${id}`}`
}

async function readQueue(tx: Tx, organisationId: string, id: string | null, lock: SQL): Promise<Queue | null> {
  const [row] = await tx.execute<Queue>(sql`
    select q.id, q.time_zone as "timeZone", q.times, q.paused_at is not null as "isPaused" from queues q
    where ${isIt(organisationId, id)} ${lock}`)
  return row ?? null
}

async function takenOf(tx: Tx, organisationId: string, id: string | null): Promise<Taken | null> {
  const [row] = await tx.execute<Omit<Taken, 'now'> & { now: string }>(sql`
    select clock_timestamp()::timestamptz(3) as now,
      (select coalesce(json_agg(p.date), '[]') from posts p
        where p.queue_id = q.id and p.organisation_id = q.organisation_id
          and ${takesTime} and p.date > now()) as dates,
      (select coalesce(json_agg(c.id), '[]') from queue_channels qc join channels c on c.id = qc.channel_id
        where qc.queue_id = q.id and qc.organisation_id = q.organisation_id and c.status <> 'disconnected') as "channelIds"
    from queues q where ${isIt(organisationId, id)}`)
  return row ? { ...row, now: new Date(row.now) } : null
}

/** The taken times of a queue. A caller that takes times has locked the queue before. */
export async function takenIn(tx: Tx, organisationId: string, { id }: Queue): Promise<Taken> {
  return (await takenOf(tx, organisationId, id)) ?? { now: new Date(), dates: [], channelIds: [] } // it was just deleted
}

/** The next `count` free times of a queue, fewer if there are no more in the next five years. */
export function freeTimes(queue: Queue, { now, dates }: Taken, count: number): Date[] {
  return nextTimes(queue, now, count, new Set(dates.map((date) => new Date(date).getTime())))
}
