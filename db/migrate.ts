import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { migrate as applyOurs } from 'drizzle-orm/postgres-js/migrator'
import { runMigrations as applyQueue, Logger } from 'graphile-worker'
import { connect, type Tx, unbounded } from './client.ts'

const MigrationsFolder = join(import.meta.dirname, 'migrations') // beside the source, and beside the bundles
const LockKey = 7_036_871_431 // any number, as long as it never changes

/**
 * Bring the database at `databaseUrl` up to this version: our migrations, then graphile-worker's own.
 *
 * Waits while another process migrates. Safe to repeat; throws what PostgreSQL says, with each migration whole or not at all.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  // One connection, for the lock belongs to its session.
  const { db, end } = connect(databaseUrl, { connections: 1, name: 'migrate', bounds: unbounded })
  try {
    await db.execute(sql`select pg_advisory_lock(${LockKey})`)
    await applyOurs(db, { migrationsFolder: MigrationsFolder })
    await applyQueue({ connectionString: databaseUrl, logger: silent })
  } finally {
    await end() // gives the lock back
  }
}

/** Whether our newest migration has been applied: false on a database that is older than this version. */
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
