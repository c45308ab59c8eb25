import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort } from './port.ts'
import { Bundles } from './run/bundles.ts'
import type { FakeNetwork } from './stand-ins/fake-network.ts'
import type { DieAt } from './worker.ts'

const Root = resolve(import.meta.dirname, '..')

/** The variables of every process that a test starts, whatever its settings are. */
export const runtime = {
  PATH: process.env.PATH ?? '',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '', // set by test/run/setup.ts
}

/** A process of the product, started for a test. `log` is everything that it wrote. */
export type Started = {
  pid: number
  log: () => string
  kill: (signal: NodeJS.Signals) => void
  ended: Promise<number | null>
  stop: () => Promise<number | null>
}

/** An installation for a test: what all its processes share. */
export type Site = {
  databaseUrl: string
  secretKey: Buffer
  dataDir: string
  port: number
  appUrl: string
  env: Record<string, string>
  end: () => Promise<void>
}

const secretKey = randomBytes(32) // one for all sites of a file: several may be on one database

/** A folder, the key and a free port for the processes on `databaseUrl`. `extra` overrides variables. */
export async function testSite(databaseUrl: string, extra: Record<string, string> = {}): Promise<Site> {
  const dataDir = await mkdtemp(join(tmpdir(), 'punctual-site-'))
  const port = await freePort()
  const appUrl = `http://localhost:${port}`
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: secretKey.toString('base64'),
    DATA_DIR: dataDir,
    PORT: String(port),
    APP_URL: appUrl,
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    RATE_LIMIT: '0',
    LOG_LEVEL: 'info',
    NODE_ENV: 'production',
    ...extra,
  }
  return {
    databaseUrl,
    secretKey,
    dataDir,
    port,
    appUrl,
    env,
    end: () => rm(dataDir, { recursive: true, force: true }),
  }
}

/** Where a process writes: to a pipe that we read as its `log`, to an open file, or to a closed pipe. */
export type Stdout = 'read' | 'closed' | number

/** Starts the web process and waits until it is ready. */
export async function startWeb(site: Site, stdout: Stdout = 'read'): Promise<Started> {
  const web = start([join(Bundles, 'web.js')], site.env, stdout)
  await untilReady(web, () => site.appUrl)
  return web
}

/** Starts web and worker as `npm start` does, from build/, and waits until the site is ready. */
export async function startAll(site: Site, stdout: Stdout = 'read'): Promise<Started> {
  const all = start(['server/run/start.ts'], site.env, stdout)
  await untilReady(all, () => site.appUrl)
  return all
}

/** How to start a worker: with which fake networks and variables, where it ends, and node's own arguments. */
export type WorkerWay = {
  networks?: FakeNetwork[]
  timesFactor?: number
  env?: Record<string, string>
  dieAt?: DieAt
  mayEnd?: boolean // also before it is ready
  node?: string[]
  stdout?: Stdout // not 'read': needs WORKER_PORT in `env`, because there is no log with the port
}

/** Starts a worker process and waits until it is ready. */
export async function startWorker(
  site: Site,
  {
    networks = [],
    timesFactor = 0.1,
    env = {},
    dieAt,
    mayEnd = dieAt !== undefined,
    node = [],
    stdout = 'read',
  }: WorkerWay = {},
): Promise<Started & { healthUrl: string }> {
  const args = [...node, join(Bundles, 'worker.js'), JSON.stringify({ networks, timesFactor, dieAt })]
  const worker = start(args, { ...site.env, WORKER_PORT: '0', ...env }, stdout)
  const healthUrl = () => {
    const port = env.WORKER_PORT ?? /"port":(\d+)\},"msg":"worker runs"/.exec(worker.log())?.[1]
    return port ? `http://127.0.0.1:${port}` : null
  }
  const ready = untilReady(worker, healthUrl)
  await (mayEnd ? Promise.race([ready, worker.ended]) : ready)
  return { ...worker, healthUrl: healthUrl() ?? 'http://127.0.0.1:9' } // a worker that ended before has no address
}

/** Waits until `condition` returns something, checking every 20 ms. After `withinMs` it throws, with the source of
 * `condition`. */
export async function until<T>(
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  withinMs = 60_000,
): Promise<T> {
  for (const end = Date.now() + withinMs; ; ) {
    const seen = await condition()
    if (seen) return seen
    if (Date.now() > end) throw new Error(`Not within ${withinMs} ms: ${condition}`)
    await new Promise((done) => setTimeout(done, 20))
  }
}

function start(args: string[], env: Record<string, string>, stdout: Stdout): Started {
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: Root,
    env: { ...runtime, NODE_ENV: 'production', ...env },
    stdio: ['ignore', typeof stdout === 'number' ? stdout : 'pipe', 'pipe'],
  })
  let log = ''
  if (stdout === 'closed') child.stdout?.destroy()
  child.stdout?.on('data', (chunk) => (log += chunk))
  child.stderr?.on('data', (chunk) => (log += chunk))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const kill = (signal: NodeJS.Signals) => void child.kill(signal)
  const stop = () => {
    kill('SIGTERM')
    return ended
  }
  return { pid: child.pid!, log: () => log, kill, ended, stop }
}

async function untilReady({ ended, log, kill }: Started, urlOf: () => string | null): Promise<void> {
  let code: number | null | undefined
  void ended.then((exit) => (code = exit))
  await until(async () => {
    if (code !== undefined) throw new Error(`The process ended with ${code}:\n${log()}`)
    const url = urlOf()
    return (
      url !== null &&
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
  }, 60_000).catch((error) => {
    kill('SIGKILL')
    throw new Error(`${(error as Error).message}\n${log()}`)
  })
}
