import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import postgres from 'postgres'
import type { Env } from '../env.ts'
import type { KeyRing } from '../sealed.ts'
import * as server from './postgres.ts'

/** What every process needs to know about its installation. */
export type Installation = { databaseUrl: string; secretKeys: KeyRing }

/** We cannot join or start the installation. The message is a sentence for the operator. */
export class InstallationError extends Error {}
/** Nothing is wrong, but the embedded database has not been started. */
export class NotRunning extends InstallationError {}

type Settings = Pick<Env, 'dataDir' | 'databaseUrl' | 'secretKeys'>
type Kept = { port: number; password: string; folder: string } // port 0: not started yet

const LockKey = 7_036_871_432 // held by the one process that runs the server
const PatienceMs = 10_000 // right after a stop or a kill, the old server still runs for a moment

/**
 * Start the embedded PostgreSQL of `env.dataDir` and keep it running until `stop`. The first start creates it.
 *
 * We take over a server that a killed process left, and restart a server that dies. The folder holds postgres/ (the
 * cluster; it is elsewhere when PostgreSQL's user cannot reach the folder), postgres.json and, unless SECRET_KEYS is
 * set, secret-keys, both 0600. Throws InstallationError when another process runs it, or a part is missing.
 */
export async function startEmbedded(
  env: Settings,
  log: Logger,
): Promise<{ installation: Installation; stop(): Promise<void> }> {
  const dataDir = resolve(env.dataDir)
  await mkdir(dataDir, { recursive: true })
  const programs = await server.findPostgres(log)
  const kept = (await readKept(dataDir)) ?? (await firstTime(programs, dataDir, log))
  const secretKeys = env.secretKeys ?? (await keptKeys(dataDir, { make: !existsSync(kept.folder) }))
  if (!existsSync(kept.folder)) await makeCluster(programs, dataDir, kept)
  const { port, letGo } = await answerFor(programs, kept, log)
  await writeKept(dataDir, { ...kept, port })
  let stopped: Promise<void> | null = null
  const stop = () => {
    stopped ??= letGo().then(() => server.stopServer(kept.folder)) // once: later the server may belong to another process
    return stopped
  }
  return { installation: { databaseUrl: urlOf({ ...kept, port }), secretKeys }, stop }
}

/**
 * The installation for this process: DATABASE_URL and SECRET_KEYS name it, or it is the embedded one of
 * `env.dataDir`, which another process has started.
 *
 * Throws InstallationError, which says what is missing and what to run. NotRunning: only `npm start` is needed.
 */
export async function joinInstallation(env: Settings): Promise<Installation> {
  if (env.databaseUrl) {
    if (env.secretKeys) return { databaseUrl: env.databaseUrl, secretKeys: env.secretKeys }
    throw new InstallationError(
      'DATABASE_URL is set, but SECRET_KEYS is not. Set it to the same value for every process: `openssl rand -base64 32` creates a key.',
    )
  }
  const dataDir = resolve(env.dataDir)
  const kept = await readKept(dataDir)
  if (!kept || !(await server.serverOn(kept.folder))) {
    throw new NotRunning(
      `DATABASE_URL is not set, and no embedded database is running in ${dataDir}. Run \`npm start\` first, or set DATABASE_URL.`,
    )
  }
  return { databaseUrl: urlOf(kept), secretKeys: env.secretKeys ?? (await keptKeys(dataDir, { make: false })) }
}

async function readKept(dataDir: string): Promise<Kept | null> {
  const text = await readFile(join(dataDir, 'postgres.json'), 'utf8').catch(nullIfMissing)
  if (text === null) return null
  const { port, password, folder }: Omit<Kept, 'folder'> & { folder?: string } = JSON.parse(text)
  return { port, password, folder: folder ?? join(dataDir, 'postgres') }
}

// We don't record the cluster's path when it is in dataDir, so you can move dataDir.
async function writeKept(dataDir: string, { folder, ...kept }: Kept): Promise<void> {
  const outside = folder === join(dataDir, 'postgres') ? {} : { folder }
  await writeSecret(join(dataDir, 'postgres.json'), JSON.stringify({ ...kept, ...outside }))
}

async function firstTime(programs: server.Postgres, dataDir: string, log: Logger): Promise<Kept> {
  const folder = await placeForCluster(programs, dataDir, log)
  if (existsSync(folder)) {
    throw new InstallationError(
      `${dataDir}/postgres.json is missing. It holds the password of the database in ${folder}. Restore the file, or delete that folder to start with an empty database.`,
    )
  }
  return { port: 0, password: randomBytes(24).toString('base64url'), folder }
}

async function placeForCluster(programs: server.Postgres, dataDir: string, log: Logger): Promise<string> {
  if (await server.canEnter(programs, dataDir)) return join(dataDir, 'postgres')
  const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 8)
  const folder = join(server.SystemFolder, `${basename(dataDir)}-${digest}`)
  await mkdir(server.SystemFolder, { recursive: true })
  log.warn(`The database is in ${folder}, because the user postgres cannot reach ${dataDir}.`)
  return folder
}

async function makeCluster(programs: server.Postgres, dataDir: string, kept: Kept): Promise<void> {
  if (kept.port !== 0) {
    throw new InstallationError(
      `The database of ${dataDir} is missing: it was in ${kept.folder}. Restore that folder, or delete ${dataDir}/postgres.json to start with an empty database.`,
    )
  }
  await writeKept(dataDir, kept) // before the cluster: it is useless without its password
  await server.createCluster(programs, kept.folder, kept.password)
}

/** Run the server and hold its lock until `letGo`. We restart a server that crashes. */
async function answerFor(
  programs: server.Postgres,
  kept: Kept,
  log: Logger,
): Promise<{ port: number; letGo: () => Promise<void> }> {
  let stopping = false
  let back = Promise.resolve()
  const free = await server.freePort(kept.port) // the last port if it is free: other processes use it
  const port = await take(programs, { ...kept, port: free }, log, onLost)
  return { port, letGo }

  function onLost(): void {
    if (!stopping) back = comeBack()
  }
  async function comeBack(): Promise<void> {
    log.warn('The embedded PostgreSQL stopped unexpectedly. Restarting it.')
    while (!stopping) {
      try {
        return void (await take(programs, { ...kept, port }, log, onLost))
      } catch (error) {
        log.error(error)
        await sleep(1000)
      }
    }
  }
  function letGo(): Promise<void> {
    stopping = true
    return back
  }
}

async function take(programs: server.Postgres, kept: Kept, log: Logger, onLost: () => void): Promise<number> {
  const patienceEnds = performance.now() + PatienceMs
  for (;;) {
    const running = await server.serverOn(kept.folder)
    if (!running) await server.startServer(programs, kept.folder, kept)
    const port = running?.port ?? kept.port
    const answer = await lock({ ...kept, port }, onLost).catch((error: Error) => error)
    if (answer === 'held') {
      if (running) log.info('An earlier run left the embedded PostgreSQL running. Using it.')
      return port
    }
    if (performance.now() > patienceEnds) {
      throw new InstallationError(
        answer === 'busy'
          ? `Another process already runs the database in ${kept.folder}. Stop that process first.`
          : `The database in ${kept.folder} does not respond: ${answer.message}`,
      )
    }
    await sleep(100)
  }
}

// It is a session lock: PostgreSQL releases it as soon as its holder dies, for any reason.
async function lock(kept: Kept, onLost: () => void): Promise<'held' | 'busy'> {
  let held = false
  const client = postgres(urlOf(kept, 'postgres'), {
    max: 1,
    max_lifetime: null, // by default the driver renews connections after half an hour, and their session locks are lost
    connect_timeout: 5,
    onclose: () => {
      if (held) onLost()
    },
  })
  try {
    const [row] = await client`select pg_try_advisory_lock(${LockKey}) as mine`
    if (!row?.mine) return 'busy'
    const [database] = await client`select 1 from pg_database where datname = 'punctual'`
    if (!database) await client`create database punctual`
    held = true
    return 'held'
  } finally {
    if (!held) await client.end({ timeout: 1 })
  }
}

function urlOf({ port, password }: Kept, database = 'punctual'): string {
  return `postgres://punctual:${password}@127.0.0.1:${port}/${database}`
}

async function keptKeys(dataDir: string, { make }: { make: boolean }): Promise<KeyRing> {
  const path = join(dataDir, 'secret-keys')
  const text = await readFile(path, 'utf8').catch(nullIfMissing)
  if (text === null && !make) {
    throw new InstallationError(
      `${path} is missing. Without it, we cannot read the sealed values in the database. Restore the file, or set SECRET_KEYS.`,
    )
  }
  if (text === null) await writeSecret(path, randomBytes(32).toString('base64'))
  const keys = (text ?? (await readFile(path, 'utf8'))).split(',').map((key) => Buffer.from(key, 'base64'))
  const [first, ...older] = keys
  if (!first || keys.some((key) => key.length !== 32)) {
    throw new InstallationError(`${path} must contain keys of 32 bytes in base64, separated by commas.`)
  }
  return [first, ...older]
}

// All or nothing, and readable only by this user.
async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, `${text}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
