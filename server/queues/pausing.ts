import { setImmediate } from 'node:timers/promises'
import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { queues } from '../../db/schema/queues.ts'
import { type Post, type PostRow, postColumns, postView, showPost } from '../../jobs/ledger/post-view.ts'
import { freeTimes, type Queue, takenIn } from '../../jobs/queues/queue.ts'
import { freeTimesOf, leaveQueue, lockWaiting, makeDrafts, placeAt } from '../../jobs/queues/waiting.ts'
import type { Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import { loadPostContext, validatePost } from '../posts/post-checks.ts'

/** Pause a queue that the caller has locked: its unsent posts become drafts, in their order. */
export async function pauseQueue(tx: Tx, organisationId: string, { id }: Queue): Promise<void> {
  await tx.update(queues).set({ pausedAt: sql`now()` }).where(isIt(organisationId, id))
  const theirs = { organisationId, queueId: id }
  const waiting = await lockWaiting(tx, theirs, 'scheduled')
  await makeDrafts(
    tx,
    theirs,
    waiting.map(({ postId }) => postId),
  )
}

/**
 * Resume a queue that the caller has locked: its drafts get its next free times, in their order. A draft that can't be
 * scheduled, because it was changed meanwhile, stays a draft and leaves the queue. Throws `unprocessable` if the queue
 * has no times for them.
 */
export async function resumeQueue(tx: Tx, who: Viewer, queue: Queue): Promise<void> {
  const { organisationId } = who
  const theirs = { organisationId, queueId: queue.id }
  await tx.update(queues).set({ pausedAt: null }).where(isIt(organisationId, queue.id))
  const waiting = await lockWaiting(tx, theirs, 'draft')
  const postIds = waiting.map(({ postId }) => postId)
  if (postIds.length > 0 && queue.times.length === 0) throw noTimes()
  const ready = await thoseReady(tx, who, postIds)
  await freeTimesOf(tx, theirs, postIds)
  const times = freeTimes(queue, await takenIn(tx, organisationId, queue), ready.length)
  const placed = times.map((date, i) => ({ postId: ready[i]!, date }))
  await placeAt(tx, theirs, placed, { schedules: true })
  const placedIds = new Set(ready.slice(0, times.length))
  await leaveQueue(
    tx,
    theirs,
    postIds.filter((id) => !placedIds.has(id)),
  )
}

function isIt(organisationId: string, id: string) {
  return sql`${eq(queues.id, id)} and ${eq(queues.organisationId, organisationId)}`
}

function noTimes(): Failure {
  const message = 'This queue has no times for its posts. Add some first.'
  return new Failure('unprocessable', { errors: [{ path: 'paused', code: 'queue_has_no_times', message }] })
}

const CheckedAtOnce = 50 // texts may be long, and a queue may have thousands of posts

// A channel that needs a reconnect only holds its posts. Other requests are served between two posts.
async function thoseReady(tx: Tx, who: Viewer, postIds: string[]): Promise<string[]> {
  const ready: string[] = []
  for (let at = 0; at < postIds.length; at += CheckedAtOnce) {
    const posts = await readPosts(tx, who, postIds.slice(at, at + CheckedAtOnce))
    const facts = await loadPostContext(tx, who, {
      content: '',
      date: null,
      channelIds: [...new Set(posts.flatMap(({ channelIds }) => channelIds))],
      mediaIds: [...new Set(posts.flatMap(({ mediaIds }) => mediaIds))],
      overrides: posts.flatMap(({ overrides }) => overrides),
      tags: [],
    })
    for (const post of posts) {
      const unchanged = { date: true, onChannels: post.channelIds, published: [] }
      const isReady = post.channelIds.length > 0 && validatePost({ ...post, date: null }, facts, unchanged).length === 0
      if (isReady) ready.push(post.id)
      await setImmediate()
    }
  }
  return ready
}

// In the order of their ids in the list.
async function readPosts(tx: Tx, { organisationId }: Viewer, ids: string[]): Promise<Post[]> {
  const rows = await tx.execute<PostRow>(sql`
    select ${postColumns} from posts p, ${postView}
    where p.organisation_id = ${organisationId} and p.id = any(${sql.param(ids)}::uuid[])
    order by array_position(${sql.param(ids)}::uuid[], p.id)`)
  return [...rows].map(showPost)
}
