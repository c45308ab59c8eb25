import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { isSought } from './under-way.ts'

// The only file that names graphile_worker in SQL. A job is only a wake-up, never the state: if we lose all jobs, we
// lose no post.

/** The payload of each task. */
export type Payloads = {
  publish: { deliveryId: string; channelId: string; network: string }
  reconcile: { deliveryId: string; network: string }
  webhook: { webhookId: string; organisationId: string }
  mail: { mailId: string }
}

/** The PostgreSQL channel that the alarm listens on: the next due time may be earlier now. */
export const DueChanged = 'punctual_due'

/**
 * Wake the workers at the due time of each of `deliveryIds`. Call it in the transaction that scheduled them.
 * Otherwise a crash between the two would leave them to the reaper. It replaces a job of the same delivery, even one
 * that is stuck with a dead worker.
 */
export async function wakeAtDue(tx: Tx, deliveryIds: string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  await wakeWhere(tx, sql`d.id = any(${sql.param(deliveryIds)}::uuid[])`)
}

/**
 * Wake the heads of these channels, if anything is or will be due. The worker that worked on these channels has
 * stopped.
 */
export async function wakeChannels(tx: Tx, channelIds: string[]): Promise<void> {
  if (channelIds.length === 0) return
  await wakeWhere(
    tx,
    sql`d.id in (select h.id from unnest(${sql.param(channelIds)}::uuid[]) as c (id), lateral (${headOf(sql`c.id`)}) h)`,
  )
}

/** Wake the delivery that has waited longest of those that may have crashed their worker: they go one at a time. */
export async function wakeSuspect(tx: Tx): Promise<void> {
  await wakeWhere(
    tx,
    sql`d.id = (
      select s.id from deliveries s where s.crash_count > 0 and s.state = 'scheduled' order by s.ready_at, s.id limit 1)`,
  )
}

/** Wake the look for deliveries with an unknown outcome, when their `look_at` comes. */
export async function wakeLook(tx: Tx, deliveryIds: string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  await tx.execute(sql`
    select graphile_worker.add_jobs(array_agg(row(
      'reconcile', json_build_object('deliveryId', d.id, 'network', c.network), null, d.look_at, null, 'look:' || d.id, null, null
    )::graphile_worker.job_spec))
    from deliveries d join channels c on c.id = d.channel_id where d.id = any(${sql.param(deliveryIds)}::uuid[]) and ${isSought}`)
}

/** Call these webhooks at once with their new events, or as soon as the pause after a failure is over. */
export async function callWebhooks(tx: Tx, webhookIds: string[]): Promise<void> {
  if (webhookIds.length > 0) await wakeWebhooksAt(tx, webhookIds, sql`coalesce(w.not_before, now())`)
}

/**
 * Wake the webhooks when their first waiting delivery is due. If a call is running, wait for its time limit: that
 * caller goes on by itself.
 */
export async function wakeWebhooks(tx: Tx, webhookIds: string[]): Promise<void> {
  const next = sql`(select min(d.next_attempt_at) from webhook_deliveries d where d.webhook_id = w.id and d.state = 'pending')`
  const busy = sql`(select max(d.lease_until) from webhook_deliveries d where d.webhook_id = w.id and d.lease_until is not null)`
  const at = sql`case when ${next} is not null then greatest(${next}, ${busy}, w.not_before) end`
  if (webhookIds.length === 0) return
  await tx.transaction(async (tx) => {
    // A transaction that calls a webhook again locks it. We must read its change, or our later time would replace it.
    await tx.execute(sql`
      select from webhooks where id = any(${sql.param(webhookIds)}::uuid[]) order by id for no key update`)
    await wakeWebhooksAt(tx, webhookIds, at)
  })
}

async function wakeWebhooksAt(tx: Tx, webhookIds: string[], at: SQL): Promise<void> {
  await tx.execute(sql`
    select graphile_worker.add_jobs(array_agg(row(
      'webhook', json_build_object('webhookId', w.id, 'organisationId', w.organisation_id), null, w.at, null, 'webhook:' || w.id, null, null
    )::graphile_worker.job_spec))
    from (
      select w.id, w.organisation_id, ${at} as at from webhooks w
      where w.id = any(${sql.param(webhookIds)}::uuid[]) and w.off_since is null
    ) w where w.at is not null having count(*) > 0`)
}

/** Send these mails when they are due. */
export async function wakeMails(tx: Tx, mailIds: string[]): Promise<void> {
  await tx.execute(sql`
    select graphile_worker.add_jobs(array_agg(row(
      'mail', json_build_object('mailId', m.id), null, m.next_attempt_at, null, 'mail:' || m.id, null, null
    )::graphile_worker.job_spec))
    from mails m where m.id = any(${sql.param(mailIds)}::uuid[]) and m.state = 'pending' having count(*) > 0`)
}

/** Let every worker look for due jobs now. */
export async function ring(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_notify('jobs:insert', '{"r":"alarm","count":1}')`)
}

/** The keys of the jobs that these pools hold. It reads the whole queue: use it only for dead workers. */
export async function jobsHeldBy(tx: Tx, owners: string[]): Promise<string[]> {
  const rows = await tx.execute<{ key: string }>(sql`
    select key from graphile_worker.jobs where locked_by = any(${sql.param(owners)}::text[]) and key is not null`)
  return [...rows].map(({ key }) => key)
}

/** Create jobs of these keys again: a dead pool had fetched them, and would keep them locked for hours. */
export async function renewJobs(tx: Tx, keys: string[]): Promise<void> {
  const after = (prefix: string) => keys.flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
  await wakeAtDue(
    tx,
    keys.filter((key) => !key.includes(':') && !key.startsWith('canary-')),
  )
  await wakeLook(tx, after('look:'))
  await wakeWebhooks(tx, after('webhook:'))
  await wakeMails(tx, after('mail:'))
  for (const key of keys) if (key.startsWith('canary-')) await dropJob(tx, key)
}

/** Delete the job of `key`, if no worker runs it. */
export async function dropJob(tx: Tx, key: string): Promise<void> {
  await tx.execute(sql`select graphile_worker.remove_job(${key})`)
}

/** Ask for one run of a task that only one worker knows. */
export async function askBack(tx: Tx, task: string): Promise<void> {
  await tx.execute(sql`select graphile_worker.add_job(${task}, job_key => ${task})`)
}

function headOf(channelId: SQL): SQL {
  return sql`
    select h.id from deliveries h where h.channel_id = ${channelId} and h.state = 'scheduled'
    order by h.ready_at, h.due_at, h.id limit 1`
}

async function wakeWhere(tx: Tx, which: SQL): Promise<void> {
  await tx.execute(sql`with ${wakingAtDue(sql`deliveries`, which)} select from woken`)
}

/**
 * SQL: CTEs that do the same as wakeAtDue for the rows of `deliveries`, such as a CTE that has just inserted them. They
 * run when the statement selects from the last one, `woken`. We do not join channels: PostgreSQL expects a hundred new
 * deliveries, and would read all channels for one.
 */
export function wakingAtDue(deliveries: SQL, which = sql`true`): SQL {
  return sql`
    sleeping as (
      select d.id, d.ready_at, d.channel_id, (select c.network from channels c where c.id = d.channel_id) as network
      from ${deliveries} d
      where ${which} and d.state = 'scheduled'
    ), added as (
      select graphile_worker.add_jobs(array_agg(row(
        'publish', json_build_object('deliveryId', w.id, 'channelId', w.channel_id, 'network', w.network),
        null, w.ready_at, null, w.id::text, null, null
      )::graphile_worker.job_spec order by w.ready_at, w.id))
      from sleeping w having count(*) > 0
    ), woken as (select pg_notify(${DueChanged}, '') from added limit 1)`
}
