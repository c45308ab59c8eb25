import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import type { ChannelLimits } from '../../../db/schema/channels.ts'
import { readDueLimits } from '../../../jobs/channels/limits.ts'
import type { Deps } from '../../../jobs/deps.ts'
import type { Networks } from '../../../jobs/networks/registry.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { aChannel, aDelivery } from '../../builders.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../../server/web.ts'
import { deliveryOf, untilState } from '../../world.ts'
import { type FakeMastodon, fakeMastodon } from '../networks/mastodon/mastodon.fake.ts'

const w = worldWithOwner()
const servers: FakeMastodon[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A channel on its own fake server, whose limits are a day old. It was connected when the server accepted 500
 * characters. */
async function aDueChannel() {
  const server = await fakeMastodon()
  servers.push(server)
  const { url: instance, token, accountId } = server
  const credential = { instance, token, accountId }
  const id = await aChannel(w.db, w.site.secretKey, {
    ...{ organisationId: w.organisationId, network: 'mastodon', credential },
  })
  await makeDue(id)
  return { server, id }
}
const makeDue = (id: string) => w.db.execute(sql`update channels set limits_due_at = now() where id = ${id}`)

async function limitsOf(id: string) {
  const [row] = await w.db.execute<{ limits: ChannelLimits; hours: number }>(sql`
    select limits, extract(epoch from limits_due_at - now())::float8 / 3600 as hours from channels where id = ${id}`)
  return row!
}
const readings = ({ received }: FakeMastodon) => received.filter(({ route }) => /\/instance$/.test(route))
const write = (channelId: string, length: number) =>
  w.api.posts.create({
    ...{ type: 'schedule', date: new Date(Date.now() + 3_600_000).toISOString() },
    ...{ content: 'x'.repeat(length), channelIds: [channelId] },
  })

test('a larger limit is read within a day and used, and each channel is next read at another time of day', async () => {
  const channels = await Promise.all([aDueChannel(), aDueChannel()])
  const { id } = channels[0]!
  expect(await failureOf(write(id, 600))).toBe('unprocessable')
  await w.worker()
  for (const { id } of channels) await until(async () => (await limitsOf(id)).limits.textLength === 700)
  const [first, second] = await Promise.all(channels.map(async ({ id }) => (await limitsOf(id)).hours))
  for (const hours of [first!, second!]) expect(Math.abs(hours - 24)).toBeLessThanOrEqual(4)
  expect(Math.abs(first! - second!)).toBeGreaterThan(0.001)
  expect(await failureOf(write(id, 600))).toBe('done')
  expect(readings(servers[0]!)).toHaveLength(1)
})

test.each([
  ['answers 503 keeps its known limits, and is asked again in an hour', { status: 503 }, 1],
  ['breaks the connection keeps its known limits, and is asked again in an hour', 'reset before' as const, 1],
  ['does not state its limits keeps its known limits', { status: 200, body: { error: 'Maintenance' } }, 28],
  ['answers with a web page keeps its known limits', { status: 200, body: '<html>Maintenance</html>' }, 28],
])('a server that %s', async (_what, fate, hours) => {
  const { server, id } = await aDueChannel()
  server.next('GET /api/v2/instance', fate)
  const before = await limitsOf(id)
  await w.worker()
  await until(() => readings(server).length === 1)
  await until(async () => (await limitsOf(id)).hours > 0)
  const other = await aDueChannel() // read after the first channel
  await until(async () => (await limitsOf(other.id)).limits.textLength === 700)
  const after = await limitsOf(id)
  expect(after.limits).toEqual(before.limits)
  expect(after.hours).toBeLessThanOrEqual(hours)
  if (hours > 1) expect(after.hours).toBeGreaterThan(19)
})

test('a scheduled post that is now too long is sent at its time and fails with the server’s reason', async () => {
  const { server, id } = await aDueChannel()
  const body = { configuration: { statuses: { max_characters: 100 } } }
  server.next('GET /api/v2/instance', { status: 200, body })
  server.next('POST /api/v1/statuses', { status: 422, body: { error: 'Text character limit of 100 exceeded' } })
  const { organisationId } = w
  const dueAt = new Date(Date.now() + 3_600_000)
  const delivery = await aDelivery(w.db, { organisationId, channelId: id, dueAt, text: 'x'.repeat(300) })
  await w.worker()
  await until(async () => (await limitsOf(id)).limits.textLength === 100)
  expect((await deliveryOf(w.db, delivery)).state).toBe('scheduled')
  expect(await failureOf(write(id, 300))).toBe('unprocessable')

  await w.db.execute(sql`update deliveries set due_at = now() where id = ${delivery}`)
  await untilState(w.db, delivery, 'failed')
  const [attempt] = await w.db.execute<{ message: string }>(sql`select * from attempts where delivery_id = ${delivery}`)
  expect(JSON.stringify(attempt)).toContain('Text character limit of 100 exceeded')
})

test('two workers ask for each of 12 channels once', async () => {
  const channels = await Promise.all(Array.from({ length: 12 }, aDueChannel))
  await Promise.all([w.worker(), w.worker()])
  for (const { id } of channels) await until(async () => (await limitsOf(id)).limits.textLength === 700)
  expect(channels.map(({ server }) => readings(server).length)).toEqual(Array(12).fill(1))
})

test('limits that were read while the account was reconnected are dropped', async () => {
  const { id } = await aDueChannel()
  const before = await limitsOf(id)
  const limits = async () => {
    await w.db.execute(sql`update channels set credential_version = credential_version + 1 where id = ${id}`)
    return { ...before.limits, textLength: 9 }
  }
  const deps = { db: w.db, times, ring: [w.site.secretKey], networks: { mastodon: { limits } } as unknown as Networks }
  const log = pino({ level: 'silent' })
  await readDueLimits({ ...deps, log } as unknown as Deps, new AbortController().signal)
  expect((await limitsOf(id)).limits).toEqual(before.limits)
  expect((await limitsOf(id)).hours).toBeGreaterThan(0)
})
