import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Logger } from 'pino'
import type { Db } from '../../db/client.ts'
import { devices, sessions, signUps } from '../../db/schema/accounts.ts'
import { apiRequests, IdempotencyHours, idempotencyKeys, throttles } from '../../db/schema/api.ts'
import { connectFlows } from '../../db/schema/channels.ts'
import { workerMinutes } from '../../db/schema/installation.ts'
import { mailLinks, mails, notices } from '../../db/schema/mail.ts'
import { uploads } from '../../db/schema/media.ts'
import { appSecrets, authorizationCodes, authorizationRequests } from '../../db/schema/oauth.ts'
import { deletedDrafts, workingCopies } from '../../db/schema/posts.ts'
import { events } from '../../db/schema/webhooks.ts'

/** How often a worker process sweeps. */
export const SweepEveryMs = 60 * 60 * 1000

const BatchRows = 1000

// Rows that are no longer needed, and from when. We delete them by age, for all organisations, and show them to no one.
// Revoked tokens and consents stay, for the page Approved apps and for later questions.
const over: [PgTable, SQL][] = [
  [authorizationRequests, sql`o.expires_at < now()`],
  // For a day, the app's page can say that a code expired. A used code stays as long as its token: a replay revokes it.
  [
    authorizationCodes,
    sql`o.expires_at < now() - interval '24 hours' and not exists (select from access_tokens t where t.grant_id = o.grant_id)`,
  ],
  [idempotencyKeys, sql`o.created_at < now() - make_interval(hours => ${IdempotencyHours})`],
  [connectFlows, sql`o.expires_at < now()`],
  [appSecrets, sql`o.expires_at < now()`],
  [throttles, sql`o.expire < now()`],
  [uploads, sql`o.lease_until < now()`],
  [apiRequests, sql`o.at < now() - interval '7 days'`],
  [deletedDrafts, sql`o.deleted_at < now() - interval '1 day'`],
  [
    workingCopies, // its post was just created, or deleted so long ago that Undo is over
    sql`o.is_new = exists (select from posts p where p.id = o.id and p.organisation_id = o.organisation_id)
      and not exists (select from deleted_drafts d where d.id = o.id and d.organisation_id = o.organisation_id)`,
  ],
  [signUps, sql`o.expires_at < now()`],
  [sessions, sql`o.expires_at < now()`],
  [devices, sql`o.expires_at < now()`],
  [mails, sql`o.ended_at < now() - interval '7 days'`],
  [mailLinks, sql`o.expires_at < now()`],
  [notices, sql`o.created_at < now() - interval '7 days'`], // no worker collected them
  [workerMinutes, sql`o.at < now() - interval '7 days'`],
  [
    events, // with their deliveries, unless one is waiting to be sent again
    sql`o.at < now() - interval '30 days'
      and not exists (select from webhook_deliveries d where d.event_id = o.id and d.state = 'pending')`,
  ],
]

/**
 * Delete rows that are no longer needed, in batches, until none is left or `signal` is aborted.
 *
 * A plain timer of every worker process calls it, without a lock or a job. We skip rows that another process or a
 * request has locked. Deleting a row twice does no harm. After a failure we try again an hour later.
 */
export async function sweep(db: Db, signal: AbortSignal, log: Logger): Promise<void> {
  let rows = 0
  for (const [table, isOver] of over) {
    let batch = BatchRows
    while (batch === BatchRows && !signal.aborted) {
      batch = await deleteBatch(db, table, isOver)
      rows += batch
    }
  }
  if (rows > 0) log.info({ rows }, 'deleted old rows')
}

async function deleteBatch(db: Db, table: PgTable, isOver: SQL): Promise<number> {
  const deleted = await db.execute(sql`
    delete from ${table} where ctid = any(array(
      select o.ctid from ${table} o where ${isOver} limit ${BatchRows} for update of o skip locked))`)
  return deleted.count
}
