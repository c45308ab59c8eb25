import type { Tx } from '../../db/client.ts'
import { type Queue, takenIn } from '../../jobs/queues/queue.ts'
import { freeTimesOf, lockWaiting, placeAt, readWaiting, type WaitingPost } from '../../jobs/queues/waiting.ts'
import { nextTimes, timesAfter } from '../../jobs/queues/weekly-times.ts'
import { Failure } from '../errors.ts'

/** A waiting post that would get another time: `from` is the one that it has, `date` the new one. */
export type Move = { postId: string; from: string; date: string }

/**
 * How the waiting posts of a queue would move to the weekly times that it has now: in their order, to its next times.
 * Empty if each waits at one of these times.
 */
export async function movesOf(tx: Tx, organisationId: string, queue: Queue): Promise<Move[]> {
  if (queue.isPaused || queue.times.length === 0) return []
  return movesFor(tx, organisationId, queue, await readWaiting(tx, { organisationId, queueId: queue.id }, 'scheduled'))
}

async function movesFor(tx: Tx, organisationId: string, queue: Queue, all: WaitingPost[]): Promise<Move[]> {
  const { now } = await takenIn(tx, organisationId, queue)
  const waiting = all.filter(({ date }) => date > now)
  if (areRegular(queue, now, waiting)) return []
  const times = nextTimes(queue, now, waiting.length)
  return waiting.flatMap(({ postId, date }, i) => {
    const to = times[i]
    if (!to || to.getTime() === date.getTime()) return []
    return [{ postId, from: date.toISOString(), date: to.toISOString() }]
  })
}

// Whether each of them waits at one of the queue's weekly times. `waiting` is in order.
function areRegular(queue: Queue, now: Date, waiting: WaitingPost[]): boolean {
  const left = waiting.map(({ date }) => date.getTime())
  for (const time of timesAfter(queue, now)) {
    if (left[0] === time.getTime()) left.shift()
    if (left[0] === undefined) return true
    if (left[0] < time.getTime()) return false
  }
  return left.length === 0
}

/** Move the waiting posts of a locked queue. Throws `queue_changed` unless `movesOf` says the same now. */
export async function moveWaiting(
  tx: Tx,
  organisationId: string,
  queue: Queue,
  wanted: { postId: string; date: Date }[],
): Promise<void> {
  const theirs = { organisationId, queueId: queue.id }
  const waiting = await lockWaiting(tx, theirs, 'scheduled')
  const moves = await movesFor(tx, organisationId, queue, waiting)
  const isSame =
    moves.length === wanted.length &&
    moves.every(({ postId, date }, i) => postId === wanted[i]!.postId && date === wanted[i]!.date.toISOString())
  if (!isSame) throw new Failure('queue_changed')
  await freeTimesOf(
    tx,
    theirs,
    wanted.map(({ postId }) => postId),
  )
  await placeAt(tx, theirs, wanted, { schedules: false })
}

/**
 * Give waiting posts of a locked queue this order. They exchange their times; others keep theirs. Throws
 * `queue_changed` if one of them does not wait any more.
 */
export async function reorderWaiting(tx: Tx, organisationId: string, queue: Queue, postIds: string[]): Promise<void> {
  const theirs = { organisationId, queueId: queue.id }
  const all = await lockWaiting(tx, theirs, queue.isPaused ? 'draft' : 'scheduled')
  const { now } = await takenIn(tx, organisationId, queue)
  const named = new Set(postIds)
  const movable = all.filter(({ postId, date }) => named.has(postId) && (queue.isPaused || date > now))
  if (movable.length !== postIds.length) throw new Failure('queue_changed')
  const placed = postIds
    .map((postId, i) => ({ postId, date: movable[i]!.date }))
    .filter(({ postId }, i) => movable[i]!.postId !== postId)
  await freeTimesOf(
    tx,
    theirs,
    placed.map(({ postId }) => postId),
  )
  await placeAt(tx, theirs, placed, { schedules: false })
}
