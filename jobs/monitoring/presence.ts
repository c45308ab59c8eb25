import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import { brief, connect, type Db, type Tx } from '../../db/client.ts'
import { workers } from '../../db/schema/installation.ts'
import { isSameDatabase } from '../ledger/database-identity.ts'
import { ms } from '../ledger/ledger.ts'
import type { Times } from '../timeouts-and-delays.ts'

const AnnounceMs = 3000 // for one try: a frozen database accepts the connection and never answers
const AgainMs = 500
const OwnerLock = 70_036 // the first half of an owner's advisory lock; the second half is hashtext(owner)

/**
 * Show that this worker is alive while the session of `tx` lasts. It takes a session-level advisory lock. PostgreSQL
 * releases it as soon as the process is gone. `tx` must be a separate connection. False: another session has the lock.
 */
export async function showPresence(tx: Tx, owner: string): Promise<boolean> {
  const [row] = await tx.execute<{ mine: boolean }>(
    sql`select pg_try_advisory_lock(${OwnerLock}, hashtext(${owner})) as mine`,
  )
  return row!.mine
}

/** Record that a worker has begun. We do so before it claims anything, so that others notice if it dies. */
export async function registerWorker(tx: Tx, owner: string, concurrency: number): Promise<void> {
  await tx.insert(workers).values({ owner, concurrency, host: hostname(), pid: process.pid })
}

/**
 * Record that `owner` ends by itself: no post caused this, even if it leaves deliveries behind. We use a separate
 * connection and retry until the database accepts it. False: the database did not accept it within `withinMs`.
 */
export async function announceEnd(databaseUrl: string, owner: string, withinMs: number): Promise<boolean> {
  for (const end = performance.now() + withinMs; performance.now() < end; ) {
    const { db, end: close } = connect(databaseUrl, { connections: 1, name: 'end', bounds: brief })
    const announced = db.execute(
      sql`update workers set leaving_at = coalesce(leaving_at, now()) where owner = ${owner}`,
    )
    const isDone = await Promise.race([announced.then(yes, no), sleep(AnnounceMs, false)])
    void close().catch(no)
    if (isDone) return true
    await sleep(AgainMs)
  }
  return false
}

const yes = () => true
const no = () => false

/** Record a heartbeat of `owner`. */
export async function beSeen(tx: Tx, owner: string): Promise<void> {
  await tx.execute(sql`update workers set seen_at = now() where owner = ${owner}`)
}

/** Owners that are dead: `crashed` (ended without notice), or `ended` with notice but left deliveries behind. */
export type Dead = { crashed: string[]; ended: string[] }

/**
 * The owners that are dead: their lock is free, and was free at the check before. One check proves nothing: a worker
 * that lost its connection takes its lock again soon. In the first 30 s after PostgreSQL itself starts, free locks
 * prove nothing either.
 */
export async function findDead(db: Db, times: Times): Promise<Dead> {
  await db.execute(sql`
    update workers w set gone_at = case when ${isGone(sql`w.owner`)} then now() end
    where (w.gone_at is null) = ${isGone(sql`w.owner`)} and ${isPastGrace(times)}`)
  const rows = await db.execute<{ owner: string; isCrash: boolean }>(sql`
    select w.owner, (w.leaving_at is null and ${isTrusted}) as "isCrash" from workers w where w.gone_at <= now() - ${ms(times.goneMs)} and ${isPastGrace(times)} and ${isGone(sql`w.owner`)}
    union
    select d.lease_owner, false from deliveries d where d.state in ('claimed', 'sending') and ${isPastGrace(times)}
      and not exists (select from workers w where w.owner = d.lease_owner) and ${isGone(sql`d.lease_owner`)}`)
  const those = (isCrash: boolean) => [...rows].flatMap((row) => (row.isCrash === isCrash ? [row.owner] : []))
  return { crashed: those(true), ended: those(false) }
}

// In a restored database, all workers of the backup are gone, and no post caused it.
const isTrusted = sql`exists (select from installation i where i.restored_at is null and ${isSameDatabase})`

/** SQL: PostgreSQL has run long enough that its workers are connected again. */
export const isPastGrace = ({ graceAfterRestartMs }: Times) =>
  sql`pg_postmaster_start_time() < now() - ${ms(graceAfterRestartMs)}`

/** Delete the rows of dead owners whose deliveries were taken over, or of an owner that ends by itself. */
export async function forgetDead(tx: Tx, owners: string[]): Promise<void> {
  if (owners.length > 0) await tx.execute(sql`delete from workers where owner = any(${sql.param(owners)}::text[])`)
}

/** Whether the session of `tx` still holds the lock of `owner`. A connection that was lost comes back without it. */
export async function isPresent(tx: Tx, owner: string): Promise<boolean> {
  const rows = await tx.execute(
    sql`select from pg_locks l where l.pid = pg_backend_pid() and ${isLockOf(sql`${owner}::text`)}`,
  )
  return rows.length > 0
}

/** SQL: no session holds the lock of `owner`, a text expression. This alone does not prove that the owner is dead. */
export function isGone(owner: SQL): SQL {
  return sql`not exists (select from pg_locks l where ${isLockOf(owner)})`
}

function isLockOf(owner: SQL): SQL {
  return sql`l.locktype = 'advisory' and l.granted and l.objsubid = 2
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid::bigint = ${OwnerLock} and l.objid::bigint = (hashtext(${owner})::bigint & 4294967295)`
}
