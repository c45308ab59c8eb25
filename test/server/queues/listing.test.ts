import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Actor } from '../../../server/access/credentials.ts'
import { aHouse } from '../house.ts'
import { apiAs, expectProblem, faultsOf, memberWith, webWithChannel } from '../web.ts'
import { aQueue, queuePost } from './queue-calls.ts'

const w = webWithChannel()
beforeEach(() => w.db.execute(sql`delete from posts`) as Promise<unknown>)
beforeEach(() => w.db.execute(sql`delete from queues`) as Promise<unknown>)

const contentsOf = async (query: string) => {
  const { status, json, text } = await w.call('GET', `/posts?order=asc&${query}`)
  expect(status, text).toBe(200)
  return json.data.map(({ content }: Post) => content)
}

async function twoQueues() {
  const other = await w.channel()
  const queue = await aQueue(w, { channelIds: [w.channelId, other] })
  const evenings = await aQueue(w, { name: 'Evenings' })
  const post = async (content: string, wanted: object = {}) =>
    (await queuePost(w, { content, queueId: queue.id, ...wanted })).json as Post
  const posts = [await post('one', { tags: ['t'] }), await post('two', { channelIds: [other] }), await post('three')]
  await post('evening', { queueId: evenings.id })
  const plain = { type: 'draft', content: 'in no queue', channelIds: [w.channelId] }
  await w.call('POST', '/posts', { json: plain })
  return { queue, evenings, other, posts }
}

test('posts are listed by their queue, together with the other filters', async () => {
  const { queue, evenings, other, posts } = await twoQueues()
  expect(await contentsOf(`queueId=${queue.id}`)).toEqual(['one', 'two', 'three'])
  expect(await contentsOf(`queueId=${queue.id.toUpperCase()}&sort=updatedAt`)).toEqual(['one', 'two', 'three'])
  expect(await contentsOf(`queueId=${evenings.id}`)).toEqual(['evening'])
  expect(await contentsOf(`queueId=${queue.id}&channelId=${other}`)).toEqual(['two'])
  expect(await contentsOf(`queueId=${queue.id}&tag=t`)).toEqual(['one'])
  expect(await contentsOf(`queueId=${queue.id}&from=${posts[1]!.date}`)).toEqual(['two', 'three'])
  expect(await contentsOf(`queueId=${queue.id}&status=DRAFT`)).toEqual([])
  await w.db.execute(sql`
    update deliveries set state = 'uncertain', maybe_out = true, prepared = '{}', look_at = now()
    where post_id = ${posts[0]!.id}`)
  expect(await contentsOf(`queueId=${queue.id}&status=PUBLISHING`)).toEqual(['one'])
  expect(await contentsOf(`queueId=${evenings.id}&status=PUBLISHING`)).toEqual([])
})

test('a post that left its queue is not listed there, and one that was cancelled is', async () => {
  const { queue, posts } = await twoQueues()
  await w.call('PATCH', `/posts/${posts[0]!.id}`, { json: { date: '2030-01-01T00:00:30Z' } })
  await w.call('DELETE', `/posts/${posts[1]!.id}`)
  const listed = (await w.call('GET', `/posts?order=asc&queueId=${queue.id}`)).json.data as Post[]
  expect(listed.map(({ content, queueId }) => [content, queueId])).toEqual([
    ['two', queue.id],
    ['three', queue.id],
  ])
})

test('pages of a queue have each post once, and the next one keeps the queue', async () => {
  const { queue } = await twoQueues()
  const first = await w.call('GET', `/posts?order=asc&limit=2&queueId=${queue.id}`)
  expect(first.headers.get('link')).toContain(`queueId=${queue.id}`)
  const cursor = encodeURIComponent(first.json.nextCursor)
  expect(await contentsOf(`limit=2&queueId=${queue.id}&cursor=${cursor}`)).toEqual(['three'])
})

test('a queue that is unknown, malformed or of another organisation has no posts', async () => {
  const { queue } = await twoQueues()
  for (const id of ['no-id', queue.channelIds[0]]) expect(await contentsOf(`queueId=${id}`)).toEqual([])
  const { member } = await aHouse(w)
  const theirs = apiAs(w.installation, member)
  expect((await theirs.posts.list({ queueId: queue.id })).data).toEqual([])
  expect((await theirs.posts.find({ queueId: queue.id })).data).toEqual([])
  expect((await theirs.posts.findableBy()).queues).toEqual([])
  const twice = await w.call('GET', `/posts?queueId=${queue.id}&queueId=${queue.id}`)
  expectProblem(twice, 400, 'invalid_request')
  expect(faultsOf(twice)).toEqual(['queueId repeated'])
})

test('a token of some channels lists only what it may see of a queue', async () => {
  const { queue, other } = await twoQueues()
  const { organisationId } = w
  const app = { kind: 'app', id: queue.id, organisationId, name: 'x', scopes: ['posts:read'], channelIds: [other] }
  const { data } = await apiAs(w.installation, app as unknown as Actor).posts.list({ queueId: queue.id })
  expect(data.map(({ content }) => content)).toEqual(['two'])
})

test('Find posts offers the queues and finds by one', async () => {
  const { queue, evenings } = await twoQueues()
  const api = apiAs(w.installation, await memberWith(w.installation, w))
  expect((await api.posts.findableBy()).queues).toEqual([
    { id: evenings.id, name: 'Evenings' },
    { id: queue.id, name: 'Main' },
  ])
  const found = async (wanted: object) => (await api.posts.find(wanted)).data.map(({ content }) => content)
  expect(await found({ queueId: queue.id })).toEqual(['three', 'two', 'one'])
  expect(await found({ queueId: queue.id, words: 'tw' })).toEqual(['two'])
  expect(await found({ queueId: 'no-id' })).toEqual([])
})
