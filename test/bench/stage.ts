import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Db } from '../../db/client.ts'
import { variablesWith } from '../../db/env.ts'
import { bundle } from '../../server/run/bundle.ts'
import { freePort } from '../port.ts'
import { startCluster } from '../postgres/cluster.ts'
import { testDatabase } from '../postgres/database.ts'
import { type Site as Installed, testSite, until } from '../processes.ts'

const Root = resolve(import.meta.dirname, '../..')
const Bundle = 'build/bench-worker.js' // beside the migrations, where a worker looks for them

/** A PostgreSQL with default settings, durable as in production, and the bundle of the bench's worker. */
export type Stage = { server: string; end: () => Promise<void> }

/** An installation with an empty database of its own, and the pool `db` on it. Goes when it is disposed of. */
export type Site = Installed & AsyncDisposable & { db: Db }

/** A process of the product. Its log is a file in the site's folder. */
export type Process = { pid: number; stop: () => Promise<void> }

/** Start PostgreSQL and bundle the worker. `end` stops the one and removes it. */
export async function openStage(): Promise<Stage> {
  // jobs/index.ts is a part of it, and must not run by itself as well.
  await bundle({ 'bench-worker': 'test/bench/worker.ts' }, 'build', { define: { 'import.meta.main': 'false' } })
  return startCluster({})
}

/** Make an empty installation. The rate limit is counted, and never reached. */
export async function openSite({ server }: Stage): Promise<Site> {
  const { url, db, end } = await testDatabase({ server })
  const installed = await testSite(url, { RATE_LIMIT: '1000000' })
  return {
    ...installed,
    db,
    async [Symbol.asyncDispose]() {
      await end()
      await installed.end()
    },
  }
}

/** Start a worker whose networks answer after `delayMs`, and wait until it is ready. */
export async function startWorker(
  site: Site,
  { delayMs, record = null }: { delayMs: number; record?: string | null },
): Promise<Process> {
  const port = await freePort()
  const args = [Bundle, JSON.stringify({ delayMs, record })]
  return start(site, args, { WORKER_PORT: String(port) }, `http://127.0.0.1:${port}/readyz`)
}

/** Start the web process, and wait until it is ready. */
export function startWeb(site: Site): Promise<Process> {
  return start(site, ['build/web.js'], {}, `${site.appUrl}/readyz`)
}

/** Start a script with the site's environment, and wait until `readyUrl` answers 200. */
export async function start(
  site: Site,
  args: string[],
  env: Record<string, string>,
  readyUrl: string,
): Promise<Process> {
  const logFile = join(site.dataDir, `${randomBytes(4).toString('hex')}.log`)
  const log = openSync(logFile, 'w')
  const child = spawn(process.execPath, ['--enable-source-maps', ...args], {
    cwd: Root,
    env: variablesWith({ ...site.env, ...env }),
    stdio: ['ignore', log, log], // a file, so that nobody has to read while it runs
  })
  const ended = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${args[0]} ended: ${readFileSync(logFile, 'utf8')}`)
    return fetch(readyUrl).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM')
      await ended
      process.off('exit', kill)
    },
  }
}
