import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { connect, type Db } from '../../db/client.ts'
import { readEnv } from '../../db/env.ts'
import type { Installation } from '../../server/access/trpc.ts'
import { apiFor } from '../../server/router.ts'
import { install } from '../../server/run/installation.ts'
import { aChannel, anOrganisation } from '../builders.ts'
import { startCluster } from '../postgres/cluster.ts'
import { testSite } from '../processes.ts'
import { type FakeNetwork, fakeNetwork, kinds } from '../stand-ins/fake-network.ts'
import { chanceOf } from './chance.ts'
import { startMoodyNetwork } from './network.ts'
import { begunWhileStopped, openOperator } from './operators.ts'
import { act, newTold, type Org, putRight } from './people.ts'
import { ClockMs, verdict } from './verdict.ts'
import { openWeather } from './weather.ts'

// `npm run test:storm -- --minutes 10 --seed 1`: real workers and a real PostgreSQL, killed, frozen, stopped and cut off at
// random, a network that misbehaves, and people who change their minds. Then it calms, and what was promised must hold.

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' }, seed: { type: 'string' } } })
const seed = Number(values.seed ?? randomBytes(3).readUIntBE(0, 3))
const stormMs = Number(values.minutes) * 60_000
const WorkersAtLeast = 2
const DeedsAtOnce = 6
const EndsWithinMs = 120_000

const print = (line: string) => process.stdout.write(`${line}\n`)

if (!(stormMs > 0) || !Number.isInteger(seed)) throw new Error('--minutes and --seed are numbers.')
print(`Storm of ${values.minutes} minutes, seed ${seed}.`)
process.exit((await storm()) ? 0 : 1)

async function storm(): Promise<boolean> {
  const chance = chanceOf(seed)
  const cluster = await startCluster({ fsync: 'off', full_page_writes: 'off', max_connections: '300' })
  const fake = await startMoodyNetwork(chance)
  const networks: FakeNetwork[] = kinds.map((kind) => ({
    name: kind,
    url: fake.url,
    repeatedSend: kind,
    canRefresh: true,
    settlesWithinMs: 500,
  }))
  const site = await testSite(`${cluster.server}/migrated`)
  const { installation, end } = await install(readEnv(site.env))
  const { db, end: endDb } = connect(site.databaseUrl, { connections: 3, name: 'storm' })
  const weather = openWeather(site, networks, { cluster, db, chance })
  try {
    const orgs = [
      await openOrg(db, installation, site.secretKey, networks),
      await openOrg(db, installation, site.secretKey, networks),
    ]
    const scene = { db, orgs, chance, told: newTold(), shown: () => fake.posts }
    const operator = openOperator(scene)
    await rage(scene, weather, operator)
    fake.calm()
    await Promise.all([weather.calm(), operator.calm()])
    const isOver = await comeToRest(scene, weather)
    const broken = [
      ...(isOver ? [] : [`It did not come to rest within ${EndsWithinMs} ms.`]),
      ...(fake.received.length > 0 ? [] : ['Nothing was sent.']),
      ...(await verdict(db, scene.told, fake)),
      ...(await begunWhileStopped(db, operator.stops, ClockMs)),
    ]
    await report(scene, { ...weather.counts, stops: operator.stops.length }, fake.received.length, broken)
    if (broken.length > 0) print(`The workers’ log is in ${site.dataDir}.`)
    await weather.end()
    if (broken.length === 0) await site.end()
    return broken.length === 0
  } finally {
    await weather.end()
    await Promise.all([end(), endDb(), fake.end()])
    await cluster.end()
  }
}

type Scene = Parameters<typeof act>[0]
type Weather = ReturnType<typeof openWeather>

async function rage(scene: Scene, weather: Weather, operator: ReturnType<typeof openOperator>): Promise<void> {
  const { chance } = scene
  const underWay = new Set<Promise<void>>()
  for (const until = Date.now() + stormMs; Date.now() < until; await sleep(60)) {
    while (weather.alive() < WorkersAtLeast) weather.start()
    if (weather.alive() < 4 && chance.oneIn(100)) weather.start()
    if (chance.oneIn(50)) weather.blow()
    if (chance.oneIn(100)) operator.turn()
    if (underWay.size >= DeedsAtOnce || chance.oneIn(2)) continue
    const deed = act(scene).finally(() => underWay.delete(deed))
    underWay.add(deed)
  }
  await Promise.all(underWay)
}

/** All is put right again and again until nothing moves. */
async function comeToRest(scene: Scene, weather: Weather): Promise<boolean> {
  for (const until = Date.now() + EndsWithinMs; Date.now() < until; await sleep(200)) {
    while (weather.alive() < WorkersAtLeast) weather.start()
    await putRight(scene)
    const moving = await scene.db.execute(sql`
      select from deliveries where state not in ('published', 'failed', 'cancelled', 'draft') limit 1`)
    if (moving.length === 0) return true
  }
  return false
}

async function report(
  { db, told }: Scene,
  counts: Record<string, number>,
  sends: number,
  broken: string[],
): Promise<void> {
  const states = await db.execute<{ state: string; count: number }>(
    sql`select state, count(*)::int as count from deliveries group by 1 order by 1`,
  )
  const all = (record: Record<string, number>) =>
    Object.entries(record)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  print(
    `Posts ${told.posts.length}, sends ${sends}. Deeds: ${all(Object.fromEntries(told.deeds))}, refused ${told.refused}.`,
  )
  print(`Deliveries: ${[...states].map(({ state, count }) => `${state} ${count}`).join(', ')}.`)
  print(`Weather: ${all(counts)}.`)
  print(broken.length === 0 ? `Nothing was broken. Seed ${seed}.` : `BROKEN, seed ${seed}:\n${broken.join('\n')}`)
}

async function openOrg(db: Db, installation: Installation, secretKey: Buffer, fakes: FakeNetwork[]): Promise<Org> {
  const { organisationId, accountId } = await anOrganisation(db)
  const actor = {
    ...{
      kind: 'member' as const,
      isSuspended: false,
      id: accountId,
      organisationId,
      role: 'owner' as const,
      name: 'Ada',
      timeZone: 'UTC',
      weekStart: null,
      clock: null,
    },
    ...{ email: 'ada@example.org', sessionId: organisationId },
  }
  const token = `good of ${organisationId}`
  const channels = []
  for (const kind of [...kinds, ...kinds])
    channels.push({
      network: kind as string,
      id: await aChannel(db, secretKey, { organisationId, network: kind, token }),
    })
  const networks = Object.fromEntries(fakes.map((one) => [one.name, fakeNetwork(one)]))
  const api = apiFor({
    ...installation,
    networks,
    actor,
    log: pino({ level: 'silent' }),
    address: '127.0.0.1',
    idempotency: null,
  })
  return { organisationId, channels, api }
}
