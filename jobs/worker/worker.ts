import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskList } from 'graphile-worker'
import { connect, type Db, type Tx } from '../../db/client.ts'
import type { Prober } from '../../db/prober.ts'
import { networks as networkRows } from '../../db/schema/installation.ts'
import { readDueLimits } from '../channels/limits.ts'
import { eraseCredentials, revokeDue } from '../channels/revocations.ts'
import type { Deps } from '../deps.ts'
import { logFields, releaseClaims, renewLeases } from '../ledger/ledger.ts'
import { noticeRestore } from '../ledger/restore.ts'
import { askBack, dropJob, type Payloads, wakeChannels, wakeLook } from '../ledger/wake-ups.ts'
import { type MailSender, startMailSender } from '../mail/sender.ts'
import type { Health } from '../monitoring/health.ts'
import { Tally } from '../monitoring/tally.ts'
import { alarm } from '../publish/alarm.ts'
import { type Looks, openLooks } from '../publish/looks.ts'
import type { Gate } from '../publish/publish.ts'
import { overdueLately, reap, wakeForgotten } from '../publish/reaper.ts'
import { retryWrite } from '../publish/retry-write.ts'
import { openSends, type Sends, wakeChannelOf } from '../publish/sends.ts'
import { sweepMedia } from '../sweep/media.ts'
import { SweepEveryMs, sweep } from '../sweep/rows.ts'
import { startWebhookSender, type WebhookSender } from '../webhooks/deliver.ts'
import { showLife } from './heartbeat.ts'
import { type Queue, runTasks } from './runner.ts'

export type WorkerOptions = Omit<Deps, 'owner' | 'tally'> & {
  databaseUrl: string
  concurrency: number
  prober: Prober
}

/**
 * Why a worker cannot go on, and what happens next. If it only lost its heartbeat, another worker replaces it.
 * Otherwise the process ends.
 */
export type End = { reason: string; code: 0 | 1; next: 'another' | 'exit' }

// `unanswered`: canaries in a row that were sent but did not run. The times are of performance.now(), since the clock
// may be set.
type Heard = { reaperAt: number; canaryAt: number; unanswered: number }

/** A running worker. `ended` resolves when the worker cannot go on. `stop` drains the worker first. */
export type Worker = { owner: string; health: Health; ended: Promise<End>; stop: () => Promise<void> }

/** Run jobs, renew leases, take over from dead workers and wake due channels, until `stop` or until we cannot go on. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { times, databaseUrl, concurrency } = options
  const gate: Gate = { closed: false, claimed: new Set(), sending: new Set() }
  const heard: Heard = { reaperAt: performance.now(), canaryAt: performance.now(), unanswered: 0 }
  await noticeRestore(options)
  await knowNetworks(options)
  const deps: Deps & WorkerOptions = { ...options, tally: new Tally(), owner: '' } // the pool's id, known before the first task runs
  const sends = openSends(deps, concurrency, gate)
  const looks = openLooks(deps)
  const webhooks = startWebhookSender(deps)
  const mails = startMailSender(deps)
  const lost = Promise.withResolvers<End>()
  const life = showLife(databaseUrl, times, {
    onLost: () =>
      lost.resolve({ reason: 'the connection that shows this worker alive was lost', code: 1, next: 'another' }),
    isSilent: () => options.prober.answers() === 'silent',
  })
  const reaper = connect(databaseUrl, { connections: 1, name: 'reaper', plans: 'fresh' }) // its own: it must not wait for the pool
  const tasks = (owner: string): TaskList => {
    deps.owner = owner
    return {
      publish: withPayload(async (payload: Payloads['publish']) => wakeChannelOf(deps, sends, payload)),
      reconcile: withPayload(async ({ deliveryId, network }: Payloads['reconcile']) => looks.wake(deliveryId, network)),
      webhook: withPayload(async (payload: Payloads['webhook']) => webhooks.call(payload)),
      mail: async () => mails.call(),
      [canaryOf(owner)]: async () => {
        Object.assign(heard, { canaryAt: performance.now(), unanswered: 0 })
      },
    }
  }
  const endConnections = () => Promise.all([life.end(), reaper.end()])
  const runner = await runTasks(options, tasks, (owner) => life.begin(owner, concurrency)).catch(async (error) => {
    await endConnections()
    throw error
  })
  const { owner } = deps
  const halt = new AbortController()
  const beat = () => life.beat((tx) => renewLeases(tx, times, owner, [...gate.claimed]))
  const timers = [
    every(times.heartbeatMs, halt.signal, beat, deps),
    every(times.webhookSweepMs, halt.signal, webhooks.wakeForgotten, deps),
    every(times.mailSweepMs, halt.signal, mails.tidy, deps),
    alarm(databaseUrl, { ...deps, onDue: (channel) => sends.offer([channel]) > 0 }, halt.signal),
    ...upkeep(deps, reaper.db, { heard, sends, onHung: lost.resolve }, halt.signal),
  ]
  const stop = async () => {
    await drain(deps, { runner, gate, sends, looks, webhooks, mails })
    halt.abort()
    await Promise.all([...timers, endConnections()])
  }
  return { owner, health: healthOf(options, heard, gate), ended: endOf(runner, lost.promise, gate), stop }
}

type Kept = { heard: Heard; sends: Sends; onHung: (end: End) => void }

function upkeep(
  deps: Deps & WorkerOptions,
  reaper: Db,
  { heard, sends, onHung }: Kept,
  signal: AbortSignal,
): Promise<void>[] {
  const { db, times, owner, tally, log } = deps
  return [
    every(times.reaperMs, signal, () => tick(deps, reaper, heard), deps),
    every(times.reaperMs, signal, () => takeOverdue(deps, reaper, sends), deps),
    every(times.overdueMs / 2, signal, () => tidy(deps, reaper), deps),
    every(times.overdueMs / 2, signal, () => revokeDue(deps), deps),
    every(times.canaryMs, signal, () => sendCanary(deps, heard, onHung), deps),
    every(times.minuteMs, signal, () => tally.write(db, owner), deps),
    every(times.limitsMs, signal, () => readDueLimits(deps, signal), deps),
    every(SweepEveryMs, signal, () => sweep(db, signal, log), deps),
    every(SweepEveryMs, signal, () => sweepMedia(deps, signal), deps),
  ]
}

/** Add new networks to the database with the caps that they declare. From then on the operator sets the caps. */
async function knowNetworks({ db, networks }: WorkerOptions): Promise<void> {
  const rows = Object.entries(networks).map(([name, { atOnce = null }]) => ({ name, atOnce }))
  await db.insert(networkRows).values(rows).onConflictDoNothing()
}

type Running = {
  runner: Queue
  gate: Gate
  sends: Sends
  looks: Looks
  webhooks: WebhookSender
  mails: MailSender
}

/** Claim nothing more, finish what is being sent, and wake the other workers for the rest. */
async function drain(deps: Deps, { runner, gate, sends, looks, webhooks, mails }: Running): Promise<void> {
  const { db, times, owner, log } = deps
  const leaveToOthers = (error: unknown) => log.warn({ err: error }, 'left to the other workers')
  gate.closed = true
  const emptied = runner.stop().catch(leaveToOthers) // at once: other workers get the jobs that it fetched ahead
  await Promise.all([sends.close(), looks.close()])
  const giveBack = async (tx: Tx) => {
    const released = await releaseClaims(tx, owner)
    await wakeChannels(tx, [...released, ...sends.left()]) // their jobs are used up
  }
  await retryWrite(deps, () => db.transaction(giveBack)).catch(leaveToOthers)
  while (gate.sending.size > 0) await sleep(20)
  await Promise.all([webhooks.stop().catch(leaveToOthers), mails.stop()])
  await Promise.race([emptied, sleep(times.heartbeatMs)])
  await retryWrite(deps, () => wakeChannels(db, sends.left())).catch(leaveToOthers) // also channels that were sending
  await wakeLook(db, looks.left()).catch(leaveToOthers)
  await dropJob(db, canaryOf(owner)).catch(leaveToOthers)
}

async function tick(deps: Deps, db: Db, heard: Heard): Promise<void> {
  heard.reaperAt = performance.now()
  const { dead, taken } = await reap(deps, db)
  deps.outage.isOver()
  deps.metrics.takenOver(taken.length)
  for (const delivery of taken)
    deps.log.warn({ ...logFields(delivery), state: delivery.state }, 'taken from a worker that is gone')
  if (dead.length > 0) deps.log.warn({ dead }, 'workers are gone')
}

// The wake-up of an overdue channel may be in the memory of a worker that is full.
async function takeOverdue({ times }: Deps, db: Db, sends: Sends): Promise<void> {
  if (sends.places() === 0) return
  const overdue = await overdueLately(db, times.reaperMs)
  sends.offer(overdue.map(({ channelId, network }) => ({ id: channelId, network })))
}

async function tidy(deps: Deps & WorkerOptions, db: Db): Promise<void> {
  const { databaseUrl, times, log } = deps
  await noticeRestore({ db, databaseUrl, log })
  const woken = await wakeForgotten(db, times.overdueMs)
  if (woken > 0) log.warn({ woken }, 'woke each channel that lost its wake-up or waits for its turn')
  await eraseCredentials(deps, db)
}

// A queue may hang forever if its connections end while it stops (seen with graphile-worker 0.18.0). We then start
// another one. A database that is away proves nothing about this worker: we count again when we can send a canary.
async function sendCanary({ db, owner, times }: Deps, heard: Heard, onHung: (end: End) => void): Promise<void> {
  if (heard.unanswered * times.canaryMs >= times.canaryWithinMs)
    onHung({ reason: 'the queue hangs: it ran no job of this worker', code: 1, next: 'another' })
  try {
    await askBack(db, canaryOf(owner))
    heard.unanswered++
  } catch (error) {
    Object.assign(heard, { canaryAt: performance.now(), unanswered: 0 })
    throw error
  }
}

async function every(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  { outage, log }: Pick<Deps, 'outage' | 'log'>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted && !outage.hasBegunWith(error)) log.warn({ err: error }, 'a timer failed; it goes on')
    }
    await sleep(ms, undefined, { ref: false, signal }).catch(() => {}) // aborted: the loop ends
  }
}

async function endOf(runner: Queue, lost: Promise<End>, gate: Gate): Promise<End> {
  // A queue that cannot record done jobs ends itself. If it lost its connection, only the worker is replaced.
  const ended = await Promise.race<End>([
    runner.ended.then(({ why, hasLostConnection }) => ({
      reason: why,
      code: 1,
      next: hasLostConnection ? 'another' : 'exit',
    })),
    lost,
  ])
  return gate.closed ? { reason: 'stopped', code: 0, next: 'exit' } : ended
}

function healthOf({ prober, times }: WorkerOptions, heard: Heard, gate: Gate): Health {
  return {
    notLive: () => {
      const { liveWithinMs, canaryWithinMs } = times
      if (prober.answers() === 'silent') return null // a restart does not fix a frozen database
      if (performance.now() - heard.reaperAt > liveWithinMs)
        return `no reaper tick was tried for ${liveWithinMs / 1000} s`
      if (performance.now() - heard.canaryAt > canaryWithinMs)
        return `no job of its own was run for ${canaryWithinMs / 1000} s`
      return null
    },
    notReady: () => {
      if (gate.closed) return 'draining'
      return { yes: null, unreachable: 'the database cannot be reached', silent: 'the database does not answer' }[
        prober.answers()
      ]
    },
  }
}

function canaryOf(owner: string): string {
  return `canary-${owner}`
}

function withPayload<P>(task: (payload: P) => Promise<void>) {
  return (payload: unknown) => task(payload as P)
}
