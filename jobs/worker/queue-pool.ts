import { type ClientBase, Pool, type PoolClient } from 'pg'

const QueueConnections = 4 // the local queue fetches and completes in batches

/**
 * The connections of graphile-worker. One that PostgreSQL ends is told to `lost`, and must not end the process. Commits do not
 * wait for the disk: a job that was fetched or done is no loss when PostgreSQL is killed.
 */
export function queuePool(connectionString: string, lost: (error: Error) => void): Pool {
  const onConnect = (client: ClientBase) => client.query('set synchronous_commit = off') // waited for, and pgbouncer takes it
  const pool = new Pool({ connectionString, application_name: 'punctual queue', max: QueueConnections, onConnect })
  releaseOnce(pool)
  return pool.on('error', lost).on('connect', (client) => {
    client.on('error', lost)
    endAgainAfterDeadlock(client)
  })
}

type Connected = Parameters<Parameters<Pool['connect']>[0]>

// When graphile-worker stops while the connection that it listens on ends, it releases that twice. pg throws then where nobody
// catches it, and the process ends (seen in test/faults/database/isolation.test.ts, of graphile-worker 0.18.0).
function releaseOnce(pool: Pool): void {
  const connect = pool.connect.bind(pool)
  const once = (release: Connected[2]): Connected[2] => {
    let isReleased = false
    return (error) => {
      if (!isReleased) release(error)
      isReleased = true
    }
  }
  const connected = (then: (...of: Connected) => void) =>
    connect((error, client, release) => then(error, client, once(release)))
  pool.connect = ((then?: (...of: Connected) => void) => (then ? connected(then) : connect())) as typeof pool.connect
}

type Ask = (query: unknown, ...more: unknown[]) => Promise<unknown>

// graphile-worker ends itself at the first deadlock that it loses while it writes down which jobs ended (https://github.com/graphile/worker/issues/636).
// A transaction that wakes several channels locks their jobs as well. The loser of a deadlock has changed nothing: we ask again.
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
