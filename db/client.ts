import type { PgDatabase } from 'drizzle-orm/pg-core'
import { drizzle, type PostgresJsDatabase, type PostgresJsQueryResultHKT } from 'drizzle-orm/postgres-js'
import postgres, { type Sql } from 'postgres'
import { InstallationError } from './embedded/installation.ts'
import { FileStorageError } from './files/files.ts'

/** A pool of connections. */
export type Db = PostgresJsDatabase
/** Runs statements: the pool, or one of its transactions. */
export type Tx = PgDatabase<PostgresJsQueryResultHKT>

/**
 * `underWay`: how many statements and transactions are running. Above the pool's size, some wait for a connection.
 * `stuckForMs`: how long the pool has been busy without finishing anything, in milliseconds.
 */
export type Connection = { db: Db; underWay: () => number; stuckForMs: () => number; end: () => Promise<void> }

/** PostgreSQL's timeouts for a statement, a wait for a lock, and an idle transaction, in milliseconds. 0: no limit. */
export type Bounds = { statementMs: number; lockMs: number; idleInTransactionMs: number }

type ConnectOptions = {
  connections: number
  name: string
  bounds?: Bounds
  plans?: 'kept' | 'fresh'
  onClose?: () => void
}

// More than our statements need: a credential refresh waits for a network within its transaction, 15 s at most.
const ordinary: Bounds = { statementMs: 30_000, lockMs: 20_000, idleInTransactionMs: 60_000 }
/** For a heartbeat: a late heartbeat is useless. */
export const brief: Bounds = { statementMs: 5_000, lockMs: 5_000, idleInTransactionMs: 5_000 }
/** For work that may take long and runs alone. */
export const unbounded: Bounds = { statementMs: 0, lockMs: 0, idleInTransactionMs: 0 }

/**
 * Open a pool on `url`. It sends nothing before the first query.
 *
 * `connections` is the pool's size. Operators see `name` in `pg_stat_activity`. `onClose` is called when a connection
 * ends. `plans`: whether PostgreSQL may keep the plan of a repeated statement. A plan that was made while a table was
 * small may read the whole table until it is analyzed.
 * We don't export the driver's own client: drizzle replaces its date and JSON serialisers, so it returns wrong values.
 */
export function connect(
  url: string,
  { connections, name, bounds = ordinary, plans = 'kept', onClose = () => {} }: ConnectOptions,
): Connection {
  requirePatched()
  const client = postgres(url, {
    max: connections,
    max_lifetime: null, // by default the driver renews connections after 30 minutes or more, and session locks are lost
    onnotice: () => {},
    connect_timeout: 10,
    backoff: reconnectSeconds,
    onclose: onClose,
    connection: {
      application_name: `punctual ${name}`,
      TimeZone: 'UTC',
      statement_timeout: bounds.statementMs,
      lock_timeout: bounds.lockMs,
      idle_in_transaction_session_timeout: bounds.idleInTransactionMs,
      ...(plans === 'fresh' ? { plan_cache_mode: 'force_custom_plan' } : {}),
    },
  })
  const pool = { underWay: 0, movedAt: 0 }
  return {
    db: drizzle(counted(prepared(client, pool), pool), { casing: 'snake_case' }),
    underWay: () => pool.underWay,
    stuckForMs: () => (pool.underWay > 0 ? performance.now() - pool.movedAt : 0),
    end: () => client.end({ timeout: 5 }),
  }
}

// Without our patch, a caller may get another caller's rows after a migration, and a lost connection ends the process.
function requirePatched(): void {
  if (!('oneQueryAtATime' in postgres && 'setsOnceConnected' in postgres))
    throw new InstallationError(
      'The database driver in node_modules is not patched. Run `npx patch-package` (`npm ci` runs it too), then start again.',
    )
}

// The driver's default goes up to 20 s, and all queries wait that long for the connection.
function reconnectSeconds(failures: number): number {
  return Math.min(2 ** failures / 50, 1)
}

/** How busy a pool is. `movedAt`: when the idle pool got its first query, or the busy pool finished one. */
type Pool = { underWay: number; movedAt: number }

// Drizzle sends each statement unnamed, so PostgreSQL parses and plans it every time, with an extra round trip. That
// costs a third of our throughput (measured). So we prepare every statement with parameters once per connection. Pass a
// list as one array parameter, or each length becomes a different statement.
function prepared<T extends Sql>(client: T, pool: Pool): T {
  const { unsafe, begin, savepoint } = client as unknown as Record<string, (...args: unknown[]) => unknown>
  const inner = (run: unknown) => (scoped: Sql) => (run as (sql: Sql) => unknown)(prepared(scoped, pool))
  const moved = () => {
    pool.movedAt = performance.now()
  }
  return Object.assign(client, {
    unsafe: (query: string, parameters: unknown[] = [], options = {}) => {
      const statement = unsafe!(query, parameters, { ...options, prepare: parameters.length > 0 }) as Promise<unknown>
      if (!('onexecute' in options)) statement.then(moved, moved) // it begins a microtask later
      return statement
    },
    begin: (...args: unknown[]) => begin!(...args.slice(0, -1), inner(args.at(-1))),
    savepoint: (...args: unknown[]) => savepoint!(...args.slice(0, -1), inner(args.at(-1))),
  })
}

// The driver doesn't report how busy it is.
function counted<T extends Sql>(client: T, pool: Pool): T {
  const { unsafe, begin } = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  const count = (ended: Promise<unknown>) => {
    if (pool.underWay++ === 0) pool.movedAt = performance.now()
    const less = () => void pool.underWay--
    ended.then(less, less)
    return ended
  }
  return Object.assign(client, {
    // The driver begins a transaction with a statement of its own. We count both as one.
    unsafe: (query: string, parameters?: unknown[], options: object = {}) => {
      const statement = unsafe!(query, parameters, options)
      return 'onexecute' in options ? statement : count(statement)
    },
    begin: (...args: unknown[]) => count(begin!(...args)),
  })
}

/** Call `heard` for each notification on `channel`. It uses a separate connection, which reconnects automatically. */
export async function listen(url: string, channel: string, heard: () => void): Promise<{ end: () => Promise<void> }> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => {},
    backoff: reconnectSeconds,
    connection: { application_name: 'punctual listen' },
  })
  // We also call `heard` after a reconnect: we may have missed notifications.
  await client.listen(channel, heard, heard).catch(async (error: unknown) => {
    await client.end({ timeout: 1 })
    throw error
  })
  return { end: () => client.end({ timeout: 1 }) }
}

/** The SQLSTATE in `error`, or null (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
export function sqlStateOf(error: unknown): string | null {
  for (let e = error; e instanceof Error; e = e.cause) {
    if ('code' in e && typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return e.code
  }
  return null
}

// 0A000: a statement in a transaction was prepared before a migration. A retry prepares it again.
const Away =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_(CLOSED|ENDED|DESTROYED)|57P0[1-5]|08\w{3}|53[1-3]00|25006|0A000)$/

/**
 * Whether a retry of the same transaction may succeed: the database is away, the transaction was too slow, locked or
 * idle for too long, or it lost a deadlock. It changed nothing, unless its commit lost the connection: a retry must be
 * safe.
 */
export function isPassing(error: unknown): boolean {
  return isDatabaseAway(error) || ['57014', '55P03', '25P03', '40P01', '40001'].includes(sqlStateOf(error) ?? '')
}

/** Whether `error` says that the database is unreachable or accepts no work now. A later try may succeed. */
export function isDatabaseAway(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) {
    if (e instanceof FileStorageError) return false // its cause is not a database connection
    if ('code' in e && typeof e.code === 'string' && Away.test(e.code)) return true
  }
  return false
}
