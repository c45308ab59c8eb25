import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { deliveries } from '../../../db/schema/ledger.ts'
import { events, webhookDeliveries } from '../../../db/schema/webhooks.ts'
import { emit, emitChannelEvent } from '../../../jobs/ledger/events.ts'
import { hold, recordPublished } from '../../../jobs/ledger/settle.ts'
import { aDelivery } from '../../builders.ts'
import { until } from '../../processes.ts'
import { readDocument } from '../../server/rest/documented.ts'
import { claimOne } from '../../world.ts'
import { webWithReceiver } from '../webhooks/listening.ts'

const t = webWithReceiver()
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

test('of two deliveries of a post that settle at once, exactly one sends post.published', async () => {
  await t.webhook({ events: ['post.published', 'post.partially_published'] })
  const rounds = 20
  for (let round = 0; round < rounds; round++) {
    const channelIds = [await t.w.channel(), await t.w.channel()]
    const post = await t.post({ type: 'schedule', date: inAnHour(), channelIds })
    const found = await t.w.db.select().from(deliveries).where(eq(deliveries.postId, post.id))
    await Promise.all(
      found.map((delivery) =>
        t.w.db.transaction((tx) =>
          recordPublished(tx, [{ ...delivery, publication: { remoteId: null, url: null }, evidence: 'person' }]),
        ),
      ),
    )
  }
  const rows = await t.w.db.select().from(events).where(eq(events.type, 'post.published'))
  const ours = rows.filter(({ subject }) => (subject.deliveries as unknown[]).length === 2)
  expect(ours.map(({ subject }) => subject.status)).toEqual(Array(rounds).fill('PUBLISHED'))
})

test('a post sends an event when it is edited, cancelled, failed, failed again after a retry, partly published or in review', async () => {
  const { id } = await t.webhook()
  const typesSince = async () => {
    const all = (await t.log(id)).map(({ type }: { type: string }) => type).reverse()
    await t.w.db.delete(webhookDeliveries)
    return all
  }
  const [one, other] = [await t.w.channel(), await t.w.channel()]
  const post = await t.post({ type: 'schedule', date: inAnHour(), channelIds: [one, other] })
  await t.w.call('PATCH', `/posts/${post.id}`, { json: { content: 'changed' } })
  expect(await typesSince()).toEqual(['post.created', 'post.updated'])

  const settled = async (channelId: string, state: 'failed' | 'needs_review') => {
    const isIt = sql`post_id = ${post.id} and channel_id = ${channelId}`
    await t.w.db.execute(sql`update deliveries set state = ${state}::delivery_state where ${isIt}`)
    await t.w.db.transaction((tx) => emit(tx, t.w.organisationId, [post.id]))
  }
  await settled(one, 'failed')
  expect(await typesSince()).toEqual([]) // the other delivery is not sent yet
  await settled(other, 'failed')
  expect(await typesSince()).toEqual(['post.failed'])
  await t.w.call('POST', `/posts/${post.id}/retry`)
  await settled(one, 'failed')
  await settled(other, 'failed')
  expect(await typesSince()).toEqual(['post.failed'])
  await settled(other, 'needs_review')
  const resolve = { json: { outcome: 'published' } }
  await t.w.call('POST', `/posts/${post.id}/deliveries/${other}/resolve`, resolve)
  expect(await typesSince()).toEqual(['post.needs_review', 'post.partially_published'])

  const second = await t.post({ type: 'schedule', date: inAnHour() })
  await t.w.call('DELETE', `/posts/${second.id}`)
  const draft = await t.post({ type: 'draft', channelIds: [one] })
  await t.w.call('DELETE', `/posts/${draft.id}`)
  expect(await typesSince()).toEqual(['post.created', 'post.cancelled', 'post.created', 'post.cancelled'])
})

test('a channel that loses its access sends an event, its held posts send none', async () => {
  const { id: webhookId } = await t.webhook()
  const channelId = await t.w.channel()
  const id = await aDelivery(t.w.db, { organisationId: t.w.organisationId, channelId, dueAt: new Date() })
  const claimed = await claimOne(t.w.db, 'worker', id)
  const error = { code: 'channel_needs_reconnect', message: '', nextStep: '' }

  await hold(t.w.db, claimed!, error, { outcome: 'reconnect' })

  expect(await t.log(webhookId)).toMatchObject([{ type: 'channel.needs_reconnect' }])
  const [event] = await t.w.db.select().from(events).where(eq(events.type, 'channel.needs_reconnect'))
  expect(event!.subject).toMatchObject({ id: channelId, status: 'needs_reconnect' })
})

test('webhook calls match the OpenAPI document', async () => {
  const { document, mismatches } = await readDocument(t.w)
  const { id } = await t.webhook()
  const channelId = await t.w.channel()
  await t.post({ channelIds: [channelId] })
  await t.w.db.transaction((tx) => emitChannelEvent(tx, t.w.organisationId, channelId, 'channel.connected'))
  await t.w.call('POST', `/webhooks/${id}/test`)
  await t.worker()
  const wanted = ['channel.connected', 'post.created', 'post.published', 'webhook.test']
  const told = await until(() => t.receiver.told.length === wanted.length && t.receiver.told)
  expect(told.map(({ json }) => json.type).sort()).toEqual(wanted)
  for (const { json, headers } of told) {
    const { parameters, requestBody } = document.webhooks[json.type]!.post!
    expect(mismatches(requestBody!.content['application/json']!.schema, json)).toEqual([])
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(parameters.map(({ name }) => name)))
  }
})
