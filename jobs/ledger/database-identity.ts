import { sql } from 'drizzle-orm'

// Which database this is, as the database itself can tell. Asked in the very statements that claim and intend, so that
// nothing is sent from rows of a restored backup, however it came in while workers run.

/** SQL: the line of the database's history: it rises when a standby becomes the primary. */
export const currentTimeline = sql`('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 8, '0'))::bit(32)::integer`

const place = sql`
  (select system_identifier::text from pg_control_system()), (select oid::bigint from pg_database where datname = current_database())`

/** SQL: three values. The cluster, the database in it, and the line of its history (https://www.postgresql.org/docs/current/functions-info.html). */
export const identity = sql`${place}, ${currentTimeline}`

/**
 * SQL: the mark is where it was written. A dump that was restored wrote it anew, in another transaction (`xmin`, which
 * freezing keeps), or beside the one that was there.
 */
export const isMarkWhole = sql`
  (select count(*) = 1 and bool_and(m.xmin::text::bigint = m.written_in) from database_mark m)`

/** SQL: this is the database that the row `i` of `installation` knows, or it knows none yet. */
export const isSameDatabase = sql`(${isMarkWhole} and (i.system_identifier is null or (
  (i.system_identifier, i.database_oid) = (select ${place})
  and (i.allows_failover or i.timeline = ${currentTimeline}))))`
