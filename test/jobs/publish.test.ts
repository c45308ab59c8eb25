import { eq, inArray } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Db } from '../../db/client.ts'
import { attempts, channels, deliveries } from '../../db/schema.ts'
import { aChannel, aDelivery, anOrganisation, someDeliveries } from '../builders.ts'
import { testDatabase } from '../database.ts'
import { type FakeServer, startFakeServer } from '../fake-network.ts'
import { type Site, type Started, startWorker, testSite, until } from '../processes.ts'

let db: Db
let site: Site
let fake: FakeServer
let organisationId: string
const running: Started[] = []
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const database = await testDatabase()
  db = database.db
  site = await testSite(database.url)
  fake = await startFakeServer()
  organisationId = (await anOrganisation(db)).organisationId
  ends.push(database.end, site.end, fake.end)
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((process) => process.stop()))
  fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
  fake.isTokenGood = () => true
  fake.received.length = 0
  fake.posts.length = 0
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

const kinds = ['keyed', 'readable', 'blind'] as const
type Kind = (typeof kinds)[number]

async function worker(env: Record<string, string> = {}, refreshTo?: string) {
  const networks = kinds.map((repeatedSend) => ({
    name: repeatedSend,
    url: fake.url,
    repeatedSend,
    ...(refreshTo ? { refreshTo } : {}),
  }))
  const started = await startWorker(site, {
    networks: [...networks, { name: 'other', url: fake.url, repeatedSend: 'readable' as const }],
    env,
  })
  running.push(started)
  return started
}

const channelOf = (network: string, token?: string) =>
  aChannel(db, site.secretKey, { organisationId, network, ...(token ? { token } : {}) })

async function stateOf(id: string) {
  const [row] = await db.select().from(deliveries).where(eq(deliveries.id, id))
  return row!
}
const untilState = (id: string, ...states: string[]) =>
  until(async () => {
    const row = await stateOf(id)
    return states.includes(row.state) && row
  })

describe('a delivery that goes well', () => {
  test('is published at its hour, never before, with the answer as evidence and one attempt', async () => {
    const started = await worker()
    const channelId = await channelOf('readable')
    const dueAt = new Date(Date.now() + 700)
    const id = await aDelivery(db, { organisationId, channelId, dueAt })
    const row = await untilState(id, 'published')
    expect(row).toMatchObject({
      evidence: 'answered',
      remoteId: fake.posts[0]!.id,
      attemptNo: 1,
      maybeOut: false,
      leaseToken: null,
    })
    expect(fake.received).toHaveLength(1)
    expect(fake.received[0]!.at).toBeGreaterThanOrEqual(dueAt.getTime())
    expect(fake.received[0]!.at - dueAt.getTime()).toBeLessThan(250) // the goal is 25 ms
    expect(await fetch(`${started.healthUrl}/livez`).then(({ status }) => status)).toBe(200)
    const tries = await db.select().from(attempts).where(eq(attempts.deliveryId, id))
    expect(tries).toMatchObject([{ no: 1, outcome: 'published', status: 200 }])
  })

  test('20 at one instant on one channel go out one at a time, in order, once each', async () => {
    fake.behave = async (_request, { show, reply }) => {
      await new Promise((done) => setTimeout(done, 20))
      reply(200, { id: show() })
    }
    await Promise.all([worker(), worker()])
    const channelId = await channelOf('readable')
    const dueAt = new Date(Date.now() + 300)
    const ids = await someDeliveries(
      db,
      Array.from({ length: 20 }, (_, i) => ({ organisationId, channelId, dueAt, text: `no ${i}` })),
    )
    await until(async () =>
      (await db.select().from(deliveries).where(inArray(deliveries.id, ids))).every(
        ({ state }) => state === 'published',
      ),
    )
    expect(fake.received.map(({ key }) => key)).toEqual(ids)
    for (const [i, { at }] of fake.received.entries())
      if (i > 0) expect(at).toBeGreaterThanOrEqual(fake.received[i - 1]!.endedAt)
  })
})
