import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { connect, type Db, isDatabaseAway } from '../db/client.ts'
import { InstallationError, joinInstallation } from '../db/embedded/installation.ts'
import { type Env, readEnv } from '../db/env.ts'
import { openFiles } from '../db/files/open.ts'
import { createLog, print } from '../db/log.ts'
import { isMigrated } from '../db/migrate.ts'
import { StuckSentence, startProber } from '../db/prober.ts'
import { answerVersion } from '../db/program-version.ts'
import { checkDatabase, requireWritable } from '../db/start-checks.ts'
import { announceStart } from '../db/start-line.ts'
import { startupSentence } from '../db/startup-error.ts'
import { onStopSignals } from '../db/stop-signals.ts'
import type { Point } from './deps.ts'
import { serveHealth } from './monitoring/health.ts'
import { placeForOperators } from './monitoring/listen.ts'
import { workerMetrics } from './monitoring/metrics.ts'
import { Outage } from './monitoring/outage.ts'
import { announceEnd } from './monitoring/presence.ts'
import { networks as allNetworks, type Networks } from './networks/registry.ts'
import { createOutbound } from './outbound/outbound.ts'
import { times as realTimes, type Times } from './timeouts-and-delays.ts'
import { announceDiskErrors } from './worker/heartbeat.ts'
import { type End, startWorker, type Worker, type WorkerOptions } from './worker/worker.ts'

const LastWordsMs = 3000

type RunOptions = {
  env: Env
  networks?: (installed: { db: Db; appUrl: string; plcUrl: string }) => Networks
  times?: Times
  at?: (point: Point) => void
}

/**
 * The worker process: connect and run. On SIGTERM or SIGINT, finish what is being sent, release the rest and exit 0.
 *
 * If a worker loses its heartbeat, we stop it and start another one. Exits 1 if a worker cannot go on: the supervisor
 * of the process then starts another process. `networks`, `times` and `at` are for tests.
 */
export async function run({
  env,
  networks = allNetworks,
  times = realTimes,
  at = () => {},
}: RunOptions): Promise<void> {
  const log = createLog('worker', env.logLevel)
  announceStart(log)
  let announce: () => Promise<unknown> = async () => {}
  const leave = async () => {
    await announce() // this is no crash: no delivery under way caused it
    process.exit(1)
  }
  const asked = askedToStop(leave) // before we claim anything
  // A stop waits for what is being sent, but not for a database that does not answer. The next worker finds the
  // outcomes.
  void asked.then(() => setTimeout(leave, times.stopAtMostMs))
  const { options, close } = await open({ env, networks, times, at, log }, leave)
  let worker: Worker | null = null
  const health = {
    notLive: () => worker?.health.notLive() ?? null,
    notReady: () => (worker ? worker.health.notReady() : 'starting'),
  }
  const place = placeForOperators('WORKER_PORT', env.workerPort, env.host)
  const server = await serveHealth(place, health, options.metrics.registry) // first: without a port we claim nothing
  announceDiskErrors(leave)
  for (let start = startedFirst; ; start = startedAgain) {
    const started = await Promise.race([start(options), asked])
    if ('reason' in started) process.exit(0) // nothing is under way
    worker = started
    const { owner } = worker
    announce = () => announceEnd(options.databaseUrl, owner, LastWordsMs)
    log.info({ owner, pid: process.pid, host: hostname(), health: server.address() }, 'worker runs')
    const { reason, code, next } = await Promise.race([worker.ended, asked])
    log.info({ reason }, 'worker stops')
    await worker.stop().catch((error: unknown) => log.error({ err: error }, 'the worker did not stop cleanly'))
    if (next === 'another') continue
    await close()
    process.exit(code)
  }
}

/** What every worker of this process uses, checked before the first one starts. */
async function open(
  { env, networks, times, at, log }: Required<RunOptions> & { log: Logger },
  leave: () => Promise<void>,
): Promise<{ options: WorkerOptions; close: () => Promise<unknown> }> {
  const { databaseUrl, secretKeys } = await joinInstallation(env)
  const connections = env.databaseConnections
  const { db, underWay, stuckForMs, end } = connect(databaseUrl, { connections, name: 'worker' })
  if (!(await isMigrated(db)))
    throw new InstallationError('The database is older than this version: run `npm run migrate`.')
  await checkDatabase(db, secretKeys, log)
  const files = await openFiles(env)
  await requireWritable(files, env, log)
  const offered = networks({ db, appUrl: env.appUrl, plcUrl: env.blueskyPlcUrl })
  const onStuck = () => {
    log.fatal(StuckSentence)
    void leave()
  }
  const outbound = createOutbound({ allow: env.outboundAllow })
  const refreshing = connect(databaseUrl, { connections: 2, name: 'refresh' }) // a slow refresh only delays other refreshes
  const prober = startProber(databaseUrl, { stuckForMs, onStuck })
  const options = {
    db,
    refreshing: refreshing.db,
    databaseUrl,
    prober,
    files,
    outbound,
    networks: offered,
    concurrency: env.workerConcurrency,
    ring: secretKeys,
    appUrl: env.appUrl,
    mail: env.mail,
    metrics: workerMetrics({ db, underWay, connections, log }, Object.keys(offered)),
    outage: new Outage(log),
    log,
    times,
    at,
  }
  return { options, close: () => Promise.all([outbound.close(), prober.end(), refreshing.end(), end()]) }
}

// The database has just answered. A worker that finds it restored ends its own connections too
// (jobs/ledger/restore.ts), and starts again with new ones.
function startedFirst(options: WorkerOptions): Promise<Worker> {
  return startWorker(options).catch((error: unknown) => {
    if (!isDatabaseAway(error)) throw error
    return startedAgain(options)
  })
}

/** Start another worker as soon as the database is available. */
async function startedAgain(options: WorkerOptions): Promise<Worker> {
  for (;;) {
    try {
      return await startWorker(options)
    } catch (error) {
      if (!options.outage.hasBegunWith(error))
        options.log.warn({ err: error }, 'could not start a worker: we try again')
      await sleep(options.times.reaperMs)
    }
  }
}

/** Resolves at the first signal to stop. A second signal means: do not wait. */
function askedToStop(leave: () => Promise<void>): Promise<End> {
  return new Promise((done) => {
    onStopSignals(async (times) => {
      if (times > 1) return leave()
      done({ reason: 'asked', code: 0, next: 'exit' })
    })
  })
}

/** Say why the process cannot start, and exit. */
export function failStart(error: unknown): never {
  print(startupSentence(error), process.stderr)
  process.exit(1)
}

if (import.meta.main) {
  answerVersion()
  Promise.resolve()
    .then(() => run({ env: readEnv() }))
    .catch(failStart)
}
