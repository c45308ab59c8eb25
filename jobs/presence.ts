import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'

const OwnerLock = 70_036 // the first half of an owner's advisory lock, the second is hashtext(owner)

/**
 * Show this worker to be alive for as long as the session of `tx` lasts: a session-level advisory lock that PostgreSQL
 * lets go the moment the process is gone. `tx` must be a connection of its own.
 */
export async function showPresence(tx: Tx, owner: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_lock(${OwnerLock}, hashtext(${owner}))`)
}

/** Whether the session of `tx` still holds the lock of `owner`: a connection that was lost came back without it. */
export async function isPresent(tx: Tx, owner: string): Promise<boolean> {
  const rows = await tx.execute(
    sql`select from pg_locks l where l.pid = pg_backend_pid() and ${isLockOf(sql`${owner}::text`)}`,
  )
  return rows.length > 0
}

/** SQL: nobody holds the lock of `owner` (a text expression). */
export function isGone(owner: SQL): SQL {
  return sql`not exists (select from pg_locks l where ${isLockOf(owner)})`
}

function isLockOf(owner: SQL): SQL {
  return sql`l.locktype = 'advisory' and l.granted and l.objsubid = 2
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid::bigint = ${OwnerLock} and l.objid::bigint = (hashtext(${owner})::bigint & 4294967295)`
}
