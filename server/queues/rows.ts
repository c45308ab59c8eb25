import { type SQL, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { queueChannels } from '../../db/schema/queues.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { reachesChannel, type Viewer } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'
import type * as answers from './answers.ts'

// A queue as rows: itself and its channels.

export type ShownQueue = z.infer<typeof answers.Queue>

/** A row of `select queueColumns from queues q`. */
export type QueueRow = Omit<ShownQueue, 'pausedAt'> & { pausedAt: string | null; createdAt: string }

/** SQL: the columns of QueueRow. A token sees only its own channels. */
export function queueColumns(who: Viewer): SQL {
  return sql`q.id, q.name, q.is_default as "isDefault", q.time_zone as "timeZone", q.times, q.paused_at as "pausedAt",
    q.created_at as "createdAt",
    (select coalesce(json_agg(c.id order by qc.position), '[]') from queue_channels qc join channels c on c.id = qc.channel_id
      where qc.queue_id = q.id and qc.organisation_id = q.organisation_id and c.status <> 'disconnected'
        and ${reachesChannel(who, sql`c.id`)}) as "channelIds"`
}

/** A row as callers see it. */
export function showQueue({ createdAt: _, ...row }: QueueRow): ShownQueue {
  return { ...row, pausedAt: iso(row.pausedAt) }
}

/** A queue of the organisation as callers see it. Throws `not_found`. */
export async function showQueueOf(tx: Tx, who: Viewer, id: string): Promise<ShownQueue> {
  const [row] = await tx.execute<QueueRow>(sql`
    select ${queueColumns(who)} from queues q where q.id = ${id} and q.organisation_id = ${who.organisationId}`)
  if (!row) throw new Failure('not_found')
  return showQueue(row)
}

/** Make `channelIds`, in this order, the channels of a queue. Throws `unprocessable` for those that do not exist. */
export async function replaceChannels(tx: Tx, who: Viewer, queueId: string, channelIds: string[]): Promise<void> {
  const { organisationId } = who
  const found = await tx.execute<{ id: string }>(sql`
    select id from channels where organisation_id = ${organisationId} and status <> 'disconnected'
      and id = any(${sql.param(channelIds)}::uuid[]) order by id for key share`)
  const known = new Set([...found].map(({ id }) => id))
  const errors = channelIds.flatMap((id, i): KnownFault[] =>
    known.has(id)
      ? []
      : [
          {
            path: `channelIds[${i}]`,
            code: 'channel_not_found',
            message: 'Channel not found in this organisation, or it was disconnected.',
          },
        ],
  )
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
  // A disconnected channel was not shown to the caller: it is in the queue again when it is connected again.
  await tx.execute(sql`
    delete from queue_channels qc using channels c
    where qc.queue_id = ${queueId} and qc.organisation_id = ${organisationId}
      and c.id = qc.channel_id and c.status <> 'disconnected'`)
  await tx
    .insert(queueChannels)
    .values(channelIds.map((channelId, position) => ({ organisationId, queueId, channelId, position })))
    // One that is disconnected at this moment kept its row.
    .onConflictDoUpdate({
      target: [queueChannels.queueId, queueChannels.channelId],
      set: { position: sql`excluded.position` },
    })
}

/** Run `change`. Throws `unprocessable` if it gives a queue the name of another one. */
export async function withOwnName<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (cause) {
    if (sqlStateOf(cause) !== '23505') throw cause
    const errors: KnownFault[] = [
      { path: 'name', code: 'name_taken', message: 'Another queue has this name. Choose another one.' },
    ]
    throw new Failure('unprocessable', { errors, cause })
  }
}
