import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger as QueueLogger, type Runner, run as runQueue, type TaskList, type WorkerEvents } from 'graphile-worker'
import { type ClientBase, Pool, type PoolClient } from 'pg'
import type { Logger } from 'pino'

const PollMs = 1000 // the alarm makes it punctual
const QueueConnections = 4 // the local queue fetches and completes in batches
const LossHeardMs = 5000 // PostgreSQL announces the end of a session before it closes the socket
const FetchedAhead = 200 // a wake-up is answered at once, so none waits here

/** The running queue. `ended` resolves with why, once it has; `hasLostConnection`: PostgreSQL or the way to it ended one. */
export type Queue = { ended: Promise<{ why: string; hasLostConnection: boolean }>; stop: () => Promise<void> }

/** Start graphile-worker. `tasks` and `before` are called with the pool's id before it can take a job. */
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
    ready.catch(() => {}) // heard below
    for (const [name, task] of Object.entries(tasks(owner)))
      taskList[name] = async (payload, helpers) => {
        await ready // nothing is claimed before our sign of life is up
        await task?.(payload, helpers)
      }
  })
  const loss = Promise.withResolvers<true>()
  const pgPool = queuePool(databaseUrl, ({ message }) => {
    loss.resolve(true)
    log.warn({ reason: message }, 'a connection of the queue was lost')
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

// A job that was fetched or done is no loss when PostgreSQL is killed. A connection that it ends must not end the process.
function queuePool(connectionString: string, lost: (error: Error) => void): Pool {
  const onConnect = (client: ClientBase) => client.query('set synchronous_commit = off') // waited for, and pgbouncer takes it
  const pool = new Pool({ connectionString, application_name: 'punctual queue', max: QueueConnections, onConnect })
  return pool.on('error', lost).on('connect', (client) => {
    client.on('error', lost)
    endAgainAfterDeadlock(client)
  })
}

type Ask = (query: unknown, ...more: unknown[]) => Promise<unknown>

// graphile-worker ends itself at the first deadlock that it loses while it writes down which jobs ended (https://github.com/graphile/worker/issues/636).
// Whoever wakes several channels locks their jobs as well. The loser of a deadlock has changed nothing: the same again.
function endAgainAfterDeadlock(client: PoolClient): void {
  const ask = client.query.bind(client) as Ask
  const again: Ask = (query, ...more) =>
    ask(query, ...more).catch((error: { code?: string }) => {
      if (error.code !== '40P01') throw error
      return again(query, ...more)
    })
  const isOfEnded = (query: unknown) => /^(complete|fail)_job/.test((query as { name?: string }).name ?? '')
  client.query = ((query: unknown, ...more: unknown[]) =>
    isOfEnded(query) ? again(query, ...more) : ask(query, ...more)) as typeof client.query
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
