import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { aCrowd, schedule } from './crowd.ts'
import type { Figure } from './figures.ts'
import { publish } from './publishing.ts'
import type { Settings } from './run.ts'
import { openSite, type Process, type Stage, startWeb, startWorker } from './stage.ts'

const IdleMs = 10_000
const SampleMs = 100
const Day = 86_400_000

type Memory = { webAtRest: number; workerAtRest: number; web: number; worker: number } // MB; the last two at most

/** Part e: memory of web and worker at rest and under part b, and what a worker at rest asks of the database. */
export async function footprint(stage: Stage, { runs, deliveries, restMs, say }: Settings): Promise<Figure[]> {
  const memory: Memory[] = []
  const perSecond: number[] = []
  for (let run = 1; run <= runs; run++) {
    memory.push(await memoryUnderLoad(stage, deliveries))
    say(`e ${run}: ${JSON.stringify(memory.at(-1))} MB`)
    perSecond.push(await transactionsAtRest(stage, deliveries, restMs))
    say(`e ${run}: ${perSecond.at(-1)?.toFixed(1)} transactions per second at rest`)
  }
  const mb = (name: string, key: keyof Memory) => ({ part: 'e', name, unit: 'MB', runs: memory.map((one) => one[key]) })
  return [
    mb('web at rest', 'webAtRest'),
    mb('web at most under b', 'web'),
    mb('worker at rest', 'workerAtRest'),
    { ...mb('worker at most under b', 'worker'), goal: { of: 'figure', atMost: 250 } },
    {
      ...{
        part: 'e',
        name: `transactions at rest, one worker, ${deliveries} scheduled`,
        unit: 'per s',
        runs: perSecond,
      },
      goal: { of: 'figure', atMost: 15 },
    },
  ]
}

async function memoryUnderLoad(stage: Stage, count: number): Promise<Memory> {
  let memory: Memory | undefined
  const wanted = { count, spreadMs: 1000, workers: 1, delayMs: 0 }
  await publish(stage, { ...wanted, meanwhile }, () => {})
  return memory!

  async function meanwhile([worker]: Process[], site: Parameters<typeof startWeb>[0]): Promise<AsyncDisposable> {
    const web = await startWeb(site)
    await sleep(IdleMs)
    const peaks = { webAtRest: residentMb(web), workerAtRest: residentMb(worker!), web: 0, worker: 0 }
    const timer = setInterval(() => {
      peaks.web = Math.max(peaks.web, residentMb(web))
      peaks.worker = Math.max(peaks.worker, residentMb(worker!))
    }, SampleMs)
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(timer)
        memory = peaks
        await web.stop()
      },
    }
  }
}

async function transactionsAtRest(stage: Stage, count: number, forMs: number): Promise<number> {
  await using site = await openSite(stage)
  const crowd = await aCrowd(site)
  await schedule(site.db, crowd, { count, from: new Date(Date.now() + Day), spreadMs: 30 * Day })
  const worker = await startWorker(site, { delayMs: 0 })
  try {
    await sleep(IdleMs)
    const before = await transactionsOf(site.db)
    await sleep(forMs)
    const after = await transactionsOf(site.db)
    const own = 1 // the first of the two questions; the second is counted after its answer
    return ((after - before - own) / forMs) * 1000
  } finally {
    await worker.stop()
  }
}

async function transactionsOf(db: Db): Promise<number> {
  const [row] = await db.execute<{ count: number }>(sql`
    select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()`)
  return row!.count
}

// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
function residentMb({ pid }: Process): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
