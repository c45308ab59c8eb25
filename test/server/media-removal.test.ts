import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DeliveryState, deliveries } from '../../db/schema.ts'
import { startWorker, until } from '../processes.ts'
import { expectProblem, openWeb, type Web } from './web.ts'

let w: Web
let channelId: string
let photo: Buffer<ArrayBuffer>
beforeAll(async () => {
  w = await openWeb()
  channelId = await w.channel()
  photo = Buffer.from(
    await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer(),
  )
})
afterAll(() => w.end())

const upload = async () => {
  const body = new FormData()
  body.append('file', new Blob([photo]))
  return (await w.call('POST', '/media', { body })).json as { id: string; url: string }
}
const remove = (id: string) => w.call('DELETE', `/media/${id}`)
const make = async (more: object) => {
  const json = { type: 'schedule', date: new Date(Date.now() + 3_600_000).toISOString(), content: 'x', ...more }
  return (await w.call('POST', '/posts', { json: { channelIds: [channelId], ...json } })).json.id as string
}
const files = async () =>
  (await readdir(join(w.site.dataDir, 'files'), { recursive: true })).filter((name) => name.includes('.')).sort()

test('a file that nothing uses goes, and its bytes with it', async () => {
  await upload()
  const before = await files()
  const { id, url } = await upload()
  expect((await fetch(url)).status).toBe(200)
  expect((await remove(id)).status).toBe(204)
  expect((await fetch(url)).status).toBe(404)
  expect(await files()).toEqual(before)
  for (const method of ['GET', 'DELETE']) expectProblem(await w.call(method, `/media/${id}`), 404, 'not_found')
})

test('a file stays while a post that may still go out uses it, as its own or on one channel', async () => {
  const { id } = await upload()
  const posts = [
    await make({ type: 'draft', channelIds: [], mediaIds: [id] }),
    await make({ mediaIds: [id] }),
    await make({ overrides: [{ channelId, mediaIds: [id] }] }),
  ]
  for (const post of posts) {
    expectProblem(await remove(id), 409, 'media_in_use')
    expect((await w.call('DELETE', `/posts/${post}`)).status).toBe(204)
  }
  expect((await remove(id)).status).toBe(204)
})

test.each(['held', 'failed', 'needs_review', 'claimed', 'uncertain'] as DeliveryState[])(
  'a file stays while a delivery with it is %s',
  async (state) => {
    const { id } = await upload()
    const post = await make({ mediaIds: [id] })
    const lease = state === 'claimed' ? { leaseToken: post } : {}
    const look = state === 'uncertain' ? { lookAt: new Date(), maybeOut: true, prepared: '{}' } : {}
    await w.db
      .update(deliveries)
      .set({ state, ...lease, ...look })
      .where(eq(deliveries.postId, post))
    expectProblem(await remove(id), 409, 'media_in_use')
    await w.db
      .update(deliveries)
      .set({ state: 'cancelled', leaseToken: null, lookAt: null, maybeOut: false, prepared: null })
      .where(eq(deliveries.postId, post))
    expect((await remove(id)).status).toBe(204)
  },
)

test('what is out in a feed keeps its picture, and the post forgets the id', async () => {
  const { id, url } = await upload()
  const worker = await startWorker(w.site)
  const post = await make({ type: 'now', date: undefined, mediaIds: [id] })
  await until(async () => (await w.call('GET', `/posts/${post}`)).json.status === 'PUBLISHED')
  await worker.stop()
  expect((await remove(id)).status).toBe(204)
  expect((await fetch(url)).status).toBe(200)
  expect((await w.call('GET', `/posts/${post}`)).json).toMatchObject({ status: 'PUBLISHED', mediaIds: [] })
})

test('a deletion that races a post with the file: one of them is told', async () => {
  for (let round = 0; round < 20; round++) {
    const { id } = await upload()
    const json = { type: 'draft', content: 'x', channelIds: [], mediaIds: [id] }
    const [gone, made] = await Promise.all([remove(id), w.call('POST', '/posts', { json })])
    expect([`${gone.status} ${made.status}`]).toEqual([expect.stringMatching(/^(204 422|409 201)$/)])
  }
})
