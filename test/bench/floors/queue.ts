import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Logger, type RunnerOptions, run } from 'graphile-worker'
import type { Db } from '../../../db/client.ts'
import { openSite, type Stage } from '../stage.ts'

const logger = new Logger(() => () => {})

/** Bare graphile-worker at its best, with its local queue: `count` jobs that do nothing. Returns jobs per second. */
export async function bareQueue(stage: Stage, count: number): Promise<number> {
  await using site = await openSite(stage)
  await addJobs(site.db, count, sql`now()`)
  let begun = 0
  const taskList = {
    bench: async () => {
      begun ||= performance.now()
    },
  }
  const preset = {
    worker: { localQueue: { size: 51, ttl: 10_000 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  }
  const options = { ...shared(site.databaseUrl), pollInterval: 1000, maxPoolSize: 4, taskList, preset }
  const runner = await run(options)
  while (await isAnyLeft(site.db)) await sleep(50)
  const seconds = (performance.now() - begun) / 1000
  await runner.stop()
  return count / seconds
}

/** How late bare graphile-worker is that polls every 100 ms: `count` jobs at random instants. Milliseconds, one a job. */
export async function bareLateness(stage: Stage, count: number, spreadMs: number): Promise<number[]> {
  await using site = await openSite(stage)
  const lateMs: number[] = []
  const taskList = {
    bench: async (payload: unknown) =>
      void lateMs.push(performance.timeOrigin + performance.now() - (payload as { at: number }).at),
  }
  const runner = await run({ ...shared(site.databaseUrl), pollInterval: 100, taskList })
  const spread = sql`now() + interval '3 s' + interval '1 ms' * random() * ${spreadMs}::float8`
  await addJobs(site.db, count, spread)
  while (await isAnyLeft(site.db)) await sleep(200)
  await runner.stop()
  return lateMs
}

function shared(connectionString: string): RunnerOptions {
  return { connectionString, concurrency: 50, noHandleSignals: true, logger }
}

async function addJobs(db: Db, count: number, at: ReturnType<typeof sql>): Promise<void> {
  await db.execute(sql`
    select graphile_worker.add_jobs(array_agg(row(
      'bench', json_build_object('at', extract(epoch from j.at)::float8 * 1000), null, j.at, null, 'bench:' || j.n, null, null
    )::graphile_worker.job_spec))
    from (select n, ${at} as at from generate_series(1, ${count}::int) n) j`)
}

async function isAnyLeft(db: Db): Promise<boolean> {
  return (await db.execute(sql`select from graphile_worker.jobs limit 1`)).length > 0
}
