import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Logger as QueueLogger, type Runner, run as runQueue, type TaskList, type WorkerEvents } from 'graphile-worker'
import type { Logger } from 'pino'
import { connect, type Db } from '../db/client.ts'
import { alarm } from './alarm.ts'
import type { Health } from './health.ts'
import { releaseClaims, renewLeases } from './ledger.ts'
import { sweepMedia } from './media-sweep.ts'
import { isPresent, showPresence } from './presence.ts'
import { type Gate, publish } from './publish.ts'
import { askBack, dropJob, type Payloads, wakeChannelOf } from './queue.ts'
import { reap } from './reaper.ts'
import { reconcile } from './reconcile.ts'
import type { Deps } from './session.ts'
import { SweepEveryMs, sweep } from './sweep.ts'
import type { Times } from './times.ts'
import { startPostman } from './webhook.ts'

const PollMs = 1000 // the alarm makes it punctual
const QueueConnections = 4 // the local queue fetches and completes in batches
const LiveWithinMs = 30_000
const CanaryWithinMs = 60_000

export type WorkerOptions = Omit<Deps, 'owner'> & { databaseUrl: string; concurrency: number }

/** A running worker. `ended` resolves with the reason when it can do nothing more; `stop` drains it first. */
export type Worker = { owner: string; health: Health; ended: Promise<string>; stop: () => Promise<void> }

/** Take jobs, keep leases alive, reap and ring, until `stop` or until it cannot go on. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { db, times, log, databaseUrl } = options
  const gate: Gate = { closed: false, sending: new Set(), left: new Set() }
  const heard = { reaperAt: Date.now(), canaryAt: Date.now() }
  const deps: Deps = { ...options, owner: '' } // the pool's id, known before the first task runs
  const postman = startPostman(deps)
  const own = connect(databaseUrl, { connections: 1, name: 'presence' }) // its session is our sign of life
  const { runner, owner } = await runTasks(
    options,
    (owner) => {
      deps.owner = owner
      return {
        publish: withPayload(publish(deps, gate)),
        reconcile: withPayload(reconcile(deps)),
        webhook: withPayload(async (payload: Payloads['webhook']) => postman.call(payload)),
        [canaryOf(owner)]: async () => {
          heard.canaryAt = Date.now()
        },
      }
    },
    (owner) => showPresence(own.db, owner),
  )
  const halt = new AbortController()
  const timers = [
    every(times.heartbeatMs, halt.signal, () => beat(own.db, times, owner), log),
    every(times.reaperMs, halt.signal, () => tick(deps, own.db, heard), log),
    every(times.canaryMs, halt.signal, () => sendCanary(db, owner, heard), log),
    every(times.webhookSweepMs, halt.signal, postman.wakeForgotten, log),
    every(SweepEveryMs, halt.signal, () => sweep(db, halt.signal, log), log),
    every(SweepEveryMs, halt.signal, () => sweepMedia(deps, halt.signal), log),
    alarm(databaseUrl, times, log, halt.signal),
  ]
  const stop = async () => {
    gate.closed = true
    const emptied = runner.stop() // at once, so that what it fetched ahead goes to others
    emptied.catch(() => {}) // heard below
    await db.transaction((tx) => releaseClaims(tx, owner))
    while (gate.sending.size > 0) await sleep(20)
    await postman.stop()
    halt.abort()
    await Promise.race([emptied, sleep(times.heartbeatMs)])
    for (const deliveryId of gate.left) await wakeChannelOf(db, deliveryId) // their jobs are used up
    await dropJob(db, canaryOf(owner))
    await Promise.all([...timers, own.end()])
  }
  return { owner, health: healthOf(db, heard, gate), ended: endOf(runner, timers[0]!, gate), stop }
}

/** Start graphile-worker. `tasks` and `before` are called with the pool's id before it can take a job. */
async function runTasks(
  { databaseUrl, concurrency, log }: WorkerOptions,
  tasks: (owner: string) => TaskList,
  before: (owner: string) => Promise<void>,
): Promise<{ runner: Runner; owner: string }> {
  const events: WorkerEvents = new EventEmitter()
  const taskList: TaskList = {}
  let ready: Promise<void> | undefined
  let owner = ''
  events.on('pool:create', ({ workerPool }) => {
    owner = workerPool.id
    ready = before(owner)
    for (const [name, task] of Object.entries(tasks(owner)))
      taskList[name] = async (payload, helpers) => {
        await ready // nothing is claimed before our sign of life is up
        await task?.(payload, helpers)
      }
  })
  const runner = await runQueue({
    connectionString: databaseUrl,
    taskList,
    events,
    noHandleSignals: true,
    ...settings(concurrency, log),
  })
  await ready
  return { runner, owner }
}

function settings(concurrency: number, log: Logger) {
  const logger = new QueueLogger(() => (level, message) => {
    if (level === 'error') log.error({ from: 'graphile-worker' }, message)
  })
  return {
    concurrency,
    pollInterval: PollMs,
    maxPoolSize: QueueConnections,
    logger,
    preset: {
      worker: {
        localQueue: { size: concurrency + 1, ttl: 10_000 },
        // Without these a graceful stop loses completions.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  }
}

async function beat(own: Db, times: Times, owner: string): Promise<void> {
  if (!(await isPresent(own, owner))) throw new PresenceLost('The connection that shows this worker alive was lost.')
  await renewLeases(own, times, owner)
}

/** What nobody else may repair: the others take this worker for dead, so it must end. */
class PresenceLost extends Error {}

async function tick({ times, networks, log }: Deps, db: Db, heard: { reaperAt: number }): Promise<void> {
  heard.reaperAt = Date.now()
  const reaped = await reap(db, times, networks)
  if (reaped.rescheduled + reaped.uncertain + reaped.woken > 0) log.warn(reaped, 'reaped')
}

// A database that is away says nothing of this worker: the canary counts again once it can be sent.
async function sendCanary(db: Db, owner: string, heard: { canaryAt: number }): Promise<void> {
  try {
    await askBack(db, canaryOf(owner))
  } catch (error) {
    heard.canaryAt = Date.now()
    throw error
  }
}

async function every(ms: number, signal: AbortSignal, work: () => Promise<void>, log: Logger): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      if (error instanceof PresenceLost) throw error
      if (!signal.aborted) log.warn({ err: error }, 'a timer failed; it goes on')
    }
    await sleep(ms, undefined, { ref: false, signal }).catch(() => {}) // aborted: the loop ends
  }
}

async function endOf(runner: Runner, heartbeat: Promise<void>, gate: Gate): Promise<string> {
  const reason = await Promise.race([
    runner.promise.then(
      () => 'the queue ended',
      (error: Error) => `the queue failed: ${error.message}`,
    ),
    heartbeat.then(
      () => 'the heartbeat ended',
      (error: Error) => error.message,
    ),
  ])
  return gate.closed ? 'stopped' : reason
}

function healthOf(db: Db, heard: { reaperAt: number; canaryAt: number }, gate: Gate): Health {
  return {
    notLive: () => {
      if (Date.now() - heard.reaperAt > LiveWithinMs) return 'no reaper tick was tried for 30 s'
      if (Date.now() - heard.canaryAt > CanaryWithinMs) return 'no job of its own was run for 60 s'
      return null
    },
    notReady: async () => {
      if (gate.closed) return 'draining'
      return db.execute(sql`select 1`).then(
        () => null,
        () => 'the database cannot be reached',
      )
    },
  }
}

function canaryOf(owner: string): string {
  return `canary-${owner}`
}

function withPayload<P>(task: (payload: P) => Promise<void>) {
  return (payload: unknown) => task(payload as P)
}
