import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import {
  findQueue,
  freeTimes,
  lockToTake,
  type Queue,
  type Taken,
  takenIn,
  takesTime,
} from '../../jobs/queues/queue.ts'
import { isTimeOf } from '../../jobs/queues/weekly-times.ts'
import type { Viewer } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'

// How a post takes the next free time of a queue. For other posts, this makes no statement.

type QueueRequest = { type?: string | undefined; queueId?: string | undefined; id?: string }

/** A queue with its taken times. `from` null: the organisation has no such queue. */
export type Taking = { from: { queue: Queue; taken: Taken } | null }

/** Lock the queue of a request of the type `queue`. Call this before anything else is locked. Null for other types. */
export async function lockQueueOf(tx: Tx, { organisationId }: Viewer, input: QueueRequest): Promise<Taking | null> {
  if (input.type !== 'queue') return null
  const id = input.queueId ?? (input.id ? await queueOfDraft(tx, organisationId, input.id) : null)
  return { from: await lockToTake(tx, organisationId, id) }
}

// A draft of a paused queue goes back into its own queue.
async function queueOfDraft(tx: Tx, organisationId: string, postId: string): Promise<string | null> {
  const [row] = await tx.execute<{ queueId: string | null }>(
    sql`select queue_id as "queueId" from posts where id = ${postId} and organisation_id = ${organisationId}`,
  )
  return row?.queueId ?? null
}

/** The time that a post gets, or `faults`: why it gets none. */
export type Place = { queueId: string | null; date: Date | null; faults: KnownFault[] }

/** The next free time of the queue for a post on `channelIds`. */
export function placeIn({ from }: Taking, channelIds: string[]): Place {
  const none = (code: KnownFault['code'], message: string): Place => ({
    queueId: null,
    date: null,
    faults: [{ path: 'queueId', code, message }],
  })
  if (!from) return none('queue_not_found', 'Queue not found in this organisation.')
  const { queue, taken } = from
  if (queue.isPaused) return none('queue_paused', 'This queue is paused. Resume it first.')
  if (queue.times.length === 0) return none('queue_has_no_times', 'This queue has no times. Add some first.')
  const [date] = freeTimes(queue, taken, 1)
  if (!date) return none('queue_full', 'This queue has no free time in the next 5 years.')
  return { queueId: queue.id, date, faults: outsideQueue(channelIds, taken.channelIds) }
}

/** The same for a check, which locks nothing. Null for requests of other types. */
export async function placeFor(
  tx: Tx,
  who: Viewer,
  input: QueueRequest & { channelIds: string[] },
): Promise<Place | null> {
  if (input.type !== 'queue') return null
  const queue = await findQueue(tx, who.organisationId, input.queueId ?? null)
  return placeIn({ from: queue && { queue, taken: await takenIn(tx, who.organisationId, queue) } }, input.channelIds)
}

function outsideQueue(channelIds: string[], ofQueue: string[]): KnownFault[] {
  return channelIds.flatMap((id, index) =>
    ofQueue.includes(id)
      ? []
      : [{ path: `channelIds[${index}]`, code: 'channel_not_in_queue', message: 'This channel is not in the queue.' }],
  )
}

type Dated = { id: string; type: Post['type']; date: Date | null; channelIds: string[] }

/**
 * The id of a queue that a post joins with its date. Null: the date is no free time of the queue, or a channel is not in
 * the queue. A paused queue has only drafts, and others have none. The caller has locked the queue.
 */
export async function joinedQueue(
  tx: Tx,
  { organisationId }: Viewer,
  { from }: Taking,
  post: Dated,
): Promise<string | null> {
  if (!from || post.date === null || from.queue.isPaused !== (post.type === 'draft')) return null
  if (!isTimeOf(from.queue, post.date) || outsideQueue(post.channelIds, from.taken.channelIds).length > 0) return null
  const [other] = await tx.execute(sql`
    select from posts p where p.queue_id = ${from.queue.id} and p.organisation_id = ${organisationId}
      and ${takesTime} and p.date = ${post.date.toISOString()} and p.id <> ${post.id} limit 1`)
  return other ? null : from.queue.id
}

/** Throws `unprocessable` if a post that stays in its queue gets a channel that the queue does not have. */
export async function requireInQueue(
  tx: Tx,
  { organisationId }: Viewer,
  { queueId, channelIds: before }: Pick<Post, 'queueId' | 'channelIds'>,
  channelIds: string[],
): Promise<void> {
  if (queueId === null || channelIds.every((id) => before.includes(id))) return
  const queue = await findQueue(tx, organisationId, queueId)
  if (!queue) return
  const { channelIds: ofQueue } = await takenIn(tx, organisationId, queue)
  const errors = outsideQueue(channelIds, [...ofQueue, ...before])
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
}
