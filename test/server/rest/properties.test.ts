import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveries } from '../../../db/schema/ledger.ts'
import { posts as postsTable } from '../../../db/schema/posts.ts'
import { queues } from '../../../db/schema/queues.ts'
import { webhooks } from '../../../db/schema/webhooks.ts'
import type { Route } from '../../../server/rest/endpoint.ts'
import { routes } from '../../../server/rest/routes.ts'
import { aPhoto } from '../../builders.ts'
import { aQueue } from '../queues/queue-calls.ts'
import { webWithChannel } from '../web.ts'
import { type Known, requests } from './arbitrary.ts'
import { type Documented, pathIn, readDocument } from './documented.ts'

// Requests that are made from the OpenAPI document, as whoever has read it would send them: right, almost right and
// hostile. To see a failure again: PROPERTY_SEED=… with the number that the run has printed.

const Seed = Number(process.env.PROPERTY_SEED ?? 20_260_801)
const RequestsPerRoute = 100
const RequestsPerChange = 400 // many fields exclude each other, so few changes go well

const w = webWithChannel()
let d: Documented
let photo: Blob
beforeAll(async () => {
  process.stdout.write(`PROPERTY_SEED=${Seed}\n`)
  d = await readDocument(w)
  photo = new Blob([await aPhoto()])
})
afterAll(() => {
  const faults = w.web
    .log()
    .split('\n')
    .filter((line) => line.includes('request failed'))
  expect(faults).toEqual([])
})

test.each(routes)('$method $path: any request gets a documented answer', async (route) => {
  const known = await thingsFor(route)
  const seen = new Set<number>()
  await fc.assert(
    fc.asyncProperty(requests(pathIn(route), d.operationOf(route), known, w.key), async ({ path, headers, body }) => {
      const isJson = d.operationOf(route).requestBody?.content['application/json']
      const answer = await w.call(route.method.toUpperCase(), path, {
        key: '',
        headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
        ...(body === null ? {} : { body }),
      })
      seen.add(answer.status)
      expect(answer.status).toBeLessThan(500)
      d.expectDocumented(route, answer)
    }),
    { seed: Seed, numRuns: route.method === 'patch' ? RequestsPerChange : RequestsPerRoute, endOnFailure: true },
  )
  expect([...seen]).toContain(route.status) // or nothing was looked at but the door
  if (route.does) expect(seen.size).toBeGreaterThan(1)
})

/** Things that are there, new ones for each route, so that requests can go well. */
async function thingsFor({ path }: Route): Promise<Known> {
  const photos = [await anUpload(), await anUpload(), await anUpload()]
  const posts = await Promise.all((['schedule', 'schedule', 'draft', 'draft', 'draft', 'schedule'] as const).map(aPost))
  await w.db.update(deliveries).set({ state: 'failed' }).where(eq(deliveries.postId, posts[0]!))
  await w.db.update(deliveries).set({ state: 'needs_review' }).where(eq(deliveries.postId, posts[1]!))
  await w.db.delete(webhooks)
  const hooks = [await aHook(), await aHook(), await aHook()]
  await w.db.update(postsTable).set({ queueId: null, queueDate: null })
  await w.db.delete(queues)
  const queued = [await aQueue(w, { name: 'A' }), await aQueue(w, { name: 'B' }), await aQueue(w, { name: 'C' })]
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  return {
    id: path.startsWith('/webhooks')
      ? hooks.map(({ id }) => id)
      : path.startsWith('/media')
        ? photos.map(({ id }) => id)
        : path.startsWith('/posts')
          ? posts
          : path.startsWith('/queues')
            ? queued.map(({ id }) => id)
            : [w.channelId],
    queueId: queued.map(({ id }) => id),
    name: ['Mornings', 'Evenings', 'Weekends'],
    timeZone: ['UTC', 'America/St_Johns'],
    channelId: [w.channelId],
    deliveryId: hooks.map(({ deliveryId }) => deliveryId),
    mediaId: photos.map(({ id }) => id),
    date: [inHours(1), inHours(1000)],
    from: [inHours(-1)],
    to: [inHours(1001)],
    content: ['hello', 'x'.repeat(500), '\u{1F468}\u200D\u{1F469}'],
    network: ['feed'],
    // Never an address of somebody else: what a string makes of itself is no URL.
    url: path.startsWith('/media') ? photos.map(({ url }) => url) : ['https://social.example/1'],
    file: [photo],
    cursor: [Buffer.from(JSON.stringify([inHours(0), w.channelId])).toString('base64url')],
    'Idempotency-Key': ['a', 'b'],
    'If-Match': ['*', '"1"', '"1", "2"'],
  }
}

async function anUpload(): Promise<{ id: string; url: string }> {
  const body = new FormData()
  body.append('file', photo)
  return (await w.call('POST', '/media', { body })).json
}

async function aHook(): Promise<{ id: string; deliveryId: string }> {
  const { id } = (await w.call('POST', '/webhooks', { json: { url: 'https://hooks.punctual.test/' } })).json
  return { id, deliveryId: (await w.call('POST', `/webhooks/${id}/test`)).json.id }
}

async function aPost(type: 'draft' | 'schedule'): Promise<string> {
  const date = new Date(Date.now() + 3_600_000)
  const json = { type, date, content: 'hello', channelIds: [w.channelId] }
  return (await w.call('POST', '/posts', { json })).json.id
}
