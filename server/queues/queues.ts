import { and, eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { queues as queuesTable } from '../../db/schema/queues.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { findQueue, freeTimes, lockQueue, type Queue, takenIn } from '../../jobs/queues/queue.ts'
import { inOrder } from '../../jobs/queues/weekly-times.ts'
import type { Actor } from '../access/credentials.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { needs, router } from '../access/trpc.ts'
import { channelsGrantedTo } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import type * as answers from './answers.ts'
import { AddTimes, CreateQueue, ListQueues, MoveWaiting, NextTimes, RemoveTime, Reorder, UpdateQueue } from './forms.ts'
import { type Move, movesOf, moveWaiting, reorderWaiting } from './moves.ts'
import { pauseQueue, resumeQueue } from './pausing.ts'
import {
  type QueueRow,
  queueColumns,
  replaceChannels,
  type ShownQueue,
  showQueue,
  showQueueOf,
  withOwnName,
} from './rows.ts'
import { addTimes, removeTime } from './times.ts'
import { type Waiting, waitingIn } from './waiting.ts'

const QueuesAtMost = 50

export const queues = router({
  list: needs('posts:read')
    .input(ListQueues)
    .query(async ({ ctx: { db, actor }, input: { limit, cursor } }): Promise<Page<ShownQueue>> => {
      const after = positionOf(cursor)
      const rows = await db.execute<QueueRow>(sql`
        select ${queueColumns(actor)} from queues q where q.organisation_id = ${actor.organisationId}
          ${after ? sql`and (q.created_at, q.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
        order by q.created_at, q.id limit ${limit + 1}`)
      return pageOf([...rows], limit, showQueue, ({ createdAt, id }) => [iso(createdAt), id])
    }),

  get: needs('posts:read')
    .input(ById)
    .query(({ ctx: { db, actor }, input: { id } }) => showQueueOf(db, actor, id)),

  create: needs('posts:write')
    .input(CreateQueue)
    .mutation(({ ctx: { db, actor }, input }): Promise<ShownQueue> => {
      requireAllChannels(actor)
      return db.transaction((tx) => createQueue(tx, actor, input))
    }),

  /** Changes of its times move no post that waits in it. */
  update: needs('posts:write')
    .input(UpdateQueue)
    .mutation(({ ctx: { db, actor }, input }): Promise<ShownQueue> => {
      requireAllChannels(actor)
      return db.transaction((tx) => updateQueue(tx, actor, input))
    }),

  /** Add some weekly times. For the page. */
  addTimes: needs('posts:write')
    .input(AddTimes)
    .mutation(({ ctx: { db, actor }, input: { id, times } }) => {
      requireAllChannels(actor)
      return db.transaction(async (tx) =>
        addTimes(tx, actor.organisationId, await lockedQueue(tx, actor.organisationId, id), times),
      )
    }),

  /** Remove a weekly time. For the page. */
  removeTime: needs('posts:write')
    .input(RemoveTime)
    .mutation(({ ctx: { db, actor }, input: { id, time } }) => {
      requireAllChannels(actor)
      return db.transaction(async (tx) =>
        removeTime(tx, actor.organisationId, await lockedQueue(tx, actor.organisationId, id), time),
      )
    }),

  /** Delete a queue. Its posts leave it and keep their dates. */
  remove: needs('posts:write')
    .input(ById)
    .mutation(({ ctx: { db, actor }, input: { id } }) => {
      requireAllChannels(actor)
      return db.transaction((tx) => removeQueue(tx, actor.organisationId, id))
    }),

  /** The next free times. */
  next: needs('posts:read')
    .input(NextTimes)
    .query(
      async ({ ctx: { db, organisationId }, input: { id, limit } }): Promise<z.infer<typeof answers.QueueTimes>> => {
        const queue = await findQueue(db, organisationId, id)
        if (!queue) throw new Failure('not_found')
        const times = freeTimes(queue, await takenIn(db, organisationId, queue), queue.isPaused ? 0 : limit)
        return { dates: times.map((date) => date.toISOString()) }
      },
    ),

  /** The posts that wait in a queue and that the actor may see, in their order. For the page. */
  waiting: needs('posts:read')
    .input(ById)
    .query(({ ctx: { db, actor }, input: { id } }): Promise<Waiting[]> => waitingIn(db, actor, id)),

  /** Give waiting posts another order: they exchange their times. For the page. */
  reorder: needs('posts:write')
    .input(Reorder)
    .mutation(({ ctx: { db, actor }, input: { id, postIds } }) => {
      requireAllChannels(actor)
      return db.transaction(async (tx) =>
        reorderWaiting(tx, actor.organisationId, await lockedQueue(tx, actor.organisationId, id), postIds),
      )
    }),

  /** How waiting posts would move to the weekly times that the queue has now. Empty if none waits at another time. For the page. */
  moves: needs('posts:read')
    .input(ById)
    .query(async ({ ctx: { db, organisationId }, input: { id } }): Promise<Move[]> => {
      const queue = await findQueue(db, organisationId, id)
      if (!queue) throw new Failure('not_found')
      return movesOf(db, organisationId, queue)
    }),

  /** Move them as `moves` has said. Throws `queue_changed` if that would be another move now. For the page. */
  move: needs('posts:write')
    .input(MoveWaiting)
    .mutation(({ ctx: { db, actor }, input: { id, moves } }) => {
      requireAllChannels(actor)
      return db.transaction(async (tx) =>
        moveWaiting(tx, actor.organisationId, await lockedQueue(tx, actor.organisationId, id), moves),
      )
    }),
})

/** Throws `all_channels_required`: a queue can hold posts that a token of some channels may not see. */
function requireAllChannels(actor: Actor): void {
  if (channelsGrantedTo(actor)) throw new Failure('all_channels_required')
}

async function lockedQueue(tx: Tx, organisationId: string, id: string): Promise<Queue> {
  const queue = await lockQueue(tx, organisationId, id)
  if (!queue) throw new Failure('not_found')
  return queue
}

// Comes before the lock of any queue. Without it, two at once could both make a default queue, or exceed the limit.
async function lockQueues(tx: Tx, organisationId: string): Promise<{ count: number }> {
  await tx.execute(sql`select from organisations where id = ${organisationId} for no key update`)
  const [row] = await tx.execute<{ count: number }>(
    sql`select count(*)::int as count from queues where organisation_id = ${organisationId}`,
  )
  return row!
}

async function createQueue(tx: Tx, actor: Actor, input: z.output<typeof CreateQueue>): Promise<ShownQueue> {
  const { organisationId } = actor
  const { name, timeZone, times, channelIds } = input
  const { count } = await lockQueues(tx, organisationId)
  if (count >= QueuesAtMost) throw new Failure('too_many_queues')
  const id = uuidv7()
  const isDefault = input.isDefault ?? count === 0
  if (isDefault) await unsetDefault(tx, organisationId)
  const row = { id, organisationId, name, timeZone, times: inOrder(times), isDefault }
  await withOwnName(() => tx.insert(queuesTable).values(row))
  await replaceChannels(tx, actor, id, channelIds)
  return showQueueOf(tx, actor, id)
}

async function updateQueue(tx: Tx, actor: Actor, input: z.output<typeof UpdateQueue>): Promise<ShownQueue> {
  const { organisationId } = actor
  const { id, name, timeZone, times, channelIds, isDefault, paused } = input
  if (isDefault) await lockQueues(tx, organisationId)
  const queue = await lockedQueue(tx, organisationId, id)
  if (isDefault) await unsetDefault(tx, organisationId)
  const changes = {
    ...(name === undefined ? {} : { name }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(times === undefined ? {} : { times: inOrder(times) }),
    ...(isDefault ? { isDefault } : {}),
  }
  const isIt = and(eq(queuesTable.id, id), eq(queuesTable.organisationId, organisationId))
  if (Object.keys(changes).length > 0) await withOwnName(() => tx.update(queuesTable).set(changes).where(isIt))
  if (channelIds) await replaceChannels(tx, actor, id, channelIds)
  const changed = { ...queue, ...changes }
  if (paused === true && !queue.isPaused) await pauseQueue(tx, organisationId, changed)
  if (paused === false && queue.isPaused) await resumeQueue(tx, actor, changed)
  return showQueueOf(tx, actor, id)
}

async function unsetDefault(tx: Tx, organisationId: string): Promise<void> {
  await tx
    .update(queuesTable)
    .set({ isDefault: false })
    .where(and(eq(queuesTable.organisationId, organisationId), queuesTable.isDefault))
}

async function removeQueue(tx: Tx, organisationId: string, id: string): Promise<void> {
  const { count } = await lockQueues(tx, organisationId)
  const isIt = and(eq(queuesTable.id, id), eq(queuesTable.organisationId, organisationId))
  const [queue] = await tx.select().from(queuesTable).where(isIt).for('update')
  if (!queue) throw new Failure('not_found')
  if (queue.isDefault && count > 1) throw new Failure('queue_is_default')
  const isOfQueue = sql`queue_id = ${id} and organisation_id = ${organisationId}`
  await tx.execute(sql`select id from posts where ${isOfQueue} order by id for no key update`)
  await tx.execute(sql`update posts set queue_id = null, queue_date = null where ${isOfQueue}`)
  await tx.delete(queuesTable).where(isIt)
}
