import { readFile } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { isPastGrace } from '../../../jobs/monitoring/presence.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { someDeliveries } from '../../builders.ts'
import { startCluster } from '../../postgres/cluster.ts'
import { testDatabase } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import type { Reading } from '../../stand-ins/fake-network.ts'
import { statesOf, type World, world } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { leasesOf, ownWorld, supervised, untilTakenUp } from '../play.ts'

// At the times of production: all running sends must be looked for at the same instant.

const Count = 80
const NetworkAtOnce = 10
const ReadingMs = 100

/** Sends to one network, each on its own channel, that never get an answer, although the posts are there. */
async function sendsWithoutAnswer(w: World): Promise<string[]> {
  w.fake.behave = (_request, { show }) => void show()
  w.fake.read = () => new Promise((done) => setTimeout(done, ReadingMs))
  const channelIds = await Promise.all(Array.from({ length: Count }, () => w.channel('readable')))
  const wanted = channelIds.map((channelId) => ({ organisationId: w.organisationId, channelId, dueAt: new Date() }))
  const ids = await someDeliveries(w.db, wanted)
  await until(() => w.fake.received.length === Count, 200_000)
  return ids
}

/** The most readings that ran at one time, the most that began within a second, and how soon half had begun. */
function peakOf(readings: Reading[]) {
  const atOnce = (at: number) => readings.filter((one) => one.at <= at && at < one.endedAt).length
  const within = (at: number) => readings.filter((one) => one.at >= at && one.at < at + 1000).length
  return {
    atOnce: Math.max(...readings.map(({ at }) => atOnce(at))),
    aSecond: Math.max(...readings.map(({ at }) => within(at))),
    halfAfterMs: readings[Math.floor(readings.length / 2)]!.at - readings[0]!.at,
  }
}

function expectNoBurst(w: World, after: string): void {
  const { atOnce, aSecond, halfAfterMs } = peakOf(w.fake.readings)
  process.stdout.write(
    `Readings after ${after}: at most ${atOnce} at once, ${aSecond} a second, half in ${halfAfterMs} ms\n`,
  )
  expect(atOnce).toBeLessThanOrEqual(NetworkAtOnce)
  // Two workers keep each place for a second, so a second may have as many again at each end. A burst has half of
  // them at once.
  expect(aSecond).toBeLessThanOrEqual(4 * NetworkAtOnce)
  expect(halfAfterMs).toBeGreaterThan(times.lookPaceMs)
  expect(w.fake.readings.length).toBeLessThan(2 * Count)
}

function untilAllPublished({ db }: World, ids: string[]): Promise<boolean> {
  return until(async () => (await statesOf(db, ids)).every((state) => state === 'published'), 240_000)
}

/** The processes of the PostgreSQL of `w`, its main process first. */
async function postgresOf({ db }: World): Promise<number[]> {
  const [row] = await db.execute<{ pid: number }>(
    sql`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`,
  )
  const children = await readFile(`/proc/${row!.pid}/task/${row!.pid}/children`, 'utf8')
  return [row!.pid, ...children.trim().split(' ').map(Number)]
}

const room = { timesFactor: 1, env: { WORKER_CONCURRENCY: String(2 * Count) } }

describe('when all leases expire at once, networks get a few readings at a time', () => {
  test('after a worker was frozen with all its sends', { timeout: 500_000 }, async (context) => {
    const w = await ownWorld(context)
    await until(async () => (await w.db.execute(sql`select where ${isPastGrace(times)}`)).length === 1)
    const victim = await w.worker(room)
    const ids = await sendsWithoutAnswer(w)
    victim.kill('SIGSTOP')
    for (const _ of [1, 2]) await w.worker({ timesFactor: 1 })
    await untilTakenUp(w.db, await leasesOf(w.db), 120_000)
    await untilAllPublished(w, ids)
    victim.kill('SIGCONT')
    expectNoBurst(w, 'a frozen worker')
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })

  test('after PostgreSQL was frozen', { timeout: 500_000 }, async ({ onTestFinished }) => {
    const cluster = await startCluster({ fsync: 'off', full_page_writes: 'off' })
    const w = await world({ database: await testDatabase({ server: cluster.server }) })
    const workers = [room, room].map((way) => supervised(w, way))
    onTestFinished(async () => {
      for (const worker of workers) await worker.stop()
      await w.end()
      await cluster.end()
    })
    await until(() => workers.every(({ ran }) => ran.length > 0), 200_000)
    const ids = await sendsWithoutAnswer(w)
    const pids = await postgresOf(w)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    await new Promise((done) => setTimeout(done, 1.5 * times.leaseMs)) // the fault itself: all leases expire
    for (const pid of pids.toReversed()) process.kill(pid, 'SIGCONT')
    await untilAllPublished(w, ids)
    expectNoBurst(w, 'a frozen PostgreSQL')
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })
})
