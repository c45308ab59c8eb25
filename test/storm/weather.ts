import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Db, isDatabaseAway } from '../../db/client.ts'
import { variablesWith } from '../../db/env.ts'
import type { Cluster } from '../postgres/cluster.ts'
import type { Site } from '../processes.ts'
import type { FakeNetwork } from '../stand-ins/fake-network.ts'
import type { Chance } from './chance.ts'

/** What befalls workers and the database. `counts` says how often. */
export function openWeather(
  site: Site,
  networks: FakeNetwork[],
  { cluster, db, chance }: { cluster: Cluster; db: Db; chance: Chance },
) {
  const workers: ChildProcess[] = []
  const log = openSync(join(site.dataDir, 'workers.log'), 'a')
  const counts: Record<string, number> = {}
  let busy: Promise<void> = Promise.resolve()

  function start(): void {
    const env = variablesWith({ ...site.env, WORKER_PORT: '0' })
    const child: ChildProcess = spawn(
      process.execPath,
      [join(import.meta.dirname, 'worker.ts'), JSON.stringify(networks)],
      {
        env,
        stdio: ['ignore', log, log],
      },
    )
    workers.push(child)
    child.on('exit', () => workers.splice(workers.indexOf(child), 1))
    count('starts')
  }
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1)
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    await ended
  }
  const cutSome = async () => {
    const all = await db.execute<{ pid: number }>(sql`
      select pid from pg_stat_activity where application_name like 'punctual%' and pid <> pg_backend_pid() order by pid`)
    const some = all.flatMap(({ pid }) => (chance.oneIn(3) ? [pid] : []))
    await db.execute(sql`select pg_terminate_backend(pid) from unnest(${sql.param(some)}::int[]) pid`)
  }

  const blows = {
    async kill() {
      if (workers.length > 0) chance.of(workers).kill('SIGKILL')
    },
    async ask() {
      if (workers.length > 0) chance.of(workers).kill('SIGTERM')
    },
    async freeze() {
      if (workers.length === 0) return
      const child = chance.of(workers)
      child.kill('SIGSTOP')
      setTimeout(() => child.kill('SIGCONT'), chance.between(300, 6000))
    },
    async cut() {
      await cutSome().catch((error: unknown) => {
        if (!isDatabaseAway(error)) throw error // who is cut may be who cuts
      })
    },
    async restart() {
      const mode = chance.of(['fast', 'immediate'] as const)
      await cluster.stop(mode)
      await sleep(chance.between(0, 2000))
      await cluster.start()
      count(`restarts, ${mode}`)
    },
  }

  return {
    counts,
    start,
    /** One blow, when the one before is over. One that fails is heard of in `calm`. */
    blow(): void {
      busy = busy.then(async () => {
        const which = chance.weighted({ kill: 10, ask: 4, freeze: 6, cut: 3, restart: 2 })
        await blows[which]()
        count(which)
      })
      busy.catch(() => {})
    },
    alive: () => workers.length,
    /** Everybody awake. */
    async calm() {
      await busy
      for (const child of workers) child.kill('SIGCONT')
    },
    async end() {
      await Promise.all([...workers].map((child) => end(child, 'SIGKILL')))
    },
  }
}
