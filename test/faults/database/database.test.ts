import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../postgres/cluster.ts'
import { testDatabase } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { deliveryOf, untilPublished, type World, world } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { endOf, oneOfEach, supervised } from '../play.ts'
import { hold, makeHoldable } from './hold.ts'

// At the times of production: a worker that loses the database keeps its results, and nothing waits for a dead
// worker.

const AwayMs = 5_000
const WorksAgainWithinMs = 30_000
const Modes = ['fast', 'immediate', 'read-only'] as const
const Activities = ['idle', 'claiming', 'sending', 'recording'] as const

type Worker = Awaited<ReturnType<World['worker']>>
type Supervised = ReturnType<typeof supervised>

describe.concurrent('PostgreSQL away for 5 s: every worker works again within 30 s of its return, and nothing is lost or sent twice', () => {
  for (const mode of Modes)
    test(`${mode}: while idle, claiming, sending and recording`, { timeout: 400_000 }, async ({ onTestFinished }) => {
      const cluster = await startCluster({ fsync: 'off', full_page_writes: 'off' }) // committed rows survive the stop
      const w = await world({ database: await testDatabase({ server: cluster.server }) })
      const workers = [1, 2].map(() => supervised(w, { timesFactor: 1 }))
      onTestFinished(async () => {
        for (const worker of workers) await worker.stop()
        await w.end()
        await cluster.end()
      })
      await makeHoldable(w.db)
      await until(() => workers.every(({ ran }) => ran.length > 0))
      for (const activity of Activities) {
        const { ids, goOn } = await busy(w, activity)
        await away(w, cluster, mode, goOn)
        const tookMs = await untilAllWork(w, workers)
        process.stdout.write(`PostgreSQL away (${mode}) while ${activity}: all work again after ${tookMs} ms\n`)
        expect(tookMs).toBeLessThan(WorksAgainWithinMs)
        await untilPublished(w.db, ids)
        for (const id of ids) {
          expect(await endOf(w, id)).toEqual({ state: 'published', evidence: 'answered', sent: 1, out: 1 })
          expect(await deliveryOf(w.db, id)).toMatchObject({ crashCount: 0 })
        }
        for (const worker of workers) expect(await statusOf(worker.now(), 'livez')).toBe(200)
      }
      await assertInvariants(w, { lostAfterMs: 60_000 })
    })
})

/** Brings a delivery of each kind to the activity; `goOn` removes what blocks them there. */
async function busy(w: World, activity: (typeof Activities)[number]) {
  if (activity === 'idle') return { ids: [], goOn: async () => {} }
  if (activity === 'sending') {
    const answers: (() => void)[] = []
    w.fake.behave = (_request, { show, reply }) => void answers.push(() => reply(200, { id: show() }))
    const ids = Object.values(await oneOfEach(w))
    await until(() => answers.length >= ids.length)
    return {
      ids,
      goOn: async () => {
        for (const answer of answers) answer()
        w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
      },
    }
  }
  const held = await hold(w.site.databaseUrl, activity === 'claiming' ? 'scheduled>claimed' : 'sending>published')
  const ids = Object.values(await oneOfEach(w))
  await held.reached()
  return { ids, goOn: held.letThrough }
}

/** Takes the database away; `meanwhile` is called when it is gone. */
async function away(w: World, cluster: Cluster, mode: (typeof Modes)[number], meanwhile: () => Promise<void>) {
  const readOnly = async (to: string) => {
    await w.db.execute(sql.raw(`alter system set default_transaction_read_only = ${to}`))
    await w.db.execute(sql`select pg_reload_conf()`)
    await until(async () => {
      const [row] = await w.db.execute<{ to: string }>(
        sql`select current_setting('default_transaction_read_only') as to`,
      )
      return row!.to === to
    })
  }
  await (mode === 'read-only' ? readOnly('on') : cluster.stop(mode))
  await Promise.all([sleep(AwayMs), meanwhile()])
  await (mode === 'read-only' ? readOnly('off') : cluster.start())
  await until(() =>
    w.db.execute(sql`select 1`).then(
      () => true,
      () => false,
    ),
  )
}

/** Each worker in turn, with the others frozen, sends one of each kind. Returns after how many ms all have. */
async function untilAllWork(w: World, workers: Supervised[]): Promise<number> {
  const from = Date.now()
  await until(async () => (await Promise.all(workers.map(isReady))).every(Boolean)) // or its successor starts
  for (const worker of workers) {
    await until(() => isReady(worker))
    const others = workers.filter((other) => other !== worker).map((other) => other.now())
    for (const other of others) other.kill('SIGSTOP')
    const ids = await until(() => oneOfEach(w).catch(() => null)) // our own connection may be lost too
    await untilPublished(w.db, Object.values(ids))
    for (const other of others) other.kill('SIGCONT')
  }
  return Date.now() - from
}

async function isReady(worker: Supervised): Promise<boolean> {
  return statusOf(worker.now(), 'readyz').then(
    (status) => status === 200,
    () => false,
  )
}

async function statusOf({ healthUrl }: Worker, path: string): Promise<number> {
  return (await fetch(`${healthUrl}/${path}`)).status
}
