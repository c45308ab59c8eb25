import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../processes.ts'
import { scrape } from '../scrape.ts'
import { deliveryOf, untilPublished, type World, world } from '../world.ts'
import { webWithReceiver } from './listening.ts'

describe('what a worker counts of its deliveries', () => {
  let w: World
  beforeAll(async () => {
    w = await world()
  })
  afterEach(() => w.rest())
  afterAll(() => w.end())

  test('credentials that are refreshed', async () => {
    w.fake.isTokenGood = (token) => token === 'renewed'
    const worker = await w.worker({ refreshTo: 'renewed' })
    const { id } = await w.delivery('keyed')
    await untilPublished(w.db, [id])

    const { text, figure } = await scrape(worker.healthUrl)

    expect(figure('punctual_refreshes_total', { network: 'keyed', result: 'good' })).toBe(1)
    expect(figure('punctual_ledger_readable')).toBe(1)
    const { channelId, postId } = await deliveryOf(w.db, id)
    for (const secret of [w.organisationId, channelId, postId, id, 'renewed']) expect(text).not.toContain(secret)
  })
})

describe('what a worker counts of webhooks', () => {
  const t = webWithReceiver()

  test('each call, by how it ended', async () => {
    const worker = await t.worker()
    const calls = 'punctual_webhook_calls_total'
    expect((await scrape(worker.healthUrl)).figure(calls, { outcome: 'delivered' })).toBe(0)
    t.receiver.answer = (_told, res) => res.writeHead(t.receiver.told.length === 1 ? 500 : 204).end()
    const heard = await t.webhook({ events: ['post.created'] })
    await t.webhook({ events: ['post.created'], url: 'http://127.0.0.1:9/' })
    await t.post({ type: 'draft', channelIds: [] })

    const { text, figure } = await until(async () => {
      const scraped = await scrape(worker.healthUrl)
      return scraped.figure(calls, { outcome: 'delivered' }) === 1 ? scraped : null
    })

    expect(figure(calls, { outcome: 'refused' })).toBe(1)
    expect(figure(calls, { outcome: 'unreachable' })).toBeGreaterThanOrEqual(1)
    for (const secret of [t.w.organisationId, heard.id, t.receiver.url]) expect(text).not.toContain(secret)
  })
})
