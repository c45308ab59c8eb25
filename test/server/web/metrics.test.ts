import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'
import { startWeb, startWorker, testSite, until } from '../../processes.ts'
import { metricsUrlOf, scrape } from '../../scrape.ts'
import { aDoor } from '../../stand-ins/door.ts'
import { aBrowser } from '../browser.ts'
import { openBeside, openWeb, type Web } from '../web.ts'

let w: Web
let metricsUrl: string
beforeAll(async () => {
  w = await openWeb({ METRICS_PORT: '0' })
  metricsUrl = await metricsUrlOf(w.web)
})
afterAll(() => w.end())

const requests = 'punctual_http_request_duration_seconds_count'

test('the metrics show the ledger: what is due, the oldest lateness, the workers, and whether sending is stopped', async () => {
  const { db, organisationId } = w
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)
  const [free, paused, resting] = [await w.channel(), await w.channel(), await w.channel()]
  await db.execute(sql`update channels set paused_at = now() where id = ${paused}`)
  await db.execute(sql`update channels set paused_until = now() + interval '1 hour' where id = ${resting}`)
  for (const [channelId, minutes] of [
    [free, 5],
    [free, 3],
    [free, -60],
    [paused, 60],
    [resting, 60],
  ] as const)
    await aDelivery(db, { organisationId, channelId, dueAt: ago(minutes) })
  await aDelivery(db, { organisationId, channelId: free, dueAt: ago(9), state: 'held' })
  await db.execute(sql`
    insert into workers (owner, host, pid, concurrency, seen_at, gone_at) values
      ('a', 'one', 1, 50, now(), null), ('b', 'two', 2, 50, now() - interval '40 s', null),
      ('c', 'three', 3, 50, now() - interval '2 min', now())`)
  await db.execute(sql`update installation set restored_at = now()`)

  const { figure } = await until(async () => {
    const scraped = await scrape(metricsUrl)
    return scraped.figure('punctual_claims_stopped', { reason: 'restored' }) === 1 && scraped
  })

  expect(figure('punctual_ledger_readable')).toBe(1)
  expect(figure('punctual_claims_stopped', { reason: 'paused' })).toBe(0)
  expect(figure('punctual_networks_paused')).toBe(0)
  expect(figure('punctual_deliveries', { state: 'due' })).toBe(4)
  expect(figure('punctual_deliveries', { state: 'uncertain' })).toBe(0)
  expect(figure('punctual_deliveries', { state: 'held' })).toBe(1)
  expect(figure('punctual_deliveries', { state: 'needs_review' })).toBe(0)
  expect(figure('punctual_overdue_oldest_seconds')).toBeGreaterThanOrEqual(300)
  expect(figure('punctual_overdue_oldest_seconds')).toBeLessThan(330)
  expect(figure('punctual_workers_alive')).toBe(1)
  expect(figure('punctual_worker_heartbeat_oldest_seconds')).toBeGreaterThanOrEqual(40)
  expect(figure('punctual_worker_heartbeat_oldest_seconds')).toBeLessThan(70)
})

test('each request is measured by the pattern of its route and the class of its answer; all unknown paths are one', async () => {
  const postId = uuidv7()
  const browser = aBrowser(w.site.appUrl)
  const person = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  await browser.post('/signup', person)
  await w.call('GET', '/channels')
  await w.call('GET', '/channels')
  await w.call('GET', `/posts/${postId}`)
  await w.call('GET', '/channels', { key: 'pak_live_wrong' })
  await w.call('PUT', '/channels')
  await w.call('GET', '/no-such-thing')
  for (const path of ['/', `/posts/${postId}`, '/settings/developers/access', `/feeds/${postId}/atom.xml`])
    await browser.get(path)
  for (const path of [
    '/wp-login.php',
    '/.env',
    '/%61',
    '/build/none.js',
    `/files/${'a'.repeat(32)}.png`,
    '/favicon.svg',
  ])
    await fetch(`${w.site.appUrl}${path}`)
  await fetch(`${w.site.appUrl}/oauth/token`, { method: 'POST' })
  await fetch(`${w.site.appUrl}/readyz`)

  const { text, figure } = await until(async () => {
    const scraped = await scrape(metricsUrl)
    return scraped.figure(requests, { method: 'POST', route: '/oauth/token', status: '4xx' }) ? scraped : null
  })

  const counts = [
    ['GET', '/public/v1/channels', '2xx', 2],
    ['GET', '/public/v1/channels', '4xx', 1],
    ['other', '/public/v1/channels', '4xx', 1],
    ['GET', '/public/v1/posts/:id', '4xx', 1],
    ['POST', '/signup', '3xx', 1],
    ['GET', '/', '2xx', 1],
    ['GET', '/posts/:id', '4xx', 1],
    ['GET', '/settings/developers/access', '2xx', 1],
    ['GET', '/feeds/:channelId/atom.xml', '4xx', 1],
    ['GET', '/files/:key', '4xx', 1],
    ['GET', 'static', '2xx', 1],
    ['GET', 'unknown', '4xx', 5],
  ] as const
  const counted = counts.map(([method, route, status]) => [
    method,
    route,
    status,
    figure(requests, { method, route, status }),
  ])
  expect(counted).toEqual(counts)
  for (const [method, route] of counts.filter(([method]) => method !== 'other'))
    expect([method, route, figure(requests, { method, route, status: '5xx' })]).toEqual([method, route, 0])
  const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route))
  expect(routes).not.toContain('/readyz')
  for (const secret of [w.organisationId, postId, 'wp-login', '.env', w.key]) expect(text).not.toContain(secret)
})

test('the process tells of itself: its pool, its event loop, its memory', async () => {
  const { figure } = await scrape(metricsUrl)
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8'))
  expect(figure('punctual_build_info', { version, node: process.version })).toBe(1)
  expect(figure('punctual_database_pool_size')).toBe(10)
  expect(figure('punctual_database_pool_under_way')).toBeLessThanOrEqual(1)
  expect(figure('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  expect(figure('process_resident_memory_bytes')).toBeGreaterThan(0)
})

test('where the world comes in there are none', async () => {
  expect((await fetch(`${w.site.appUrl}/metrics`)).status).toBe(404)
})

test('health and metrics are open to this machine only, unless HOST says otherwise', async () => {
  const elsewhere = '127.0.0.2' // reaches whoever listens on every address, and not who listens on 127.0.0.1
  const worker = await startWorker(w.site)
  const reaches = (url: string) =>
    fetch(url.replace('127.0.0.1', elsewhere)).then(
      ({ status }) => status,
      () => 'refused',
    )
  expect(await reaches(`${w.site.appUrl.replace('localhost', '127.0.0.1')}/livez`)).toBe(200)
  expect(await reaches(`${metricsUrl}/metrics`)).toBe('refused')
  expect(await reaches(`${worker.healthUrl}/metrics`)).toBe('refused')

  const open = { HOST: '0.0.0.0', METRICS_PORT: '0' }
  const [openWorker, beside] = [await startWorker(w.site, { env: open }), await openBeside(w, open)]

  expect(await reaches(`${openWorker.healthUrl}/metrics`)).toBe(200)
  expect(await reaches(`${await metricsUrlOf(beside.web)}/metrics`)).toBe(200)
  await Promise.all([worker.stop(), openWorker.stop(), beside.end()])
})

test('while the database is away the process still tells of itself, and that the ledger cannot be read', async () => {
  const database = await testDatabase()
  const door = await aDoor(database.url)
  const site = await testSite(door.url, { METRICS_PORT: '0' })
  const web = await startWeb(site)
  const own = await anOrganisation(database.db)
  const channelId = await aChannel(database.db, site.secretKey, { ...own, network: 'feed' })
  await aDelivery(database.db, { ...own, channelId, dueAt: new Date() })
  await door.shut()

  const { figure } = await scrape(await metricsUrlOf(web))

  expect(figure('punctual_ledger_readable')).toBe(0)
  expect(figure('punctual_database_pool_size')).toBe(10)
  for (const name of ['punctual_overdue_oldest_seconds', 'punctual_workers_alive']) expect(figure(name)).toBeNull()
  expect(figure('punctual_deliveries', { state: 'due' })).toBeNull()
  await web.stop()
  await site.end()
  await database.end()
})
