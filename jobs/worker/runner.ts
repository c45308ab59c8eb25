import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger as QueueLogger, type Runner, run as runQueue, type TaskList, type WorkerEvents } from 'graphile-worker'
import type { Logger } from 'pino'
import { queuePool } from './queue-pool.ts'

const PollMs = 1000 // this may be slow: the alarm makes posts punctual
const LossHeardMs = 5000 // PostgreSQL announces the end of a session before it closes the socket
const FetchedAhead = 200 // a wake-up job ends at once, so none waits here

/** The running queue. `ended` resolves when it ends. `hasLostConnection`: PostgreSQL or the network ended one. */
export type Queue = { ended: Promise<{ why: string; hasLostConnection: boolean }>; stop: () => Promise<void> }

/** Start graphile-worker. `tasks` and `before` are called with the pool's id before the first job can start. */
export async function runTasks(
  { databaseUrl, concurrency, log }: { databaseUrl: string; concurrency: number; log: Logger },
  tasks: (owner: string) => TaskList,
  before: (owner: string) => Promise<void>,
): Promise<Queue> {
  const events: WorkerEvents = new EventEmitter()
  const taskList: TaskList = {}
  let ready: Promise<void> | undefined
  let owner = ''
  events.on('pool:create', ({ workerPool }) => {
    owner = workerPool.id
    ready = before(owner)
    ready.catch(() => {}) // awaited below
    for (const [name, task] of Object.entries(tasks(owner)))
      taskList[name] = async (payload, helpers) => {
        await ready // we claim nothing before our heartbeat runs
        await task?.(payload, helpers)
      }
  })
  const loss = Promise.withResolvers<true>()
  const pgPool = queuePool(databaseUrl, ({ message }) => {
    loss.resolve(true)
    log.warn({ reason: message }, 'the queue lost a database connection')
  })
  let runner: Runner | undefined
  const stop = () => Promise.resolve(runner?.stop()).finally(() => pgPool.end())
  try {
    runner = await runQueue({ pgPool, taskList, events, noHandleSignals: true, ...settings(concurrency, log) })
    await ready
    const ended = runner.promise.then(
      () => 'the queue ended',
      (error: Error) => `the queue failed: ${error.message}`,
    )
    const heard = async (why: string) => {
      const hasLostConnection = await Promise.race([loss.promise, sleep(LossHeardMs, false, { ref: false })])
      return { why, hasLostConnection }
    }
    return { ended: ended.then(heard), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function settings(concurrency: number, log: Logger) {
  const logger = new QueueLogger(() => (level, message) => {
    if (level === 'error') log.error({ from: 'graphile-worker' }, message)
  })
  return {
    concurrency,
    pollInterval: PollMs,
    logger,
    preset: {
      worker: {
        localQueue: { size: Math.max(FetchedAhead, concurrency + 1), ttl: 10_000 },
        // Without these a graceful stop loses completions.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  }
}
