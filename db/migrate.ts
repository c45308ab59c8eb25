import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { migrate as applyOurs } from 'drizzle-orm/postgres-js/migrator'
import { runMigrations as applyQueue, Logger } from 'graphile-worker'
import { connect, type Db, sqlStateOf, type Tx, unbounded } from './client.ts'
import { InstallationError } from './embedded/installation.ts'

const MigrationsFolder = join(import.meta.dirname, 'migrations') // next to the source, and next to the bundles
const OldestPostgres = 14
const DeadlocksAtMost = 100
const PauseAtMostMs = 500
const LockKey = 7_036_871_431 // any number, as long as it never changes

/**
 * Upgrade the database at `databaseUrl` to this version: our migrations (or those in another `folder`), then
 * graphile-worker's own.
 *
 * Waits while another process migrates. Safe to repeat. Each migration is all or nothing. Throws PostgreSQL's errors,
 * and InstallationError if PostgreSQL is too old.
 */
export async function migrate(databaseUrl: string, folder = MigrationsFolder): Promise<void> {
  // One connection, because the lock belongs to its session.
  const { db, end } = connect(databaseUrl, { connections: 1, name: 'migrate', bounds: unbounded })
  try {
    await requireVersion(db)
    await db.execute(sql`select pg_advisory_lock(${LockKey})`)
    await applyAgainAfterDeadlock(db, folder)
    await applyQueue({ connectionString: databaseUrl, logger: silent })
  } finally {
    await end() // releases the lock
  }
}

// Other processes run meanwhile, and PostgreSQL may abort either side of a deadlock. We changed nothing, so we retry.
async function applyAgainAfterDeadlock(db: Db, migrationsFolder: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await applyOurs(db, { migrationsFolder })
    } catch (error) {
      if (sqlStateOf(error) !== '40P01' || tries === DeadlocksAtMost) throw error
    }
    await sleep(Math.random() * PauseAtMostMs) // else the retry may meet the same traffic at the same step
  }
}

/** Throws InstallationError if PostgreSQL is too old for Punctual, or if the database can't store every language. */
export async function requireVersion(db: Db): Promise<void> {
  const [row] = await db.execute<{ number: string; name: string; encoding: string }>(
    sql`select current_setting('server_version_num') as number, current_setting('server_version') as name,
      current_setting('server_encoding') as encoding`,
  )
  if (row!.encoding !== 'UTF8')
    throw new InstallationError(
      `The database has the encoding ${row!.encoding}, which can't store every language. Create one with the encoding UTF8.`,
    )
  if (Number(row!.number) >= OldestPostgres * 10_000) return
  throw new InstallationError(
    `PostgreSQL ${row!.name} is too old. Upgrade it to ${OldestPostgres} or newer, or set DATABASE_URL to another server.`,
  )
}

/** Whether our newest migration has been applied. False if the database is older than this version. */
export async function isMigrated(db: Tx): Promise<boolean> {
  const [table] = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') as name`)
  if (!table?.name) return false
  const [applied] = await db.execute(sql`select max(created_at)::float8 as newest from drizzle.__drizzle_migrations`)
  const journal: { entries: { when: number }[] } = JSON.parse(
    await readFile(join(MigrationsFolder, 'meta/_journal.json'), 'utf8'),
  )
  return Number(applied?.newest) >= (journal.entries.at(-1)?.when ?? 0)
}

const silent = new Logger(() => () => {})
