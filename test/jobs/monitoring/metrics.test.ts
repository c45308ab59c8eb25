import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../processes.ts'
import { scrape } from '../../scrape.ts'
import { deliveryOf, untilPublished, type World, world } from '../../world.ts'
import { webWithReceiver } from '../webhooks/listening.ts'

describe('what a worker counts of its deliveries', () => {
  let w: World
  beforeAll(async () => {
    w = await world()
  })
  afterEach(() => w.rest())
  afterAll(() => w.end())

  test('each network and outcome is 0 from the start, so the first failure is an increase', async () => {
    const worker = await w.worker()

    const { figure } = await scrape(worker.healthUrl)

    for (const network of ['feed', 'mastodon', 'bluesky', 'keyed']) {
      for (const outcome of ['published', 'later', 'refused', 'reconnect', 'unknown', 'internal', 'lost'])
        expect(figure('punctual_attempts_total', { network, outcome })).toBe(0)
      for (const result of ['good', 'failed']) expect(figure('punctual_refreshes_total', { network, result })).toBe(0)
      expect(figure('punctual_rate_limited_total', { network })).toBe(0)
      expect(figure('punctual_lateness_seconds_bucket', { network, le: '30' })).toBe(0)
    }
    for (const name of ['leases_lost', 'taken_over', 'log_lines_dropped'])
      expect(figure(`punctual_${name}_total`)).toBe(0)
  })

  test('refreshed credentials', async () => {
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

  test('each attempt by its outcome, and how late each post went out', async () => {
    w.fake.behave = ({ network }, { show, reply, reset }) => {
      if (network === 'readable') return reply(400, 'no')
      if (network === 'other') return reply(429, 'too often', { 'retry-after': '3600' })
      if (network === 'blind') return reset()
      return reply(200, { id: show() })
    }
    const late = new Date(Date.now() - 45_000)
    const networks = ['keyed', 'readable', 'other', 'blind', 'unreachable'] as const
    const made = await Promise.all(networks.map((network) => w.delivery(network, late)))
    const worker = await w.worker()
    const attempts = 'punctual_attempts_total'
    const ended = [
      { network: 'keyed', outcome: 'published' },
      { network: 'readable', outcome: 'refused' },
      { network: 'other', outcome: 'later' },
      { network: 'blind', outcome: 'unknown' },
    ]
    const retried = { network: 'unreachable', outcome: 'later' }

    const { text, figure } = await until(async () => {
      const scraped = await scrape(worker.healthUrl)
      return [...ended, retried].every((labels) => scraped.figure(attempts, labels)) ? scraped : null
    })

    for (const labels of ended) expect(figure(attempts, labels)).toBe(1)
    expect(figure('punctual_rate_limited_total', { network: 'other' })).toBe(1)
    expect(figure('punctual_rate_limited_total', { network: 'keyed' })).toBe(0)
    const lateness = (of: string, labels: object = {}) =>
      figure(`punctual_lateness_seconds_${of}`, { network: 'keyed', ...labels })
    expect(lateness('count')).toBe(1)
    expect([lateness('bucket', { le: '30' }), lateness('bucket', { le: '3600' })]).toEqual([0, 1])
    expect(lateness('sum')).toBeGreaterThan(45)
    expect(figure('punctual_lateness_seconds_count', { network: 'readable' })).toBe(0)
    for (const { channelId, id } of made) {
      const { postId } = await deliveryOf(w.db, id)
      for (const secret of [w.organisationId, channelId, postId, id]) expect(text).not.toContain(secret)
    }
  })

  test('a post found after its answer was lost counts as published when it is found, and each log line about it has its ids', async () => {
    w.fake.behave = (_request, { show, reset }) => {
      show()
      reset()
    }
    const { id } = await w.delivery('readable')
    const worker = await w.worker()
    await untilPublished(w.db, [id])

    const { figure } = await until(async () => {
      const scraped = await scrape(worker.healthUrl)
      return scraped.figure('punctual_lateness_seconds_count', { network: 'readable' }) ? scraped : null
    })

    expect(figure('punctual_attempts_total', { network: 'readable', outcome: 'unknown' })).toBe(1)
    expect(figure('punctual_attempts_total', { network: 'readable', outcome: 'published' })).toBe(0)
    const lines = worker
      .log()
      .split('\n')
      .filter((line) => line.includes(id))
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(
      expect.arrayContaining(['attempt ended', 'looked for a post']),
    )
    const { organisationId: organisation, postId: post } = await deliveryOf(w.db, id)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ organisation, post, delivery: id, attempt: 1 })
  })

  test('the sends it took over from a killed worker', async () => {
    w.fake.behave = () => {} // never answers
    await w.delivery('keyed')
    const first = await w.worker({ timesFactor: 1 })
    await until(() => w.fake.received.length >= 1)
    first.kill('SIGKILL')

    const second = await w.worker()

    await until(async () => (await scrape(second.healthUrl)).figure('punctual_taken_over_total'))
    const { figure } = await until(async () => {
      const scraped = await scrape(second.healthUrl)
      return scraped.figure('punctual_workers_alive') === 1 ? scraped : null
    })
    expect(figure('punctual_worker_heartbeat_oldest_seconds')).toBeLessThan(30)
  })
})

describe('what a worker counts of webhooks', () => {
  const t = webWithReceiver()

  test('each call by its outcome', async () => {
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
