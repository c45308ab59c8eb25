import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { events, webhookDeliveries, webhooks } from '../../../db/schema/webhooks.ts'
import { anOrganisation } from '../../builders.ts'
import { until } from '../../processes.ts'
import { apiAs, memberWith } from '../../server/web.ts'
import { type Told, verified } from '../../stand-ins/receiver.ts'
import { webWithReceiver } from './listening.ts'

const t = webWithReceiver()
const types = (told: Told[]) => told.map(({ json }) => json.type)

test('a post sends an event when it is made and when it goes out, signed and as the API shows it', async () => {
  await t.worker()
  const { id, secret } = await t.webhook()

  const post = await t.post()

  const told = await until(() => t.receiver.told.length === 2 && t.receiver.told)
  expect(types(told)).toEqual(['post.created', 'post.published'])
  expect(told.map((one) => verified(secret, one))).toEqual(told.map(({ json }) => json))
  expect(told[0]!.json.data).toEqual(post)
  expect(told[1]!.json.data).toEqual((await t.w.call('GET', `/posts/${post.id}`)).json)
  const sent = await until(async () => {
    const all = await t.log(id)
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

test('an event that a process of the previous version wrote has no tags and no queue, and its call says so', async () => {
  await t.webhook({ events: ['post.created'] })
  const post = await t.post({ type: 'draft', channelIds: [], tags: ['unknown then'] })
  await t.w.db.update(events).set({ subject: sql`${events.subject} - 'tags' - 'queue_id'` })
  await t.worker()
  const [told] = await until(() => t.receiver.told.length === 1 && t.receiver.told)
  expect(told!.json.data).toEqual({ ...post, tags: [], queueId: null })
})

test('each try has the same id and body, its own time and a valid signature, until the receiver accepts one', async () => {
  await t.worker()
  t.receiver.answer = (_told, res) => res.writeHead(t.receiver.told.length < 3 ? 500 : 200).end('thanks')
  const { id, secret } = await t.webhook({ events: ['post.created'] })

  await t.post({ type: 'draft', channelIds: [] })

  const told = await until(() => t.receiver.told.length === 3 && t.receiver.told)
  expect(new Set(told.map(({ headers, body }) => headers['webhook-id'] + body)).size).toBe(1)
  for (const one of told) expect(verified(secret, one)).toEqual(told[0]!.json)
  const [sent] = await until(async () => {
    const all = await t.log(id)
    return all[0].status === 'DELIVERED' && all
  })
  expect(sent.attempts).toMatchObject([
    { no: 1, status: 500, error: 'It answered 500; only 200 to 299 counts as received.' },
    { no: 2, status: 500 },
    { no: 3, status: 200, reply: 'thanks', error: null },
  ])
  expect((await t.w.call('GET', `/webhooks/${id}`)).json.failingSince).toBeNull()
})

test('after a failure the next try is woken at its due time, not by the search for forgotten ones', async () => {
  await t.worker({ timesFactor: 1 })
  t.receiver.answer = (_told, res) => res.writeHead(500).end()
  const { id } = await t.webhook({ events: ['post.created'] })

  await t.post({ type: 'draft', channelIds: [] })

  const waiting = await until(async () => {
    const [sent] = await t.log(id)
    return sent?.attempts.length === 1 && sent
  })
  const job = sql`select run_at as at from graphile_worker.jobs where key = ${`webhook:${id}`}`
  const woken = await until(async () => [...(await t.w.db.execute<{ at: string }>(job))][0]?.at)
  expect(new Date(woken).toISOString()).toBe(waiting.nextAttemptAt)
})

test('when a worker is killed during a call, another one calls again with the same id', async () => {
  const first = await t.worker()
  const { secret } = await t.webhook({ events: ['post.created'] })
  t.receiver.answer = () => {} // never answers
  await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length === 1)
  first.kill('SIGKILL')
  await first.ended
  t.receiver.answer = (_told, res) => res.writeHead(204).end()

  await t.worker()

  const told = await until(() => t.receiver.told.length === 2 && t.receiver.told)
  expect(told[1]!.headers['webhook-id']).toBe(told[0]!.headers['webhook-id'])
  expect(verified(secret, told[1]!)).toEqual(told[0]!.json)
})

test('a channel sends an event when it is connected, without its credential', async () => {
  await t.worker()
  await t.webhook({ events: ['channel.connected', 'channel.needs_reconnect'] })
  const owner = apiAs(t.w.installation, await memberWith(t.w, t.w))
  const connected = await owner.channels.connect({ network: 'feed', input: { name: 'News' } })

  const [told] = await until(() => t.receiver.told.length === 1 && t.receiver.told)

  expect(told!.json).toMatchObject({
    type: 'channel.connected',
    data: { ...(connected as { channel: object }).channel },
  })
  expect(Object.keys(told!.json.data).sort()).toEqual(Object.keys((connected as { channel: object }).channel).sort())
})

test('after a rotation each call is signed with both secrets, after a day only with the new one', async () => {
  await t.worker()
  const { id, secret } = await t.webhook({ events: ['post.created'] })
  const rotated = (await t.w.call('POST', `/webhooks/${id}/rotate`)).json.secret
  expect(rotated).not.toBe(secret)
  await t.w.call('POST', `/webhooks/${id}/test`)
  const [both] = await until(() => t.receiver.told.length === 1 && t.receiver.told)
  expect([verified(secret, both!), verified(rotated, both!)]).toEqual([both!.json, both!.json])
  expect(both!.json).toMatchObject({ type: 'webhook.test', data: { webhookId: id } })

  await t.w.db.update(webhooks).set({ previousSecretUntil: new Date() })
  await t.w.call('POST', `/webhooks/${id}/test`)
  const [, alone] = await until(() => t.receiver.told.length === 2 && t.receiver.told)
  expect(verified(rotated, alone!)).toEqual(alone!.json)
  expect(() => verified(secret, alone!)).toThrow()
})

test.each([
  ['has failed for three days', 500, 'failing'],
  ['answers 410', 410, 'gone'],
])(
  'a webhook that %s is switched off, its owner can read why, and it sends again once it is switched on',
  async (_, status, reason) => {
    await t.worker()
    t.receiver.answer = (_told, res) => res.writeHead(status).end()
    const { id } = await t.webhook({ events: ['post.created'] })
    const threeDaysAgo = new Date(Date.now() - 72 * 3_600_000 - 1000)
    if (reason === 'failing') await t.w.db.update(webhooks).set({ failingSince: threeDaysAgo })

    await t.post({ type: 'draft', channelIds: [] })

    const off = await until(async () => {
      const { json } = await t.w.call('GET', `/webhooks/${id}`)
      return json.status === 'OFF' && json
    })
    expect(off.offReason).toBe(reason)
    expect(await t.log(id)).toMatchObject([{ status: 'FAILED', attempts: [{ status }] }])
    const owner = apiAs(t.w.installation, await memberWith(t.w, t.w))
    expect((await owner.activity.list({})).data[0]).toMatchObject({
      ...{ action: 'webhook.switched_off', actorName: 'Punctual', subjectName: t.receiver.url, detail: { reason } },
    })
    await t.post({ type: 'draft', channelIds: [] })
    expect(await t.log(id)).toHaveLength(1)

    t.receiver.reset()
    await t.w.call('PATCH', `/webhooks/${id}`, { json: { status: 'ACTIVE' } })
    await t.post({ type: 'draft', channelIds: [] })
    await until(() => t.receiver.told.length === 1)
  },
)

test('calls that waited for a failed webhook go out as soon as it answers again', async () => {
  const { id } = await t.webhook({ events: ['post.created'] })
  await t.w.db.update(webhooks).set({ failingSince: new Date(Date.now() - 3_600_000) })
  for (let i = 0; i < 5; i++) await t.post({ type: 'draft', channelIds: [] })
  await t.w.db.update(webhookDeliveries).set({ nextAttemptAt: new Date(Date.now() + 3_600_000), attemptNo: 5 })
  await t.worker()

  await t.w.call('POST', `/webhooks/${id}/test`)

  await until(() => t.receiver.told.filter(({ json }) => json.type === 'post.created').length === 5)
})

test('a slow endpoint delays neither posts nor other webhooks', async () => {
  const worker = await t.worker()
  t.receiver.answer = ({ path }, res) => path === '/hook' && res.writeHead(204).end()
  for (let i = 0; i < 5; i++) await t.webhook({ url: `${t.receiver.url}/slow/${i}`, events: ['post.created'] })
  await t.webhook({ events: ['post.published'] })
  for (let i = 0; i < 10; i++) await t.post({ type: 'draft', channelIds: [] })
  await until(() => t.receiver.told.length >= 5)

  const post = await t.post()

  await until(() => t.receiver.told.find(({ json }) => json.type === 'post.published' && json.data.id === post.id))
  expect(t.receiver.told.filter(({ path }) => path !== '/hook').length).toBeLessThan(50)
  expect(worker.log()).not.toContain('a webhook’s turn failed')
})

test('an address that is not public is never called, and the log says so', async () => {
  await t.worker({ env: { OUTBOUND_ALLOW: '' } })
  const { id } = await t.webhook({ events: ['post.created'] })
  await t.post({ type: 'draft', channelIds: [] })
  const [sent] = await until(async () => {
    const all = await t.log(id)
    return all[0]?.attempts.length > 0 && all
  })
  expect(sent.attempts[0]).toMatchObject({ status: null, error: 'No public server has this address.' })
  expect(t.receiver.told).toHaveLength(0)
})

test('a webhook gets no events of another organisation’s posts', async () => {
  await t.worker()
  await t.webhook()
  const { key: other, organisationId } = await anOrganisation(t.w.db)
  const channelIds = [await t.w.channel(organisationId)]
  const theirs = await t.w.call('POST', '/posts', { key: other, json: { type: 'now', content: 'theirs', channelIds } })
  await until(
    async () => (await t.w.call('GET', `/posts/${theirs.json.id}`, { key: other })).json.status === 'PUBLISHED',
  )
  await t.post()
  await until(() => types(t.receiver.told).includes('post.published'))
  expect(t.receiver.told.map(({ json }) => json.data.content)).toEqual(['hello', 'hello'])
  expect(await t.w.db.select().from(events).where(eq(events.organisationId, organisationId))).toEqual([])
})
