import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idempotencyKeys } from '../../../db/schema/api.ts'
import { posts } from '../../../db/schema/posts.ts'
import { anOrganisation } from '../../builders.ts'
import { type Answer, type Beside, callApi, expectProblem, faultsOf, openBeside, openWeb, type Web } from '../web.ts'

let w: Web
let other: Beside
let channelId: string
beforeAll(async () => {
  w = await openWeb()
  other = await openBeside(w)
  channelId = await w.channel()
})
afterAll(async () => {
  await other.end()
  await w.end()
})

const body = () => ({ type: 'draft', content: 'hello', channelIds: [channelId] })
const create = (idempotencyKey: string, json: unknown, key = w.key) =>
  w.call('POST', '/posts', { key, json, headers: { 'idempotency-key': idempotencyKey } })
const countOf = async () => (await w.db.select({ id: posts.id }).from(posts)).length
const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

test('the same key and body again gets the first answer, status, Location and body, and makes nothing', async () => {
  const first = await create('same', body())
  const count = await countOf()
  const again = await create('same', body())
  expect([first.status, again.status]).toEqual([201, 201])
  expect(again.text).toBe(first.text)
  for (const name of ['location', 'etag']) expect(again.headers.get(name)).toBe(first.headers.get(name))
  expect([isReplay(first), isReplay(again)]).toEqual([false, true])
  expect(await countOf()).toBe(count)
})

test('the first answer is replayed unchanged after the post changed', async () => {
  const first = await create('gone', body())
  await w.call('DELETE', `/posts/${first.json.id}`)
  expect((await create('gone', body())).text).toBe(first.text)
})

test('another body under the same key is 422, even by one byte', async () => {
  await create('once', body())
  expectProblem(await create('once', { ...body(), content: 'hello!' }), 422, 'idempotency_key_reused')
})

test('a failure frees the key: the mended body passes under it', async () => {
  const refused = await create('mended', { ...body(), channelIds: ['x'] })
  expect(faultsOf(refused)).toEqual(['channelIds[0] channel_not_found'])
  expect(await create('mended', body())).toMatchObject({ status: 201 })
})

test('another organisation may use the same key, and a request without one is never a replay', async () => {
  const first = await create('shared', body())
  const stranger = await anOrganisation(w.db)
  const theirs = await create('shared', { type: 'draft', content: '', channelIds: [] }, stranger.key)
  expect([theirs.status, isReplay(theirs)]).toEqual([201, false])
  const without = await w.call('POST', '/posts', { json: body() })
  expect(without.json.id).not.toBe(first.json.id)
})

test('a key is forgotten after 24 hours', async () => {
  const first = await create('old', body())
  await w.db.update(idempotencyKeys).set({ createdAt: sql`now() - interval '24 hours 1 second'` })
  const later = await create('old', { ...body(), content: 'another' })
  expect([later.status, isReplay(later)]).toEqual([201, false])
  expect(later.json.id).not.toBe(first.json.id)
})

test('50 requests at once with one key over two processes make one post, and get its answer or 409', async () => {
  for (const key of ['crowd 1', 'crowd 2', 'crowd 3']) {
    const count = await countOf()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        callApi(i % 2 ? w.site.appUrl : other.site.appUrl, 'POST', '/posts', {
          ...{ key: w.key, json: body(), headers: { 'idempotency-key': key } },
        }),
      ),
    )
    const made = answers.filter(({ status }) => status === 201)
    const busy = answers.filter(({ status }) => status !== 201)
    expect(made.filter((answer) => !isReplay(answer))).toHaveLength(1)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const answer of busy) {
      expect(answer).toMatchObject({ status: 409, json: { code: 'idempotency_key_in_use' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await countOf()).toBe(count + 1)
    expect((await create(key, body())).text).toBe(made[0]!.text)
  }
})
