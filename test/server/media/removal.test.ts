import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeliveryState, deliveries } from '../../../db/schema/ledger.ts'
import { anOrganisation } from '../../builders.ts'
import { startWorker, until } from '../../processes.ts'
import { expectProblem, openWeb, type Web } from '../web.ts'

let w: Web
let channelId: string
beforeAll(async () => {
  w = await openWeb()
  channelId = await w.channel()
})
afterAll(() => w.end())

type Uploaded = { id: string; url: string; thumbnailUrl: string; alt: string; sha256: string }
let photos = 0
const aPhoto = () =>
  sharp({ create: { width: 9, height: 9 + photos++, channels: 3, background: 'teal' } })
    .png()
    .toBuffer()
const upload = async (photo?: Buffer, more: { alt?: string; key?: string } = {}) => {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(photo ?? (await aPhoto()))]))
  body.append('alt', more.alt ?? '')
  const made = await w.call('POST', '/media', { body, ...(more.key ? { key: more.key } : {}) })
  expect(made.status).toBe(201)
  return made.json as Uploaded
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

describe('the same bytes twice', () => {
  test('are two media of one file, which stays until the last of them goes', async () => {
    const photo = await aPhoto()
    const before = await files()
    const [one, two] = [await upload(photo, { alt: 'one' }), await upload(photo, { alt: 'two' })]
    expect(two).toMatchObject({ url: one.url, thumbnailUrl: one.thumbnailUrl, sha256: one.sha256, alt: 'two' })
    expect(two.id).not.toBe(one.id)
    expect(await files()).toHaveLength(before.length + 2)
    expect((await remove(one.id)).status).toBe(204)
    for (const url of [two.url, two.thumbnailUrl]) expect((await fetch(url)).status).toBe(200)
    expect((await w.call('GET', `/media/${two.id}`)).json.alt).toBe('two')
    expect((await remove(two.id)).status).toBe(204)
    expect(await files()).toEqual(before)
  })

  test('of another organisation are a separate file', async () => {
    const photo = await aPhoto()
    const theirs = await upload(photo, { key: (await anOrganisation(w.db)).key })
    const ours = await upload(photo)
    expect([ours.sha256, ours.url === theirs.url]).toEqual([theirs.sha256, false])
    await remove(ours.id)
    expect((await fetch(theirs.url)).status).toBe(200)
  })

  test('added and removed at once: each that is left has its file, and no file is left without one', async () => {
    const before = await files()
    for (let round = 0; round < 10; round++) {
      const photo = await aPhoto()
      const first = await upload(photo)
      const made = await Promise.all([upload(photo), remove(first.id), upload(photo), upload(photo)])
      const left = made.filter((one): one is Uploaded => 'url' in one)
      for (const { url, thumbnailUrl } of left)
        expect([(await fetch(url)).status, (await fetch(thumbnailUrl)).status]).toEqual([200, 200])
      await Promise.all(left.map(({ id }) => remove(id)))
      expect(await files()).toEqual(before)
    }
  })
})

test('a deletion that races a post with the file: one of them gets an error', async () => {
  for (let round = 0; round < 20; round++) {
    const { id } = await upload()
    const json = { type: 'draft', content: 'x', channelIds: [], mediaIds: [id] }
    const [gone, made] = await Promise.all([remove(id), w.call('POST', '/posts', { json })])
    expect([`${gone.status} ${made.status}`]).toEqual([expect.stringMatching(/^(204 422|409 201)$/)])
  }
})
