import type { PgDatabase } from 'drizzle-orm/pg-core'
import { drizzle, type PostgresJsDatabase, type PostgresJsQueryResultHKT } from 'drizzle-orm/postgres-js'
import postgres, { type Sql } from 'postgres'
import { InstallationError } from './embedded/installation.ts'
import { FileStorageError } from './files/files.ts'

/** A pool of connections. */
export type Db = PostgresJsDatabase
/** What a statement runs on: the pool, or a transaction of it. */
export type Tx = PgDatabase<PostgresJsQueryResultHKT>

/**
 * `underWay`: how many statements and transactions are at it; above the pool's size, some wait for a connection.
 * `stuckForMs`: how long something has been under way and nothing has ended, in milliseconds.
 */
export type Connection = { db: Db; underWay: () => number; stuckForMs: () => number; end: () => Promise<void> }

/** How long PostgreSQL lets a statement run, wait for a lock, and a transaction do nothing, in milliseconds; 0: no limit. */
export type Bounds = { statementMs: number; lockMs: number; idleInTransactionMs: number }

type ConnectOptions = {
  connections: number
  name: string
  bounds?: Bounds
  plans?: 'kept' | 'fresh'
  onClose?: () => void
}

// Above what anything of ours takes: a refreshed credential waits for a network within its transaction, 15 s at most.
const ordinary: Bounds = { statementMs: 30_000, lockMs: 20_000, idleInTransactionMs: 60_000 }
/** For a heartbeat, which is worth nothing when it is late. */
export const brief: Bounds = { statementMs: 5_000, lockMs: 5_000, idleInTransactionMs: 5_000 }
/** For work that takes as long as it takes, alone. */
export const unbounded: Bounds = { statementMs: 0, lockMs: 0, idleInTransactionMs: 0 }

/**
 * Open a pool on `url`; nothing is sent before the first query.
 *
 * `connections` is the pool's size, `name` what `pg_stat_activity` shows an operator, `onClose` hears of each connection
 * that ends. `plans`: whether PostgreSQL may keep the plan of a statement that is asked again and again; one that was made while
 * a table was small may read it whole until it is analyzed.
 * The driver's own client stays in here: drizzle replaces its date and JSON serialisers, so used bare it lies.
 */
export function connect(
  url: string,
  { connections, name, bounds = ordinary, plans = 'kept', onClose = () => {} }: ConnectOptions,
): Connection {
  requirePatched()
  const client = postgres(url, {
    max: connections,
    max_lifetime: null, // by default each is renewed after half an hour or more, and a session's locks are gone with it
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

// As it is published, the driver gives one caller another's rows after a migration, and a lost connection ends the process.
function requirePatched(): void {
  if (!('oneQueryAtATime' in postgres && 'setsOnceConnected' in postgres))
    throw new InstallationError(
      'The database driver in node_modules is not patched. Run `npx patch-package` (npm ci does it), then start again.',
    )
}

// The driver's own goes up to 20 s, and whatever waits for the connection waits with it.
function reconnectSeconds(failures: number): number {
  return Math.min(2 ** failures / 50, 1)
}

/** How busy a pool is. `movedAt`: when something began on the idle pool, or ended on a busy one. */
type Pool = { underWay: number; movedAt: number }

// Drizzle sends each statement unnamed, to be parsed and planned anew after a round trip of its own: a third of our
// throughput (measured). So every statement with parameters is prepared once a connection. Lists go in as one array
// parameter, or each length would be a statement of its own.
function prepared<T extends Sql>(client: T, pool: Pool): T {
  const { unsafe, begin, savepoint } = client as unknown as Record<string, (...args: unknown[]) => unknown>
  const inner = (run: unknown) => (scoped: Sql) => (run as (sql: Sql) => unknown)(prepared(scoped, pool))
  const moved = () => {
    pool.movedAt = performance.now()
  }
  return Object.assign(client, {
    unsafe: (query: string, parameters: unknown[] = [], options = {}) => {
      const statement = unsafe!(query, parameters, { ...options, prepare: parameters.length > 0 }) as Promise<unknown>
      if (!('onexecute' in options)) statement.then(moved, moved) // begins it a microtask later
      return statement
    },
    begin: (...args: unknown[]) => begin!(...args.slice(0, -1), inner(args.at(-1))),
    savepoint: (...args: unknown[]) => savepoint!(...args.slice(0, -1), inner(args.at(-1))),
  })
}

// The driver tells nobody how busy it is.
function counted<T extends Sql>(client: T, pool: Pool): T {
  const { unsafe, begin } = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  const count = (ended: Promise<unknown>) => {
    if (pool.underWay++ === 0) pool.movedAt = performance.now()
    const less = () => void pool.underWay--
    ended.then(less, less)
    return ended
  }
  return Object.assign(client, {
    // The driver's own, with which a transaction begins, is counted as that transaction.
    unsafe: (query: string, parameters?: unknown[], options: object = {}) => {
      const statement = unsafe!(query, parameters, options)
      return 'onexecute' in options ? statement : count(statement)
    },
    begin: (...args: unknown[]) => count(begin!(...args)),
  })
}

/** Hear each notification on `channel`, on a connection of its own that comes back by itself. */
export async function listen(url: string, channel: string, heard: () => void): Promise<{ end: () => Promise<void> }> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connection: { application_name: 'punctual listen' } })
  // `heard` also when it came back: something may have been missed.
  await client.listen(channel, heard, heard).catch(async (error: unknown) => {
    await client.end({ timeout: 1 })
    throw error
  })
  return { end: () => client.end({ timeout: 1 }) }
}

/** The PostgreSQL error code (SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html) in `error`, or null. */
export function sqlStateOf(error: unknown): string | null {
  for (let e = error; e instanceof Error; e = e.cause) {
    if ('code' in e && typeof e.code === 'string' && /^[0-9A-Z]{5}$/.test(e.code)) return e.code
  }
  return null
}

// 0A000 is a statement that was prepared before a migration, within a transaction: the same again is prepared anew.
const Away =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_(CLOSED|ENDED|DESTROYED)|57P0[1-5]|08\w{3}|53[1-3]00|25006|0A000)$/

/**
 * Whether the same transaction may do better later: the database is away, it was too slow, locked or left idle for too long,
 * or it lost a deadlock. It has changed nothing, unless the connection was lost in its commit: the same again must be safe.
 */
export function isPassing(error: unknown): boolean {
  return isDatabaseAway(error) || ['57014', '55P03', '25P03', '40P01', '40001'].includes(sqlStateOf(error) ?? '')
}

/** Whether `error` says that the database cannot be reached or takes no work just now, so that later may be better. */
export function isDatabaseAway(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) {
    if (e instanceof FileStorageError) return false // and what caused it is no connection to the database
    if ('code' in e && typeof e.code === 'string' && Away.test(e.code)) return true
  }
  return false
}
