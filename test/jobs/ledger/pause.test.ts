import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { installation, networks } from '../../../db/schema/installation.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { limit, pause, resume } from '../../../jobs/ledger/pause.ts'
import { aDelivery } from '../../builders.ts'
import { type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
beforeEach(() => w.db.execute(sql`delete from deliveries`))
afterEach(() => w.rest())
afterAll(() => w.end())

/** A channel of `network` with two due deliveries and one that is due later, without wake-ups. */
async function aQueue(network: string) {
  const channelId = await w.channel(network)
  const due = (inMs: number) =>
    aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date(Date.now() + inMs) })
  const [second, first] = [await due(-1000), await due(-60_000)]
  await due(3_600_000)
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  return { channelId, first, second }
}

async function woken(): Promise<string[]> {
  const rows = await w.db.execute<{ key: string }>(sql`select key from graphile_worker.jobs order by key`)
  return [...rows].map(({ key }) => key)
}

test('resuming wakes the first due delivery of each channel in its scope, and no others', async () => {
  const [here, there] = [await aQueue('keyed'), await aQueue('blind')]
  expect(await resume(w.db, { scope: 'channel', id: here.channelId })).toBe(1)
  expect(await woken()).toEqual([here.first])
  expect(await resume(w.db, { scope: 'network', name: 'blind' })).toBe(1)
  expect(await woken()).toEqual([here.first, there.first].sort())
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  expect(await resume(w.db, { scope: 'all' })).toBe(2)
  expect(await woken()).toEqual([here.first, there.first].sort())
})

test('pausing something that is paused keeps the time of the first pause', async () => {
  const { channelId } = await aQueue('keyed')
  for (const reach of [
    { scope: 'all' },
    { scope: 'network', name: 'keyed' },
    { scope: 'channel', id: channelId },
  ] as const) {
    const since = await pause(w.db, reach)
    expect(await pause(w.db, reach)).toEqual(since)
  }
  const [all] = await w.db.select().from(installation)
  const [network] = await w.db.select().from(networks).where(eq(networks.name, 'keyed'))
  const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
  for (const paused of [all, network, channel]) expect(paused?.pausedAt).not.toBeNull()
})

test('resuming everything also ends a restore, and keeps narrower pauses', async () => {
  await pause(w.db, { scope: 'all' })
  await pause(w.db, { scope: 'network', name: 'keyed' })
  await w.db.update(installation).set({ restoredAt: new Date() })
  await resume(w.db, { scope: 'all' })
  expect(await w.db.select().from(installation)).toMatchObject([{ pausedAt: null, restoredAt: null }])
  const [network] = await w.db.select().from(networks).where(eq(networks.name, 'keyed'))
  expect(network?.pausedAt).not.toBeNull()
})

test('a limit is stored for a network that no worker has used yet, can be lifted, and wakes the deliveries that may fit now', async () => {
  const { first } = await aQueue('other')
  await limit(w.db, 'other', 3)
  expect(await woken()).toEqual([first])
  const atOnce = () => w.db.select({ n: networks.atOnce }).from(networks).where(eq(networks.name, 'other'))
  expect(await atOnce()).toEqual([{ n: 3 }])
  await limit(w.db, 'other', null)
  expect(await atOnce()).toEqual([{ n: null }])
  expect(await w.db.select().from(deliveries).where(eq(deliveries.id, first))).toMatchObject([{ state: 'scheduled' }])
})
