import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import type { Api } from '../../../server/router.ts'
import { apiAs, failureOf, memberWith, webWithChannel } from '../web.ts'
import { aQueue, queuePost } from './queue-calls.ts'

const w = webWithChannel()
let queues: Api['queues']
let id: string
let posts: { id: string; date: string; version: number }[]
beforeEach(async () => {
  await w.db.execute(sql`delete from posts`)
  await w.db.execute(sql`delete from queues`)
  queues = apiAs(w.installation, await memberWith(w.installation, w)).queues
  id = (await aQueue(w)).id
  posts = []
  for (let i = 0; i < 4; i++) posts.push((await queuePost(w, { content: `post ${i}` })).json)
})

const ids = (...places: number[]) => places.map((place) => posts[place]!.id)
const waiting = async () => (await queues.waiting({ id })).map((post) => post.id)

async function expectSound(): Promise<void> {
  const broken = (await w.db.transaction((tx) => checkInvariants(tx))).filter((one) => one.broken > 0)
  expect(broken).toEqual([])
  const [row] = await w.db.execute<{ count: number }>(sql`
    select count(*)::int as count from posts p join deliveries d on d.post_id = p.id
    where p.queue_id = ${id} and (d.due_at is distinct from p.date or p.queue_date is distinct from p.date)`)
  expect(row!.count).toBe(0)
}

test('reordered posts exchange their times, and a post that keeps its time is not changed', async () => {
  await queues.reorder({ id, postIds: ids(2, 1, 0) })
  expect(await waiting()).toEqual(ids(2, 1, 0, 3))
  const after = await Promise.all(posts.map(async ({ id }) => (await w.call('GET', `/posts/${id}`)).json))
  expect(after.map(({ date }) => date)).toEqual([2, 1, 0, 3].map((place) => posts[place]!.date))
  expect(after.map(({ version }, i) => version - posts[i]!.version)).toEqual([1, 0, 1, 0])
  await expectSound()
})

test('the drafts of a paused queue are reordered too, and resumed in their new order', async () => {
  await queues.update({ id, paused: true })
  await queues.reorder({ id, postIds: ids(3, 2, 1, 0) })
  await queues.update({ id, paused: false })
  expect(await waiting()).toEqual(ids(3, 2, 1, 0))
  await expectSound()
})

test('a post that does not wait any more, or is named twice, is not reordered', async () => {
  await w.call('DELETE', `/posts/${posts[1]!.id}`)
  expect(await failureOf(queues.reorder({ id, postIds: ids(1, 0) }))).toBe('queue_changed')
  expect(await failureOf(queues.reorder({ id, postIds: ids(2, 0, 2) }))).toBe('queue_changed')
  expect(await waiting()).toEqual(ids(0, 2, 3))
})

test('two reorders and a new post at once leave every post its own time', async () => {
  const reorders = Array.from({ length: 10 }, (_, i) =>
    failureOf(queues.reorder({ id, postIds: i % 2 ? ids(3, 2, 1, 0) : ids(1, 0, 3, 2) })),
  )
  const takers = Array.from({ length: 10 }, () => queuePost(w))
  expect(await Promise.all(reorders)).toEqual(reorders.map(() => 'done'))
  expect((await Promise.all(takers)).map(({ status }) => status)).toEqual(takers.map(() => 201))
  expect(await waiting()).toHaveLength(14)
  await expectSound()
})

test('new weekly times move waiting posts only as the person has seen it', async () => {
  expect(await queues.moves({ id })).toEqual([])
  await queues.update({ id, times: [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, time: '00:07' })) })
  const seen = await queues.moves({ id })
  expect(seen.map(({ postId, from }) => [postId, from])).toEqual(posts.map((post) => [post.id, post.date]))
  const moves = seen.map(({ postId, date }) => ({ postId, date }))
  expect(await failureOf(queues.move({ id, moves: moves.slice(1) }))).toBe('queue_changed')
  expect((await queues.waiting({ id })).map(({ date }) => date)).toEqual(posts.map(({ date }) => date))

  await queues.move({ id, moves })

  expect((await queues.waiting({ id })).map(({ id, date }) => ({ postId: id, date }))).toEqual(moves)
  expect(await queues.moves({ id })).toEqual([])
  expect(await failureOf(queues.move({ id, moves }))).toBe('queue_changed')
  await expectSound()
})
