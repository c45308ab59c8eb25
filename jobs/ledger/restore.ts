import { type SQL, sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { connect, type Db, type Tx } from '../../db/client.ts'
import { errorOf } from '../delivery-errors.ts'
import { putBeforePerson } from './before-person.ts'
import { currentTimeline, identity, isSameDatabase } from './database-identity.ts'

type Looking = { db: Db; databaseUrl: string; log: Logger }

/**
 * Check whether this is the database that the installation last ran on. It differs if a dump was restored, into this
 * database or another one, or if a standby became the primary. Then we claim nothing until an operator resumes, because
 * deliveries that were due after the backup may be published. We cannot detect a copy of the whole cluster that was put
 * back in its place.
 *
 * Each worker checks this at its start and every few seconds. Claims and intents check it themselves
 * (jobs/ledger/database-identity.ts).
 */
export async function noticeRestore({ db, databaseUrl, log }: Looking): Promise<void> {
  const [seen] = await db.execute<{ isUsual: boolean }>(sql`
    select (${isSameDatabase} and i.restored_at is null and i.timeline = ${currentTimeline}) is true as "isUsual" from installation i`)
  if (seen?.isUsual) return
  const fresh = connect(databaseUrl, { connections: 1, name: 'restore' }) // old connections may know types that are gone
  await fresh.db.transaction((tx) => lookCloser(tx, log)).finally(fresh.end)
}

async function lookCloser(tx: Tx, log: Logger): Promise<void> {
  await tx.execute(sql`select from installation for no key update`) // before we check: another worker may check, too
  const [row] = await tx.execute<{ isSame: boolean; isRestored: boolean }>(sql`
    select ${isSameDatabase} as "isSame", i.restored_at is not null as "isRestored" from installation i`)
  if (!row) return // a restore is running; without this row we claim nothing
  if (!row.isSame) {
    const restored = await afterRestore(tx)
    log.error(restored, 'this database was restored or failed over: we send nothing until `npm run admin -- resume`')
    if (restored.connectionsLeft > 0)
      log.error(
        restored,
        'could not end the connections of another database role: restart all processes before `resume`',
      )
  } else if (row.isRestored) await putPastDueBeforePerson(tx)
  else await tx.execute(sql`update installation set (system_identifier, database_oid, timeline) = (${identity})`)
}

/**
 * Stop sending, because the database is a restored backup, and let each of our processes connect again. Safe to call
 * again. `tx` is a transaction, not a savepoint, on a connection that was opened after the restore.
 */
export async function afterRestore(tx: Tx): Promise<Restored & Connections> {
  const restored = await markRestored(tx)
  return { ...restored, ...(await endConnections(tx)) }
}

/** How many connections of our processes we ended, and how many are left because this role may not end them. */
export type Connections = { connectionsEnded: number; connectionsLeft: number }

// A restore creates types and tables again, but an open connection still uses the old ones: it could not record what it
// sends. We end these connections before this transaction commits, so that none is left when sending resumes. Commands
// start again by themselves. A role that may not end the connections of another role still stops sending.
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

/** What `markRestored` marked as needs review. */
export type Restored = { restoredAt: Date; needsReview: number; organisations: number }

/**
 * Stop every claim until `resume`, because the database is a restored backup. Mark its past-due deliveries as needs
 * review: they may have been published between the backup and now. Safe to call again. `tx` is a transaction, not a
 * savepoint: the mark stores its number.
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
 * Deliveries that were past due when we noticed the restore need review. We repeat this while sending is stopped: rows
 * may come in later, and an uncertain delivery may turn out not to be published.
 */
export async function putPastDueBeforePerson(tx: Tx): Promise<Omit<Restored, 'restoredAt'>> {
  const organisations = await tx.execute<{ id: string }>(sql`
    select distinct d.organisation_id as id from deliveries d
    where (select restored_at from installation) is not null and ${isPastDue} order by 1`)
  let needsReview = 0
  for (const { id } of organisations) needsReview += await putBeforePerson(tx, id, asRestored)
  return { needsReview, organisations: organisations.length }
}

// A held delivery goes out by itself when its channel is reconnected, so it counts as well.
const isPastDue = sql`(d.state in ('scheduled', 'claimed', 'held')
  and greatest(d.due_at, d.created_at) <= (select restored_at from installation))`

const asRestored = { which: isPastDue, error: errorOf('restored'), message: 'A backup was restored.' }

/**
 * Correct the lists of posts if a restored backup is not resumed yet. pg_restore creates the triggers that keep the
 * lists after it inserts the rows, so the lists miss rows that were written in between. This reads all posts, without
 * a time limit.
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
  if (wrong.length > 0)
    await repairChannelLists(
      tx,
      lists,
      [...wrong].map(({ id }) => id),
    )
  await repairSearch(tx)
}

async function repairChannelLists(tx: Tx, lists: SQL, wrong: string[]): Promise<void> {
  const ids = sql.param(wrong)
  await tx.execute(sql`select from posts where id = any(${ids}::uuid[]) order by id for no key update`)
  await tx.execute(sql`
    insert into channel_posts (organisation_id, channel_id, post_id, is_alone, status, date, updated_at)
    ${lists} where d.post_id = any(${ids}::uuid[])
    on conflict (post_id, channel_id) do update set
      is_alone = excluded.is_alone, status = excluded.status, date = excluded.date, updated_at = excluded.updated_at`)
}

async function repairSearch(tx: Tx): Promise<void> {
  const wrong = await tx.execute<{ id: string }>(sql`
    select p.id from posts p left join post_search s on s.post_id = p.id, post_search_row(p.id) r
    where (select restored_at from installation) is not null and (s.texts, s.tags) is distinct from (r.texts, r.tags)`)
  if (wrong.length === 0) return
  const ids = sql.param([...wrong].map(({ id }) => id))
  await tx.execute(sql`select from posts where id = any(${ids}::uuid[]) order by id for no key update`) // no edit meanwhile
  await tx.execute(sql`
    insert into post_search (post_id, organisation_id, texts, tags)
    select r.post_id, r.organisation_id, r.texts, r.tags from posts p, post_search_row(p.id) r where p.id = any(${ids}::uuid[])
    on conflict (post_id) do update set texts = excluded.texts, tags = excluded.tags`)
}

/**
 * Set whether sending goes on by itself after a failover. This is safe only if every commit waited for the standby
 * (synchronous_commit at least `on`, with synchronous_standby_names). Otherwise the standby may miss what was sent
 * last.
 */
export async function allowFailover(tx: Tx, isAllowed: boolean): Promise<{ failover: 'go-on' | 'stop' }> {
  await tx.execute(sql`update installation set allows_failover = ${isAllowed}`)
  return { failover: isAllowed ? 'go-on' : 'stop' }
}
