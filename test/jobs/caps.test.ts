import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { limit, pause, resume } from '../../jobs/pause.ts'
import { someDeliveries } from '../builders.ts'
import type { Behaviour } from '../fake-network.ts'
import { until } from '../processes.ts'
import { claimOne, deliveryOf, intendOne, statesOf, untilPublished, type World, world } from '../world.ts'

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

test('however many workers there are, no more go to a network at once than its cap, and all go out', async () => {
  await limit(w.db, 'readable', 3)
  let atOnce = 0
  let most = 0
  w.fake.behave = async (_request, { show, reply }) => {
    most = Math.max(most, ++atOnce)
    await sleep(50)
    atOnce--
    reply(200, { id: show() })
  }
  const ids = await due('readable', 10, 3)
  await Promise.all([w.worker(), w.worker()])
  await untilPublished(w.db, ids)
  expect(most).toBe(3)
  expect(w.fake.posts).toHaveLength(30)
})

test('a worker more, with whom the cap can be reached, begins to count what the others have under way', async () => {
  await limit(w.db, 'readable', 4)
  const env = { WORKER_CONCURRENCY: '4' } // two of them on one network
  let atOnce = 0
  let most = 0
  w.fake.behave = async (_request, { show, reply }) => {
    most = Math.max(most, ++atOnce)
    await sleep(50)
    atOnce--
    reply(200, { id: show() })
  }
  const ids = await due('readable', 12, 40)
  await Promise.all([w.worker({ env }), w.worker({ env })])
  await until(() => w.fake.posts.length > 0)
  await w.worker({ env })
  expect(w.fake.posts.length).toBeLessThan(400)
  await untilPublished(w.db, ids)
  expect(most).toBe(4)
})

test('who counts waits for those who need not, and these for it', async () => {
  await limit(w.db, 'readable', 3)
  await w.db.execute(sql`
    insert into workers (owner, host, pid, concurrency, seen_at) values ('a', 'host', 1, 2, now() + interval '1 hour'), ('b', 'host', 2, 4, now() + interval '1 hour')`)
  const [one, two, three, four, five] = await due('readable', 5, 1)
  const networkOf = sql`select from networks where name = 'readable'`
  const claim = async (id: string) => (await claimOne(w.db, 'a', id)) !== null
  await w.db.transaction(async (tx) => {
    await tx.execute(sql`${networkOf} for share`)
    expect(await claim(one!)).toBe(true)
  })
  await w.db.transaction(async (tx) => {
    await tx.execute(sql`${networkOf} for no key update`)
    expect(await claim(two!)).toBe(false)
  })
  await w.db.execute(sql`
    insert into workers (owner, host, pid, concurrency, seen_at) values ('c', 'host', 3, 2, now() + interval '1 hour')`)
  await w.db.transaction(async (tx) => {
    await tx.execute(sql`${networkOf} for share`)
    expect(await claim(three!)).toBe(false)
  })
  expect([await claim(three!), await claim(four!), await claim(five!)]).toEqual([true, true, false])
})

test('networks take turns: of three that are behind none waits for the others', async () => {
  const atOnce: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })
  w.fake.behave = async (request, answer) => {
    await sleep(20)
    await atOnce(request, answer)
  }
  const names = ['readable', 'blind', 'keyed']
  const ids = (await Promise.all(names.map((name) => due(name, 8, 6)))).flat()
  await w.worker({ env: { WORKER_CONCURRENCY: '4' } })
  await until(() => w.fake.posts.length >= 72)
  for (const name of names)
    expect(w.fake.received.filter(({ network }) => network === name).length, name).toBeGreaterThan(16)
  await untilPublished(w.db, ids)
})

test('a network that hangs takes at most half of the places: another one goes on', async () => {
  const answers: (() => void)[] = []
  const atOnce: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })
  w.fake.behave = (request, answer) =>
    request.network === 'blind' ? void answers.push(() => atOnce(request, answer)) : atOnce(request, answer)
  const hanging = await due('blind', 12, 1)
  await w.worker({ timesFactor: 1, env: { WORKER_CONCURRENCY: '8' } })
  await until(() => answers.length >= 4)
  const others = await due('readable', 4, 5)
  await untilPublished(w.db, others)
  expect((await statesOf(w.db, hanging)).filter((state) => state === 'sending')).toHaveLength(4)
  w.fake.behave = atOnce
  for (const answer of answers) answer()
  await untilPublished(w.db, hanging)
})

test('what is paused is neither claimed nor begun, and goes out once it is resumed', async () => {
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
