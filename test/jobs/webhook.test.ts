import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { deliveries, events, webhookDeliveries, webhooks } from '../../db/schema.ts'
import { tell } from '../../jobs/events.ts'
import { claimNext } from '../../jobs/ledger.ts'
import { hold, recordPublished } from '../../jobs/settle.ts'
import { times } from '../../jobs/times.ts'
import { aDelivery, anOrganisation } from '../builders.ts'
import { type Started, startWorker, until } from '../processes.ts'
import { startReceiver, type Told, verified } from '../receiver.ts'
import { apiAs, memberWith, openWeb, type Web } from '../server/web.ts'

let w: Web
let receiver: Awaited<ReturnType<typeof startReceiver>>
const running: Started[] = []
beforeAll(async () => {
  w = await openWeb()
  receiver = await startReceiver()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.stop()))
  await w.db.delete(webhooks)
  receiver.reset()
})
afterAll(async () => {
  await receiver.end()
  await w.end()
})

async function aWorker() {
  const worker = await startWorker(w.site)
  running.push(worker)
  return worker
}

async function aWebhook(wanted: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
  const made = await w.call('POST', '/webhooks', { json: { url: receiver.url, ...wanted } })
  expect(made.status).toBe(201)
  return made.json
}

async function aPost(more: Record<string, unknown> = {}) {
  const json = { type: 'now', content: 'hello', channelIds: [await w.channel()], ...more }
  const made = await w.call('POST', '/posts', { json })
  expect(made.status).toBe(201)
  return made.json
}

const log = async (id: string) => (await w.call('GET', `/webhooks/${id}/deliveries`)).json.data
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const types = (told: Told[]) => told.map(({ json }) => json.type)

test('a post is told of as it is made and as it goes out, signed, and as the API shows it', async () => {
  await aWorker()
  const { id, secret } = await aWebhook()

  const post = await aPost()

  const told = await until(() => receiver.told.length === 2 && receiver.told)
  expect(types(told)).toEqual(['post.created', 'post.published'])
  expect(told.map((one) => verified(secret, one))).toEqual(told.map(({ json }) => json))
  expect(told[0]!.json.data).toEqual(post)
  expect(told[1]!.json.data).toEqual((await w.call('GET', `/posts/${post.id}`)).json)
  const sent = await until(async () => {
    const all = await log(id)
    return all.every(({ status }: { status: string }) => status === 'DELIVERED') && all
  })
  expect(sent).toMatchObject([
    {
      eventId: told[1]!.headers['webhook-id'],
      type: 'post.published',
      attempts: [{ no: 1, status: 204, error: null }],
    },
    { eventId: told[0]!.headers['webhook-id'], request: { body: told[0]!.body } },
  ])
})

test('each try carries the same id and body, its own time and a signature that is good, until it is received', async () => {
  await aWorker()
  receiver.answer = (_told, res) => res.writeHead(receiver.told.length < 3 ? 500 : 200).end('thanks')
  const { id, secret } = await aWebhook({ events: ['post.created'] })

  await aPost({ type: 'draft', channelIds: [] })

  const told = await until(() => receiver.told.length === 3 && receiver.told)
  expect(new Set(told.map(({ headers, body }) => headers['webhook-id'] + body)).size).toBe(1)
  for (const one of told) expect(verified(secret, one)).toEqual(told[0]!.json)
  const [sent] = await until(async () => {
    const all = await log(id)
    return all[0].status === 'DELIVERED' && all
  })
  expect(sent.attempts).toMatchObject([
    { no: 1, status: 500, error: 'It answered 500; only 200 to 299 counts as received.' },
    { no: 2, status: 500 },
    { no: 3, status: 200, reply: 'thanks', error: null },
  ])
  expect((await w.call('GET', `/webhooks/${id}`)).json.failingSince).toBeNull()
})

test('a worker that is killed while it tells leaves nothing untold: another tells it again under the same id', async () => {
  const first = await aWorker()
  const { secret } = await aWebhook({ events: ['post.created'] })
  receiver.answer = () => {} // never
  await aPost({ type: 'draft', channelIds: [] })
  await until(() => receiver.told.length === 1)
  first.kill('SIGKILL')
  await first.ended
  receiver.answer = (_told, res) => res.writeHead(204).end()

  await aWorker()

  const told = await until(() => receiver.told.length === 2 && receiver.told)
  expect(told[1]!.headers['webhook-id']).toBe(told[0]!.headers['webhook-id'])
  expect(verified(secret, told[1]!)).toEqual(told[0]!.json)
})

test('of two deliveries of a post that settle at once, exactly one tells that it is published', async () => {
  await aWebhook({ events: ['post.published', 'post.partially_published'] })
  const rounds = 20
  for (let round = 0; round < rounds; round++) {
    const channelIds = [await w.channel(), await w.channel()]
    const post = await aPost({ type: 'schedule', date: inAnHour(), channelIds })
    const found = await w.db.select().from(deliveries).where(eq(deliveries.postId, post.id))
    await Promise.all(
      found.map((delivery) =>
        w.db.transaction((tx) => recordPublished(tx, delivery, { remoteId: null, url: null }, 'person')),
      ),
    )
  }
  const rows = await w.db.select().from(events).where(eq(events.type, 'post.published'))
  const ours = rows.filter(({ subject }) => (subject.deliveries as unknown[]).length === 2)
  expect(ours.map(({ subject }) => subject.status)).toEqual(Array(rounds).fill('PUBLISHED'))
})

test('a post is told of as edited, cancelled, failed, failed again after a retry, in part published and in doubt', async () => {
  const { id } = await aWebhook()
  const typesSince = async () => {
    const all = (await log(id)).map(({ type }: { type: string }) => type).reverse()
    await w.db.delete(webhookDeliveries)
    return all
  }
  const [one, other] = [await w.channel(), await w.channel()]
  const post = await aPost({ type: 'schedule', date: inAnHour(), channelIds: [one, other] })
  await w.call('PATCH', `/posts/${post.id}`, { json: { content: 'changed' } })
  expect(await typesSince()).toEqual(['post.created', 'post.updated'])

  const settled = async (channelId: string, state: 'failed' | 'needs_review') => {
    const isIt = sql`post_id = ${post.id} and channel_id = ${channelId}`
    await w.db.execute(sql`update deliveries set state = ${state}::delivery_state where ${isIt}`)
    await w.db.transaction((tx) => tell(tx, w.organisationId, [post.id]))
  }
  await settled(one, 'failed')
  expect(await typesSince()).toEqual([]) // the other has yet to go out
  await settled(other, 'failed')
  expect(await typesSince()).toEqual(['post.failed'])
  await w.call('POST', `/posts/${post.id}/retry`)
  await settled(one, 'failed')
  await settled(other, 'failed')
  expect(await typesSince()).toEqual(['post.failed'])
  await settled(other, 'needs_review')
  const resolve = { json: { outcome: 'published' } }
  await w.call('POST', `/posts/${post.id}/deliveries/${other}/resolve`, resolve)
  expect(await typesSince()).toEqual(['post.needs_review', 'post.partially_published'])

  const second = await aPost({ type: 'schedule', date: inAnHour() })
  await w.call('DELETE', `/posts/${second.id}`)
  const draft = await aPost({ type: 'draft', channelIds: [one] })
  await w.call('DELETE', `/posts/${draft.id}`)
  expect(await typesSince()).toEqual(['post.created', 'post.cancelled', 'post.created', 'post.cancelled'])
})

test('a channel is told of as it is connected, without its credential', async () => {
  await aWorker()
  await aWebhook({ events: ['channel.connected', 'channel.needs_reconnect'] })
  const owner = apiAs(w.installation, await memberWith(w, w))
  const connected = await owner.channels.connect({ network: 'feed', input: { name: 'News' } })

  const [told] = await until(() => receiver.told.length === 1 && receiver.told)

  expect(told!.json).toMatchObject({
    type: 'channel.connected',
    data: { ...(connected as { channel: object }).channel },
  })
  expect(Object.keys(told!.json.data).sort()).toEqual(Object.keys((connected as { channel: object }).channel).sort())
})

test('a channel is told of as it loses its access, its posts held with it are not', async () => {
  const { id: webhookId } = await aWebhook()
  const channelId = await w.channel()
  const id = await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date() })
  const claimed = await claimNext(w.db, times, 'worker', id)
  const error = { code: 'channel_needs_reconnect', message: '', nextStep: '' }

  await hold(w.db, claimed!, error, { outcome: 'reconnect' })

  expect(await log(webhookId)).toMatchObject([{ type: 'channel.needs_reconnect' }])
  const [event] = await w.db.select().from(events).where(eq(events.type, 'channel.needs_reconnect'))
  expect(event!.subject).toMatchObject({ id: channelId, status: 'needs_reconnect' })
})

test('after a rotation each call is signed with both secrets, the new one alone after a day', async () => {
  await aWorker()
  const { id, secret } = await aWebhook({ events: ['post.created'] })
  const rotated = (await w.call('POST', `/webhooks/${id}/rotate`)).json.secret
  expect(rotated).not.toBe(secret)
  await w.call('POST', `/webhooks/${id}/test`)
  const [both] = await until(() => receiver.told.length === 1 && receiver.told)
  expect([verified(secret, both!), verified(rotated, both!)]).toEqual([both!.json, both!.json])
  expect(both!.json).toMatchObject({ type: 'webhook.test', data: { webhookId: id } })

  await w.db.update(webhooks).set({ previousSecretUntil: new Date() })
  await w.call('POST', `/webhooks/${id}/test`)
  const [, alone] = await until(() => receiver.told.length === 2 && receiver.told)
  expect(verified(rotated, alone!)).toEqual(alone!.json)
  expect(() => verified(secret, alone!)).toThrow()
})

test.each([
  ['has failed for three days', 500, 'failing'],
  ['answers that it is gone', 410, 'gone'],
])(
  'a webhook that %s is switched off, which its owner can read, and sends again once it is switched on',
  async (_, status, reason) => {
    await aWorker()
    receiver.answer = (_told, res) => res.writeHead(status).end()
    const { id } = await aWebhook({ events: ['post.created'] })
    const threeDaysAgo = new Date(Date.now() - 72 * 3_600_000 - 1000)
    if (reason === 'failing') await w.db.update(webhooks).set({ failingSince: threeDaysAgo })

    await aPost({ type: 'draft', channelIds: [] })

    const off = await until(async () => {
      const { json } = await w.call('GET', `/webhooks/${id}`)
      return json.status === 'OFF' && json
    })
    expect(off.offReason).toBe(reason)
    expect(await log(id)).toMatchObject([{ status: 'FAILED', attempts: [{ status }] }])
    const owner = apiAs(w.installation, await memberWith(w, w))
    expect((await owner.activity.list({})).data[0]).toMatchObject({
      ...{ action: 'webhook.switched_off', actorName: 'Punctual', subjectName: receiver.url, detail: { reason } },
    })
    await aPost({ type: 'draft', channelIds: [] })
    expect(await log(id)).toHaveLength(1)

    receiver.reset()
    await w.call('PATCH', `/webhooks/${id}`, { json: { status: 'ACTIVE' } })
    await aPost({ type: 'draft', channelIds: [] })
    await until(() => receiver.told.length === 1)
  },
)

test('what waited for a webhook that failed goes out as soon as it answers again', async () => {
  const { id } = await aWebhook({ events: ['post.created'] })
  await w.db.update(webhooks).set({ failingSince: new Date(Date.now() - 3_600_000) })
  for (let i = 0; i < 5; i++) await aPost({ type: 'draft', channelIds: [] })
  await w.db.update(webhookDeliveries).set({ nextAttemptAt: new Date(Date.now() + 3_600_000), attemptNo: 5 })
  await aWorker()

  await w.call('POST', `/webhooks/${id}/test`)

  await until(() => receiver.told.filter(({ json }) => json.type === 'post.created').length === 5)
})

test('a slow endpoint keeps neither posts nor the webhooks of others waiting', async () => {
  const worker = await aWorker()
  receiver.answer = ({ path }, res) => path === '/hook' && res.writeHead(204).end()
  for (let i = 0; i < 5; i++) await aWebhook({ url: `${receiver.url}/slow/${i}`, events: ['post.created'] })
  await aWebhook({ events: ['post.published'] })
  for (let i = 0; i < 10; i++) await aPost({ type: 'draft', channelIds: [] })
  await until(() => receiver.told.length >= 5)

  const post = await aPost()

  await until(() => receiver.told.find(({ json }) => json.type === 'post.published' && json.data.id === post.id))
  expect(receiver.told.filter(({ path }) => path !== '/hook').length).toBeLessThan(50)
  expect(worker.log()).not.toContain('a webhook’s turn failed')
})

test('an address that is not public is called by nobody, and the log says so', async () => {
  const worker = await startWorker(w.site, { env: { OUTBOUND_ALLOW: '' } })
  running.push(worker)
  const { id } = await aWebhook({ events: ['post.created'] })
  await aPost({ type: 'draft', channelIds: [] })
  const [sent] = await until(async () => {
    const all = await log(id)
    return all[0]?.attempts.length > 0 && all
  })
  expect(sent.attempts[0]).toMatchObject({ status: null, error: 'No public server has this address.' })
  expect(receiver.told).toHaveLength(0)
})

test('nobody is told of another organisation’s posts', async () => {
  await aWorker()
  await aWebhook()
  const { key: other, organisationId } = await anOrganisation(w.db)
  const channelIds = [await w.channel(organisationId)]
  const theirs = await w.call('POST', '/posts', { key: other, json: { type: 'now', content: 'theirs', channelIds } })
  await until(async () => (await w.call('GET', `/posts/${theirs.json.id}`, { key: other })).json.status === 'PUBLISHED')
  await aPost()
  await until(() => types(receiver.told).includes('post.published'))
  expect(receiver.told.map(({ json }) => json.data.content)).toEqual(['hello', 'hello'])
  expect(await w.db.select().from(events).where(eq(events.organisationId, organisationId))).toEqual([])
})
