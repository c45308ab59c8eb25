import { sql } from 'drizzle-orm'
import { bigint, boolean, check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { createdAt, instant } from './columns.ts'

// The installation itself, in one row: whether anything is sent, and which database this was when last seen. A backup that
// is put back elsewhere differs in it, and then nothing is claimed until an operator says so.
export const installation = pgTable(
  'installation',
  {
    only: boolean().primaryKey().default(true),
    pausedAt: instant(), // by an operator
    restoredAt: instant(), // found or said to be a restored backup, and not resumed since
    systemIdentifier: text(),
    databaseOid: bigint({ mode: 'number' }),
    timeline: integer(),
    allowsFailover: boolean().notNull().default(false), // a standby that became the primary has lost nothing: go on sending
  },
  (t) => [check('installation_is_one', sql`${t.only}`)],
)

// One row that holds the number of the transaction that wrote it. A dump that is restored writes it again in another one.
// No key: restored beside the row that is there, it makes two, and that is noticed as well (jobs/ledger/restore.ts). Never update it.
export const databaseMark = pgTable('database_mark', {
  writtenIn: bigint({ mode: 'number' }).notNull(), // the low 32 bits, as `xmin` has them
})

// What holds for a whole network in the installation. Rows are made by the workers that know the network.
export const networks = pgTable('networks', {
  name: text().primaryKey(), // a key of jobs/networks/registry.ts
  atOnce: integer(), // how many are claimed or sent at once by all workers together; null: as many as the workers can
  pausedAt: instant(), // by an operator
})

// A worker pool that takes jobs, from its start until it ends or is found dead.
export const workers = pgTable('workers', {
  owner: text().primaryKey(), // what leases and attempts carry
  host: text().notNull(),
  pid: integer().notNull(),
  concurrency: integer().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(), // its last heartbeat
  goneAt: instant(), // when its lock was first seen to be free: it is dead when it still is at the next look
  leavingAt: instant(), // it said that it ends by itself, so its end is no crash of what it sends
})

// What a worker did in a minute, for the operators' page. Swept after a week.
export const workerMinutes = pgTable(
  'worker_minutes',
  {
    at: instant().notNull(), // the minute's beginning
    owner: text().notNull(),
    published: integer().notNull(),
    failed: integer().notNull(),
    latenessP50Ms: integer('lateness_p50_ms'), // from due_at to when it was recorded; null when nothing was published
    latenessP95Ms: integer('lateness_p95_ms'),
    latenessMaxMs: integer(),
    waiting: integer().notNull(), // due and not out, in the whole installation, as this worker saw it
    oldestWaitingMs: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.at, t.owner] })],
)
