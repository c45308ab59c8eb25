import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { connect, type Db, type Tx } from '../../db/client.ts'
import { errorOf } from '../delivery-errors.ts'
import { putBeforePerson } from './before-person.ts'
import { currentTimeline, identity, isSameDatabase } from './database-identity.ts'

type Looking = { db: Db; databaseUrl: string; log: Logger }

/**
 * See whether this is the database that the installation last ran on. A dump that was restored, into this database or another
 * one, differs, and so does a standby that became the primary: then nothing is claimed until an operator resumes, since what
 * was due after the backup may have gone out. A copy of the whole cluster that was put back in its place cannot be told from it.
 *
 * Each worker asks at its start and every few seconds; claims and intents ask by themselves (jobs/ledger/database-identity.ts).
 */
export async function noticeRestore({ db, databaseUrl, log }: Looking): Promise<void> {
  const [seen] = await db.execute<{ isUsual: boolean }>(sql`
    select (${isSameDatabase} and i.restored_at is null and i.timeline = ${currentTimeline}) is true as "isUsual" from installation i`)
  if (seen?.isUsual) return
  const fresh = connect(databaseUrl, { connections: 1, name: 'restore' }) // others may know types that are gone
  await fresh.db.transaction((tx) => lookCloser(tx, log)).finally(fresh.end)
}

async function lookCloser(tx: Tx, log: Logger): Promise<void> {
  await tx.execute(sql`select from installation for no key update`) // before the look: another worker may be at it
  const [row] = await tx.execute<{ isSame: boolean; isRestored: boolean }>(sql`
    select ${isSameDatabase} as "isSame", i.restored_at is not null as "isRestored" from installation i`)
  if (!row) return // a restore is under way; without this row nothing is claimed
  if (!row.isSame) {
    const restored = await afterRestore(tx)
    log.error(restored, 'this database was restored or failed over: sending is stopped until `npm run admin -- resume`')
    if (restored.connectionsLeft > 0)
      log.error(
        restored,
        'connections of another database role could not be ended: restart all processes before `resume`',
      )
  } else if (row.isRestored) await putPastDueBeforePerson(tx)
  else await tx.execute(sql`update installation set (system_identifier, database_oid, timeline) = (${identity})`)
}

/**
 * Stop sending, for the database is a restored backup, and have every process of ours connect anew. Safe to say again. `tx` is a
 * transaction and no savepoint of one, on a connection that was opened after the restore.
 */
export async function afterRestore(tx: Tx): Promise<Restored & Connections> {
  const restored = await markRestored(tx)
  return { ...restored, ...(await endConnections(tx)) }
}

/** How many connections of our processes were ended, and how many were not: PostgreSQL lets this role end none of theirs. */
export type Connections = { connectionsEnded: number; connectionsLeft: number }

// A restore makes types and tables anew, and a connection keeps what it knew of the old ones: what it sends then cannot be
// recorded. Ended before this transaction commits, so that none is left when sending is resumed. Commands begin anew by themselves.
// A role that may not end those of another one still stops sending.
async function endConnections(tx: Tx): Promise<Connections> {
  const [row] = await tx.execute<Connections>(sql`
    with ours as materialized (
      select pid, pg_has_role(usesysid, 'member') or pg_has_role('pg_signal_backend', 'member') as may_end from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name ~ '^punctual (?!admin|migrate|restore)'
    )
    select count(case when may_end then pg_terminate_backend(pid) end)::int as "connectionsEnded",
      (count(*) filter (where not may_end))::int as "connectionsLeft" from ours`)
  return row!
}

/** What `markRestored` has put before a person. */
export type Restored = { restoredAt: Date; needsReview: number; organisations: number }

/**
 * Stop every claim until `resume`, for the database is a restored backup, and put what was past due in it before a person:
 * it may have gone out between the backup and now. Safe to say again. `tx` is a transaction and no savepoint of one: the mark
 * holds its number.
 *
 * Uncertain deliveries are left to the looks, which ask the network itself.
 */
export async function markRestored(tx: Tx): Promise<Restored> {
  const [stopped] = await tx.execute<{ at: string }>(sql`
    update installation set restored_at = now(), (system_identifier, database_oid, timeline) = (${identity})
    returning restored_at as at`)
  await tx.execute(sql`delete from database_mark`)
  await tx.execute(sql`insert into database_mark (written_in) values (pg_current_xact_id()::text::bigint % 4294967296)`)
  return { restoredAt: new Date(stopped!.at), ...(await putPastDueBeforePerson(tx)) }
}

/**
 * What was past due when the restore was noticed needs a person. Said again while sending is stopped: rows may come in after
 * that instant, and what was uncertain may turn out not to be out.
 */
export async function putPastDueBeforePerson(tx: Tx): Promise<Omit<Restored, 'restoredAt'>> {
  const organisations = await tx.execute<{ id: string }>(sql`
    select distinct d.organisation_id as id from deliveries d
    where (select restored_at from installation) is not null and ${isPastDue} order by 1`)
  let needsReview = 0
  for (const { id } of organisations) needsReview += await putBeforePerson(tx, id, asRestored)
  return { needsReview, organisations: organisations.length }
}

// A held one goes out by itself once its channel is reconnected, so it counts as well.
const isPastDue = sql`(d.state in ('scheduled', 'claimed', 'held')
  and greatest(d.due_at, d.created_at) <= (select restored_at from installation))`

const asRestored = { which: isPastDue, error: errorOf('restored'), message: 'A backup was restored.' }

/**
 * Put right what lists show of posts, where a restored backup is not resumed yet: pg_restore makes the triggers that keep the lists
 * after the rows, and what was written in between is not in them. Reads all posts then, however long that takes.
 */
export async function putListsRight(tx: Tx): Promise<void> {
  await tx.execute(sql`set local statement_timeout = 0`)
  await tx.execute(sql`
    delete from channel_posts c where (select restored_at from installation) is not null
      and not exists (select from deliveries d where d.post_id = c.post_id and d.channel_id = c.channel_id)`)
  const lists = sql`
    select d.organisation_id, d.channel_id, d.post_id, count(*) over (partition by d.post_id) = 1 as is_alone,
      p.told as status, p.date, p.updated_at
    from deliveries d join posts p on p.id = d.post_id`
  const wrong = await tx.execute<{ id: string }>(sql`
    select l.post_id as id from (${lists}) l left join channel_posts c on c.post_id = l.post_id and c.channel_id = l.channel_id
    where (select restored_at from installation) is not null
      and (c.is_alone, c.status, c.date, c.updated_at) is distinct from (l.is_alone, l.status, l.date, l.updated_at)`)
  if (wrong.length === 0) return
  const ids = sql.param([...wrong].map(({ id }) => id))
  await tx.execute(sql`select from posts where id = any(${ids}::uuid[]) order by id for no key update`)
  await tx.execute(sql`
    insert into channel_posts (organisation_id, channel_id, post_id, is_alone, status, date, updated_at)
    ${lists} where d.post_id = any(${ids}::uuid[])
    on conflict (post_id, channel_id) do update set
      is_alone = excluded.is_alone, status = excluded.status, date = excluded.date, updated_at = excluded.updated_at`)
}

/**
 * Whether sending goes on after a failover by itself. It loses nothing only where every commit waited for the standby
 * (synchronous_commit at least `on`, with synchronous_standby_names): otherwise the standby may not know what went out last.
 */
export async function allowFailover(tx: Tx, isAllowed: boolean): Promise<{ failover: 'go-on' | 'stop' }> {
  await tx.execute(sql`update installation set allows_failover = ${isAllowed}`)
  return { failover: isAllowed ? 'go-on' : 'stop' }
}
