import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Db } from '../db/client.ts'
import { afterRestore } from './restore.ts'

/**
 * See whether this is the database that the installation last ran on. A backup that was restored into another database or
 * cluster, or that became a primary of its own, differs: then nothing is claimed until an operator resumes, since what was
 * due after the backup may have gone out. A copy put back in place cannot be told from the original.
 */
export async function noticeRestore(db: Db, log: Logger): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.execute<{ isKnown: boolean; isSame: boolean }>(sql`
      select system_identifier is not null as "isKnown",
        (system_identifier, database_oid, timeline) is not distinct from (${identity}) as "isSame"
      from installation for no key update`)
    if (row!.isSame) return
    await tx.execute(sql`update installation set (system_identifier, database_oid, timeline) = (${identity})`)
    if (!row!.isKnown) return
    const restored = await afterRestore(tx)
    log.error(restored, 'this database is a restored backup: nothing is sent until `npm run admin -- resume`')
  })
}

// The cluster, the database in it, and the line of its history (https://www.postgresql.org/docs/current/functions-info.html).
const identity = sql`
  (select system_identifier::text from pg_control_system()), (select oid::bigint from pg_database where datname = current_database()),
  ('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 8, '0'))::bit(32)::integer`
