import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, expect, type TestContext, test } from 'vitest'
import { localFiles } from '../../db/files/local.ts'
import { deliveries } from '../../db/schema/ledger.ts'
import { media, postMedia } from '../../db/schema/media.ts'
import { aChannel, aDelivery } from '../builders.ts'
import { anImage } from '../jobs/networks/content.ts'
import { fakeMastodon } from '../jobs/networks/mastodon/mastodon.fake.ts'
import type { Fate } from '../jobs/networks/scripted-server.ts'
import { until } from '../processes.ts'
import { attemptsOf, deliveryOf, untilState, type World, world } from '../world.ts'

// A real worker, and a Mastodon-like server that fails while a file is uploaded. No post went out: no outcome is
// unknown.

const Upload = 'POST /api/v2/media'
const Send = 'POST /api/v1/statuses'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

/** A due post with an image, on its own server. */
async function due(context: TestContext, options: Parameters<typeof fakeMastodon>[0] = {}) {
  const server = await fakeMastodon(options)
  context.onTestFinished(server.close)
  const { url: instance, token, accountId } = server
  const { host } = new URL(instance)
  const { organisationId } = w
  const of = { organisationId, network: 'mastodon', remoteAccount: `${host}/${accountId}` }
  const credential = { instance, token, accountId, clockAheadMs: 0 }
  const channelId = await aChannel(w.db, w.site.secretKey, { ...of, credential })
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(), text: 'With an image' })
  await attach(id)
  return { server, host, id }
}

async function attach(deliveryId: string): Promise<void> {
  const image = await anImage()
  const fileKey = randomUUID()
  await localFiles(w.site.dataDir).write(fileKey, await image.read())
  const { organisationId } = w
  const mediaId = uuidv7()
  const { mime, bytes, width, height } = image
  const facts = { mime, bytes, width, height, sha256: randomUUID(), fileKey }
  await w.db.insert(media).values({ id: mediaId, organisationId, kind: 'image', ...facts })
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, deliveryId))
  await w.db.insert(postMedia).values({ organisationId, postId: row!.postId, mediaId, position: 0 })
}

const firstAttempt = (id: string) =>
  until(async () => {
    const [attempt] = await attemptsOf(w.db, id)
    return attempt?.endedAt && attempt
  })

const fates: [string, Fate, object][] = [
  ['with 500', { status: 500, body: 'oops' }, { status: 500, reply: 'oops', message: 'HOST answered 500.' }],
  ['with 408', { status: 408, body: 'slow' }, { status: 408, reply: 'slow', message: 'HOST answered 408.' }],
  [
    'with 200 and an unreadable body',
    { status: 200, body: '<html>' },
    { status: 200, reply: '<html>', message: "HOST sent an answer that we can't read." },
  ],
  ['with a connection that breaks before the upload', 'reset before', { message: expect.stringContaining('HOST: ') }],
  ['with a connection that breaks after the upload', 'reset after', { message: expect.stringContaining('HOST: ') }],
]

for (const [name, fate, expected] of fates)
  test(`an upload that fails ${name} is tried again, and the post goes out once`, async (context) => {
    const { server, host, id } = await due(context)
    server.next(Upload, fate)
    await w.worker({ timesFactor: 0.1 })
    const attempt = await firstAttempt(id)
    const told = { ...attempt, message: attempt.message?.replaceAll(host, 'HOST') }
    expect(told).toMatchObject({ outcome: 'later', intendedAt: null, ...expected })
    expect(await untilState(w.db, id, 'published', 'needs_review')).toMatchObject({
      ...{ state: 'published', evidence: 'answered', attemptNo: 2 },
    })
    expect(server.received.filter(({ route }) => route === Send)).toHaveLength(1)
  })

test('a refused upload fails the post with the reason, and nothing is sent', async (context) => {
  const { server, host, id } = await due(context)
  server.next(Upload, { status: 422, body: { error: { file: ['is too large'] } } })
  await w.worker({ timesFactor: 0.1 })
  const { error } = await untilState(w.db, id, 'failed', 'needs_review')
  expect(error).toMatchObject({
    code: 'network_refused',
    message: `${host} refused this post and says: file: is too large`,
  })
  expect(server.received.some(({ route }) => route === Send)).toBe(false)
})

test('an attempt whose file the network never finishes processing ends, and the post is tried again', async (context) => {
  const { server, host, id } = await due(context, { pollsOfMedia: Number.POSITIVE_INFINITY })
  await w.worker({ timesFactor: 0.02 }) // 6 s to prepare
  expect(await firstAttempt(id)).toMatchObject({ outcome: 'later', message: `${host} took too long.` })
  const { state, maybeOut, error } = await deliveryOf(w.db, id)
  expect([['scheduled', 'claimed'].includes(state), maybeOut, error?.code]).toEqual([true, false, 'timeout'])
  expect(server.received.some(({ route }) => route === Send)).toBe(false)
})
