import { sql } from 'drizzle-orm'

// Which database this is, as the database itself reports. The statements that claim and intend check it themselves. So
// we never send from rows of a restored backup, no matter how it was restored while workers run.

/** SQL: the timeline of the database's history. It rises when a standby becomes the primary. */
export const currentTimeline = sql`('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 8, '0'))::bit(32)::integer`

const place = sql`
  (select system_identifier::text from pg_control_system()), (select oid::bigint from pg_database where datname = current_database())`

/**
 * SQL: three values: the cluster, the database in it, and its timeline
 * (https://www.postgresql.org/docs/current/functions-info.html).
 */
export const identity = sql`${place}, ${currentTimeline}`

/**
 * SQL: the mark is still in the database where it was written. Restoring a dump writes it again, in another transaction
 * (`xmin`, which freezing keeps), or beside the existing mark.
 */
export const isMarkWhole = sql`
  (select count(*) = 1 and bool_and(m.xmin::text::bigint = m.written_in) from database_mark m)`

/** SQL: the row `i` of `installation` names this database, or no database yet. */
export const isSameDatabase = sql`(${isMarkWhole} and (i.system_identifier is null or (
  (i.system_identifier, i.database_oid) = (select ${place})
  and (i.allows_failover or i.timeline = ${currentTimeline}))))`
