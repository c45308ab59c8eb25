import { sql } from 'drizzle-orm'
import { bigint, boolean, check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { createdAt, instant } from './columns.ts'

// The installation in one row: whether we send anything, and which database this was when we last saw it. If a backup
// is restored elsewhere, the database differs. Then we claim nothing until an operator resumes.
export const installation = pgTable(
  'installation',
  {
    only: boolean().primaryKey().default(true),
    pausedAt: instant(), // by an operator
    restoredAt: instant(), // we found, or an operator said, that it is a restored backup; not resumed since
    systemIdentifier: text(),
    databaseOid: bigint({ mode: 'number' }),
    timeline: integer(),
    allowsFailover: boolean().notNull().default(false), // a standby that became the primary lost nothing: keep sending
  },
  (t) => [check('installation_is_one', sql`${t.only}`)],
)

// One row with the number of the transaction that wrote it. Restoring a dump writes it in another transaction. It has
// no key: a restore next to the existing row makes two rows, and we notice that too (jobs/ledger/restore.ts). Never
// update it.
export const databaseMark = pgTable('database_mark', {
  writtenIn: bigint({ mode: 'number' }).notNull(), // the low 32 bits, as `xmin` has them
})

// Settings of a network in the whole installation. The workers that know the network create its row.
export const networks = pgTable('networks', {
  name: text().primaryKey(), // a key of jobs/networks/registry.ts
  atOnce: integer(), // how many deliveries all workers together claim or send at once; null: no limit
  pausedAt: instant(), // by an operator
})

// A worker pool that takes jobs. The row exists from its start until it ends or we find it dead.
export const workers = pgTable('workers', {
  owner: text().primaryKey(), // leases and attempts name it
  host: text().notNull(),
  pid: integer().notNull(),
  concurrency: integer().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(), // its last heartbeat
  goneAt: instant(), // when we first saw its lock free: it is dead if the lock is still free at the next look
  leavingAt: instant(), // it announced its exit, so its end does not count as a crash of its deliveries
})

// A worker's statistics of one minute, for the operators' page. Deleted after a week.
export const workerMinutes = pgTable(
  'worker_minutes',
  {
    at: instant().notNull(), // the start of the minute
    owner: text().notNull(),
    published: integer().notNull(),
    failed: integer().notNull(),
    latenessP50Ms: integer('lateness_p50_ms'), // from due_at to when we recorded it; null if nothing was published
    latenessP95Ms: integer('lateness_p95_ms'),
    latenessMaxMs: integer(),
    waiting: integer().notNull(), // due and not published, in the whole installation, as this worker saw it
    oldestWaitingMs: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.at, t.owner] })],
)
