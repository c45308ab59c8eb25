import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { connect } from '../../db/client.ts'
import { type Installation, joinInstallation, NotRunning, startEmbedded } from '../../db/embedded/installation.ts'
import { type Env, readEnv, variablesWith } from '../../db/env.ts'
import { openFiles } from '../../db/files/open.ts'
import { createLog, print } from '../../db/log.ts'
import { migrate } from '../../db/migrate.ts'
import { answerVersion, PackageFolder } from '../../db/program-version.ts'
import { checkDatabase, requireWritable } from '../../db/start-checks.ts'
import { announceStart } from '../../db/start-line.ts'
import { startupSentence } from '../../db/startup-error.ts'
import { onStopSignals } from '../../db/stop-signals.ts'
import { listen } from '../../jobs/monitoring/listen.ts'
import { developPages } from './develop.ts'
import { noteAddresses } from './site-address.ts'
import { keepRunning } from './supervise.ts'

/** A whole installation in one command. `isReady` resolves when the site answers. `kill` stops it without waiting. */
export type Running = {
  appUrl: string
  installation: Installation
  isReady: Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
}

const PortPatienceMs = 5000 // right after a kill, the old web process may still be ending

/**
 * Start the database if it is ours, bring it up to date, then start web and worker and keep them running.
 *
 * `changes` are variables on top of the environment's; PORT 0 takes any free one. In development everything runs from
 * source and again after a change; otherwise from build/, which must be there. `stop` ends worker, web and database
 * in this order. Throws EnvError or InstallationError with a sentence for the operator.
 */
export async function startAll(changes: Record<string, string>, log: Logger): Promise<Running> {
  const port = await portFor(readEnv(variablesWith(changes)))
  const env = readEnv(variablesWith({ ...changes, PORT: port }))
  const database = await openInstallation(env, log)
  await noteAddresses(env)
  await migrate(database.installation.databaseUrl)
  await check(database.installation, env, log)
  const pages = env.production ? null : await developPages(log)
  const variables = variablesWith({
    ...changes,
    ...variablesOf(database.installation, env),
    ...pages?.variables,
    PORT: port,
  })
  const worker = keepRunning('worker', programOf('worker', env), variables, log)
  const web = keepRunning('web', programOf('web', env), variables, log)
  const inOrder = [worker, web, ...(pages ? [pages.child] : [])]
  return {
    appUrl: env.appUrl,
    installation: database.installation,
    isReady: answers(env),
    async stop() {
      for (const child of inOrder) await child.stop()
      await database.stop()
    },
    async kill() {
      for (const child of inOrder) child.kill()
      await database.stop()
    },
  }
}

async function portFor({ port, host }: Env): Promise<string> {
  const patienceEnds = performance.now() + PortPatienceMs
  for (;;) {
    const opened = await tryPort(port, host).catch((error: Error) => error)
    if (!(opened instanceof Error)) return String(opened)
    if (!isTaken(opened) || performance.now() > patienceEnds) throw opened
    await sleep(100)
  }
}

async function tryPort(port: number, host: string | null): Promise<number> {
  const server = await listen(createServer(), { port, host, setting: 'PORT' })
  const { port: opened } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return opened
}

function isTaken({ cause }: Error): boolean {
  return (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

async function openInstallation(env: Env, log: Logger): ReturnType<typeof startEmbedded> {
  if (env.databaseUrl) return { installation: await joinInstallation(env), stop: async () => {} }
  return startEmbedded(env, log)
}

// Its processes check too, but they restart again and again. This one reports it once.
async function check({ databaseUrl, secretKeys }: Installation, env: Env, log: Logger): Promise<void> {
  const { db, end } = connect(databaseUrl, { connections: 1, name: 'start' })
  await checkDatabase(db, secretKeys, log).finally(end)
  await requireWritable(await openFiles(env), env, log)
}

function variablesOf({ databaseUrl, secretKeys }: Installation, env: Env): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: secretKeys.map((key) => Buffer.from(key).toString('base64')).join(','),
    NODE_ENV: env.production ? 'production' : 'development', // React and Express take an absent one for development
  }
}

function programOf(name: 'web' | 'worker', env: Env): string[] {
  if (env.production) return ['--enable-source-maps', join(PackageFolder, `build/${name}.js`)]
  return [
    '--watch',
    '--watch-preserve-output',
    join(PackageFolder, name === 'web' ? 'server/index.ts' : 'jobs/index.ts'),
  ]
}

async function answers({ appUrl, port, host }: Env): Promise<void> {
  const headers = { host: new URL(appUrl).host }
  for (;;) {
    const status = await new Promise((resolve) => {
      const request = get({ host: host ?? 'localhost', port, path: '/readyz', headers, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', () => resolve(null))
    })
    if (status === 200) return
    await sleep(100)
  }
}

async function main(): Promise<void> {
  const changes: Record<string, string> = process.argv.includes('--dev') ? { NODE_ENV: 'development' } : {}
  const env = readEnv(variablesWith(changes))
  const log = createLog('start', env.logLevel)
  announceStart(log)
  if (process.argv.includes('--migrate')) return migrateOnly(env, log)

  const starting = startAll(changes, log)
  stopOnSignal(starting, log)
  const running = await starting
  await running.isReady
  print(`Punctual is at ${running.appUrl}`)
}

// A signal during the start waits until there is something to stop. The second one forces.
function stopOnSignal(starting: Promise<Running>, log: Logger): void {
  onStopSignals(async (times, signal) => {
    if (times > 2) process.exit(1)
    log.info(
      times === 1 ? `${signal}: stopping worker, web and database in this order` : `${signal} again: stopping at once`,
    )
    const running = await starting
    await (times === 1 ? running.stop() : running.kill())
    process.exit(times === 1 ? 0 : 1)
  })
}

async function migrateOnly(env: Env, log: Logger): Promise<void> {
  const { installation, stop } = await joinInstallation(env).then(
    (joined) => ({ installation: joined, stop: async () => {} }),
    (error) => {
      if (error instanceof NotRunning) return startEmbedded(env, log)
      throw error
    },
  )
  await migrate(installation.databaseUrl)
  await stop()
  process.exit(0)
}

if (import.meta.main) {
  answerVersion()
  main().catch((error) => {
    print(startupSentence(error), process.stderr)
    process.exit(1)
  })
}
