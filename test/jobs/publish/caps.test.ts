import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { releaseClaims } from '../../../jobs/ledger/ledger.ts'
import { limit, pause, resume } from '../../../jobs/ledger/pause.ts'
import { forgetDead, registerWorker } from '../../../jobs/monitoring/presence.ts'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import type { Behaviour } from '../../stand-ins/fake-network.ts'
import { claimOne, deliveryOf, intendOne, statesOf, untilPublished, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

/** Due deliveries, `perChannel` on each of `channels` new channels of a network. */
async function due(network: string, channels: number, perChannel: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: channels }, () => w.channel(network)))
  const wanted = ids.flatMap((channelId) => Array.from({ length: perChannel }, () => ({ channelId })))
  return someDeliveries(
    w.db,
    wanted.map(({ channelId }) => ({ organisationId: w.organisationId, channelId, dueAt: new Date() })),
  )
}

const shown: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })

/** Makes the network take 50 ms per answer; returns how many requests ran at once. */
function countAtOnce(): { most: number } {
  const seen = { most: 0 }
  let now = 0
  w.fake.behave = async (request, answer) => {
    seen.most = Math.max(seen.most, ++now)
    await sleep(50)
    now--
    await shown(request, answer)
  }
  return seen
}

test('any number of workers together send at most the cap of a network at once, and all posts go out', async () => {
  await limit(w.db, 'readable', 3)
  const atOnce = countAtOnce()
  const ids = await due('readable', 10, 3)
  await Promise.all([w.worker(), w.worker()])
  await untilPublished(w.db, ids)
  expect(atOnce.most).toBe(3)
  expect(w.fake.posts).toHaveLength(30)
})

test('a worker that joins keeps every network within its cap', async () => {
  await limit(w.db, 'readable', 4)
  const atOnce = countAtOnce()
  const way = { env: { WORKER_CONCURRENCY: '4' } } // two places for one network: two workers need not count
  const ids = await due('readable', 12, 10)
  await Promise.all([w.worker(way), w.worker(way)])
  await until(() => w.fake.posts.length > 0)
  await w.worker(way)
  await until(async () => {
    const waiting = (await statesOf(w.db, ids)).filter((state) => state !== 'published')
    if (waiting.length < 40) ids.push(...(await due('readable', 4, 5)))
    return (await ownersOf(ids)) === 3
  })
  await untilPublished(w.db, ids)
  expect(atOnce.most).toBe(4)
})

async function ownersOf(ids: string[]): Promise<number> {
  const owners = await w.db.execute(sql`
    select distinct owner from attempts where delivery_id = any(${sql.param(ids)}::uuid[])`)
  return owners.length
}

test('claims on one network wait for each other only when the workers together can reach its cap', async () => {
  await limit(w.db, 'readable', 3)
  const ids = await due('readable', 4, 1)
  const claim = async (tx: Db, i: number) => (await claimOne(tx, 'a', ids[i]!)) !== null
  await registerWorker(w.db, 'a', 2)
  await registerWorker(w.db, 'b', 4)
  await w.db.transaction(async (tx) => {
    expect(await claim(tx, 0)).toBe(true)
    expect(await claim(w.db, 1)).toBe(true)
    await registerWorker(w.db, 'c', 2)
    expect(await claim(w.db, 2)).toBe(false)
  })
  await w.db.transaction(async (tx) => {
    expect(await claim(tx, 2)).toBe(true)
    expect(await claim(w.db, 3)).toBe(false)
  })
  expect(await claim(w.db, 3)).toBe(false) // the cap is reached
  await forgetDead(w.db, ['a', 'b', 'c'])
  await releaseClaims(w.db, 'a')
  await cancelled(ids)
})

test('a delivery that a dead worker left takes one place of its network, and no more', async () => {
  await limit(w.db, 'readable', 2)
  const ids = await due('readable', 3, 1)
  const claim = async (owner: string, i: number) => (await claimOne(w.db, owner, ids[i]!)) !== null
  await registerWorker(w.db, 'a', 4)
  expect([await claim('dead', 0), await claim('a', 1), await claim('a', 2)]).toEqual([true, true, false])
  await forgetDead(w.db, ['a'])
  for (const owner of ['dead', 'a']) await releaseClaims(w.db, owner)
  await cancelled(ids)
})

async function cancelled(ids: string[]): Promise<void> {
  await w.db.execute(sql`update deliveries set state = 'cancelled' where id = any(${sql.param(ids)}::uuid[])`)
}

test('three networks that are behind share the places', async () => {
  w.fake.behave = async (request, answer) => {
    await sleep(20)
    await shown(request, answer)
  }
  const names = ['readable', 'blind', 'keyed']
  const ids = (await Promise.all(names.map((name) => due(name, 8, 6)))).flat()
  await w.worker({ env: { WORKER_CONCURRENCY: '4' } })
  await until(() => w.fake.posts.length >= 72)
  for (const name of names)
    expect(w.fake.received.filter(({ network }) => network === name).length, name).toBeGreaterThan(16)
  await untilPublished(w.db, ids)
})

test('a worker with free places takes the deliveries for which another one has no place', async () => {
  const answers: (() => void)[] = []
  w.fake.behave = (request, answer) => void answers.push(() => shown(request, answer))
  const ids = await due('readable', 6, 1)
  const way = { timesFactor: 3, env: { WORKER_CONCURRENCY: '4' } } // two places for one network
  const busy = await w.worker(way)
  await until(() => answers.length === 2)
  const idle = await w.worker(way)
  await until(async () => (await ownersOf(ids)) === 2)
  expect(busy.log() + idle.log()).not.toContain('lost its wake-up') // it would be logged after half a minute
  w.fake.behave = shown
  for (const answer of answers) answer()
  await untilPublished(w.db, ids)
})

test('a network that hangs takes at most half of the places, and another one goes on', async () => {
  const answers: (() => void)[] = []
  w.fake.behave = (request, answer) =>
    request.network === 'blind' ? void answers.push(() => shown(request, answer)) : shown(request, answer)
  const hanging = await due('blind', 12, 1)
  await w.worker({ timesFactor: 1, env: { WORKER_CONCURRENCY: '8' } })
  await until(() => answers.length >= 4)
  const others = await due('readable', 4, 5)
  await untilPublished(w.db, others)
  expect((await statesOf(w.db, hanging)).filter((state) => state === 'sending')).toHaveLength(4)
  w.fake.behave = shown
  for (const answer of answers) answer()
  await untilPublished(w.db, hanging)
})

test('a paused delivery is not claimed or sent, and goes out after the resume', async () => {
  const [id] = await due('readable', 1, 1)
  const { channelId } = await deliveryOf(w.db, id!)
  for (const reach of [
    { scope: 'all' },
    { scope: 'network', name: 'readable' },
    { scope: 'channel', id: channelId },
  ] as const) {
    await pause(w.db, reach)
    expect(await claimOne(w.db, 'worker', id!)).toBeNull()
    await resume(w.db, reach)
  }
  const claimed = await claimOne(w.db, 'worker', id!)
  await pause(w.db, { scope: 'network', name: 'readable' })
  expect(await intendOne(w.db, claimed!, '{}')).toBe(false)
  await w.db.execute(sql`update deliveries set lease_until = now() where id = ${id}`)
  await w.worker() // takes it over, and leaves it
  await until(async () => (await deliveryOf(w.db, id!)).state === 'scheduled')
  await until(async () => (await w.db.execute(sql`select from graphile_worker.jobs where key = ${id}`)).length === 0)
  expect(w.fake.received.filter(({ network }) => network === 'readable')).toHaveLength(0)
  await resume(w.db, { scope: 'network', name: 'readable' })
  await untilPublished(w.db, [id!])
})
