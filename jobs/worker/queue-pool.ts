import { type ClientBase, Pool, type PoolClient } from 'pg'

const QueueConnections = 4 // the local queue fetches and completes in batches

/**
 * The connections of graphile-worker. `lost` is called when PostgreSQL ends one; this must not end the process. Commits
 * do not wait for the disk: if PostgreSQL is killed, losing the state of a fetched or done job does no harm.
 */
export function queuePool(connectionString: string, lost: (error: Error) => void): Pool {
  const onConnect = (client: ClientBase) => client.query('set synchronous_commit = off') // pg waits for it; pgbouncer accepts it
  const pool = new Pool({ connectionString, application_name: 'punctual queue', max: QueueConnections, onConnect })
  releaseOnce(pool)
  return pool.on('error', lost).on('connect', (client) => {
    client.on('error', lost)
    endAgainAfterDeadlock(client)
  })
}

type Connected = Parameters<Parameters<Pool['connect']>[0]>

// When graphile-worker stops while its listening connection ends, it releases that connection twice. pg then throws an
// error that no code can catch, and the process ends (test/faults/database/isolation.test.ts, graphile-worker 0.18.0).
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

// graphile-worker ends itself when it loses a deadlock while it records ended jobs. A transaction that wakes several
// channels also locks their jobs. The loser changed nothing: we retry. https://github.com/graphile/worker/issues/636
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
