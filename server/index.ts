import { createServer, type Server } from 'node:http'
import { Server as PlainServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { broadcastDevReady } from '@remix-run/node'
import type { Logger } from 'pino'
import { isPassing } from '../db/client.ts'
import { readEnv } from '../db/env.ts'
import { createLog, print } from '../db/log.ts'
import { StuckSentence, startProber } from '../db/prober.ts'
import { answerVersion } from '../db/program-version.ts'
import { checkDatabase, requireWritable } from '../db/start-checks.ts'
import { announceStart } from '../db/start-line.ts'
import { startupSentence } from '../db/startup-error.ts'
import { serveMetrics } from '../jobs/monitoring/health.ts'
import { listen, type Place, placeForOperators } from '../jobs/monitoring/listen.ts'
import type { Installation } from './access/trpc.ts'
import { startRequestRecorder } from './api-requests/write.ts'
import { cutStalledReaders } from './http/stalled-readers.ts'
import { UploadPace } from './media/receive-file.ts'
import { install } from './run/installation.ts'
import { createApp } from './web/app.ts'
import { type WebMetrics, webMetrics } from './web/metrics.ts'
import { type Phase, readiness } from './web/readiness.ts'

const DrainMs = 20_000
const LeaveMs = 2000 // for a proxy to see on /readyz that it must send no requests here
const LastCallsMs = 1000
const ConnectsMs = 500
const IdleTurnMs = 0.1 // a turn of the event loop with a request in it takes longer
// Longer than the 60 s of common proxies and clients: the side that sends next must close first, or it gets a reset.
const KeepAliveMs = 75_000
const CheckMs = 5000
const StopAtMostMs = 28_000 // before a supervisor that gives 30 s takes SIGKILL

/** The web process: read the environment, connect and listen. On SIGTERM or SIGINT, finish running requests and exit. */
async function main(): Promise<void> {
  const env = readEnv()
  const log = createLog('web', env.logLevel)
  announceStart(log)
  const { installation, databaseUrl, underWay, stuckForMs, end } = await install(env)
  await requireWritable(installation.files, env, log)
  await checkIfThere(installation, log)
  await installation.files.clear(new Date(Date.now() - 24 * UploadPace.wholeMs)) // left by a process that was killed
  const root = resolve(import.meta.dirname, '..') // from server/ and from build/ alike
  const build = await import(pathToFileURL(join(root, 'build/remix/index.js')).href)
  let phase: Phase = 'serving'
  const recorder = startRequestRecorder(installation.db, log)
  const publicDir = join(root, 'public')
  const measured = { db: installation.db, underWay, connections: env.databaseConnections, log }
  const metrics = env.metricsPort === null ? null : webMetrics(measured, build.routes)
  const prober = startProber(databaseUrl, { stuckForMs, onStuck: () => giveUp(log) })
  const ready = readiness(prober, () => phase)
  const app = createApp({ installation, recorder, log, build, publicDir, metrics, prober, ready, phase: () => phase })
  const server = await listen(
    createServer({ keepAliveTimeout: KeepAliveMs, requestTimeout: 2 * UploadPace.wholeMs }, app),
    { port: env.port, host: env.host, setting: 'PORT' },
  )
  cutStalledReaders(server)
  log.info({ address: server.address(), appUrl: env.appUrl }, 'web listens')
  if (metrics && env.metricsPort !== null)
    await listenForMetrics(placeForOperators('METRICS_PORT', env.metricsPort, env.host), metrics, log)
  if (env.compilerOrigin) await broadcastDevReady(build, env.compilerOrigin) // and open pages load themselves again
  const stop = async () => {
    if (phase !== 'serving') return
    phase = 'leaving'
    await drain(server, log, () => {
      phase = 'closing'
    })
    await recorder.end()
    await Promise.all([prober.end(), end()])
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

// The site starts without its database, and says so on /readyz until it can be reached.
async function checkIfThere({ db, ring }: Installation, log: Logger): Promise<void> {
  const checked = checkDatabase(db, ring, log).catch((error: unknown) => {
    if (!isPassing(error)) throw error
    log.warn({ reason: startupSentence(error) }, 'the database cannot be reached yet')
  })
  await Promise.race([checked, sleep(CheckMs, undefined, { ref: false })])
}

// Our connections hang while the database answers others. Requests on them would wait forever.
function giveUp(log: Logger): void {
  log.fatal(StuckSentence)
  process.exit(1)
}

async function listenForMetrics(place: Place, { registry }: WebMetrics, log: Logger): Promise<void> {
  const server = await serveMetrics(place, registry)
  log.info({ address: server.address() }, 'metrics are served')
}

/** Finish running requests and close the server. Calls `refuse` when new requests must be refused. */
async function drain(server: Server, log: Logger, refuse: () => void): Promise<void> {
  log.info('web drains')
  setTimeout(() => process.exit(1), StopAtMostMs) // if the database or its pool hangs
  await untilLeft(server)
  await close(server, refuse)
}

// The proxy must learn that this process leaves before the port closes, or its requests are reset.
async function untilLeft(server: Server): Promise<void> {
  const connections = () => new Promise<number>((done) => server.getConnections((_error, count) => done(count)))
  for (const end = performance.now() + LeaveMs; performance.now() < end && (await connections()) > 0; ) await sleep(50)
}

// A client that connects while the port closes is reset. A short turn of the event loop without a new connection shows that none connects.
async function untilNobodyConnects(server: Server): Promise<void> {
  let accepted = 0
  server.on('connection', () => accepted++)
  for (const end = performance.now() + ConnectsMs; performance.now() < end; ) {
    const [begun, before] = [performance.now(), accepted]
    await new Promise((next) => setImmediate(next))
    if (accepted === before && performance.now() - begun < IdleTurnMs) return
  }
}

// Requests that arrived before the port closed are answered normally, and after a moment with 503.
async function close(server: Server, refuse: () => void): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), DrainMs)
  const enough = setTimeout(refuse, LastCallsMs)
  server.closeIdleConnections() // takes milliseconds, and others connect meanwhile
  await untilNobodyConnects(server)
  await new Promise<unknown>((done) => {
    PlainServer.prototype.close.call(server, done) // that of HTTP looks through the connections before it closes the port
    server.closeIdleConnections()
  })
  clearTimeout(cut)
  clearTimeout(enough)
}

answerVersion()
main().catch((error: unknown) => {
  print(startupSentence(error), process.stderr)
  process.exit(1)
})
