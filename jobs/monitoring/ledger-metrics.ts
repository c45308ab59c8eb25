import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../../db/client.ts'
import { kindsToTyped, RefusedRecipient } from '../../db/schema/mail.ts'
import { isFree } from '../ledger/pause.ts'

const ReadAgainMs = 10_000
const ReadWithinMs = 5000 // common scrapers wait for ten seconds

/** Figures of the whole installation, from the database. Every process reports the same figures. */
type Figures = {
  due: number
  overdueSeconds: number
  claimed: number
  sending: number
  uncertain: number
  held: number
  needsReview: number
  workersAlive: number
  heartbeatSeconds: number | null // null: no worker is known
  paused: number
  restored: number
  networksPaused: number
  mailsWaiting: number
  mailOldestSeconds: number
  mailsFailed: number
  mailsGivenUp: number
}

/**
 * Add the metrics of the ledger to `registry`. We read the ledger when someone asks, at most once in ten seconds. While
 * we cannot read it, its figures are absent and `punctual_ledger_readable` is 0.
 */
export function watchLedger(registry: Registry, db: Db, log: Logger): void {
  const ledger = reading(db, log)
  const { gauge, gauges } = gaugesOf(registry, ledger)
  gauges(
    'punctual_deliveries',
    `Deliveries that are due, in progress or waiting for a person, by state; \`due\`: scheduled, and the due time has passed (counts up to ${CountAtMost})`,
    'state',
    ({ due, claimed, sending, uncertain, held, needsReview }) => ({
      due,
      claimed,
      sending,
      uncertain,
      held,
      needs_review: needsReview,
    }),
  )
  gauge(
    'punctual_overdue_oldest_seconds',
    'How long the oldest due delivery has waited on a channel that is free to send; 0 if none is due',
    ({ overdueSeconds }) => overdueSeconds,
  )
  gauge('punctual_workers_alive', 'Workers whose last heartbeat is at most 30 s old', (read) => read.workersAlive)
  gauge(
    'punctual_worker_heartbeat_oldest_seconds',
    'Age of the oldest last heartbeat of a worker that has not ended, as far as we know',
    ({ heartbeatSeconds }) => heartbeatSeconds,
  )
  gauges(
    'punctual_claims_stopped',
    'Whether the installation sends nothing: an operator paused it, or a backup was restored and not resumed yet',
    'reason',
    ({ paused, restored }) => ({ paused, restored }),
  )
  gauge('punctual_networks_paused', 'Networks that an operator paused', ({ networksPaused }) => networksPaused)
  watchMails(gauge)
  new Gauge({
    name: 'punctual_ledger_readable',
    help: 'Whether the ledger could be read from the database',
    registers: [registry],
    async collect() {
      this.set((await ledger()) ? 1 : 0)
    },
  })
}

function watchMails(gauge: ReturnType<typeof gaugesOf>['gauge']): void {
  gauge('punctual_mails_waiting', 'Mails that are not sent yet', ({ mailsWaiting }) => mailsWaiting)
  gauge(
    'punctual_mail_oldest_seconds',
    'How long the oldest mail that is not sent yet has waited; 0 if there is none',
    ({ mailOldestSeconds }) => mailOldestSeconds,
  )
  gauge(
    'punctual_mails_failed',
    'Mails of the last 24 hours that were refused or given up',
    ({ mailsFailed }) => mailsFailed,
  )
  gauge(
    'punctual_mails_given_up',
    'Mails of the last 24 hours that were given up: no try of them was answered for good in time',
    ({ mailsGivenUp }) => mailsGivenUp,
  )
}

// A gauge of one figure, and a gauge of figures by a label.
function gaugesOf(registry: Registry, ledger: () => Promise<Figures | null>) {
  return {
    gauge: (name: string, help: string, figure: (ledger: Figures) => number | null) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          const read = await ledger()
          const value = read && figure(read)
          if (value === null) this.remove()
          else this.set(value)
        },
      }),
    gauges: (name: string, help: string, label: string, figures: (ledger: Figures) => Record<string, number>) =>
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        async collect() {
          this.reset()
          const read = await ledger()
          for (const [value, figure] of Object.entries(read ? figures(read) : {})) this.set({ [label]: value }, figure)
        },
      }),
  }
}

function reading(db: Db, log: Logger): () => Promise<Figures | null> {
  let last: Promise<Figures | null> | null = null
  return () => {
    if (last) return last
    const begun = readLedger(db).catch((error: unknown) => {
      log.warn({ err: error }, 'could not read the ledger for the metrics')
      return null
    })
    // We count from the end of a read: reads that wait for a connection must not pile up.
    void begun.then(() => setTimeout(() => (last = null), ReadAgainMs).unref())
    last = Promise.race([begun, sleep(ReadWithinMs, null, { ref: false })])
    return last
  }
}

const toTyped = sql.raw(kindsToTyped.map((kind) => `'${kind}'`).join(', '))
const isMistyped = sql`(kind in (${toTyped}) and coalesce(failure, '') like ${sql.raw(`'%${RefusedRecipient}'`)})`

const CountAtMost = 100_000 // after a long outage; counting more would take too long

// Each part uses a partial index, so a million posts that are not due yet cost nothing. We pass no parameters, so that
// PostgreSQL plans the statement for the current contents of the tables.
async function readLedger(db: Db): Promise<Figures> {
  const [read] = await db.execute<Figures>(sql`
    with waiting as (
      select channel_id, min(ready_at) as since, count(*) as n from (
        select channel_id, ready_at from deliveries where state = 'scheduled' and ready_at <= now()
        order by ready_at limit ${sql.raw(String(CountAtMost))}
      ) due group by channel_id
    ), free as (
      select greatest(w.since, c.paused_until) as since
      from waiting w join channels c on c.id = w.channel_id left join networks n on n.name = c.network
      where ${isFree}
    ), under_way as (
      select count(*) filter (where state = 'claimed') as claimed, count(*) filter (where state = 'sending') as sending
      from deliveries where state in ('claimed', 'sending')
    ), for_a_person as (
      select count(*) filter (where state = 'held') as held, count(*) filter (where state = 'needs_review') as needs_review
      from deliveries where state in ('held', 'needs_review')
    ), at_work as (
      select count(*) filter (where seen_at > now() - interval '30 s') as alive, min(seen_at) as silent_since
      from workers where gone_at is null
    ), mail as (
      select count(*) as waiting, min(created_at) filter (where not ${isMistyped}) as since from mails where state = 'pending'
    ), no_mail as (
      select count(*) as failed, count(*) filter (where ended_at >= give_up_at and not ${isMistyped}) as given_up
      from mails where state = 'failed' and ended_at > now() - interval '24 h'
    )
    select
      coalesce((select sum(n) from waiting), 0)::int as due,
      coalesce((select extract(epoch from now() - min(since)) from free), 0)::float8 as "overdueSeconds",
      claimed::int, sending::int, held::int, needs_review::int as "needsReview",
      (select count(*) from deliveries where state = 'uncertain')::int as uncertain,
      alive::int as "workersAlive", extract(epoch from now() - silent_since)::float8 as "heartbeatSeconds",
      (paused_at is not null)::int as paused, (restored_at is not null)::int as restored,
      (select count(*) from networks where paused_at is not null)::int as "networksPaused",
      mail.waiting::int as "mailsWaiting", coalesce(extract(epoch from now() - mail.since), 0)::float8 as "mailOldestSeconds",
      no_mail.failed::int as "mailsFailed", no_mail.given_up::int as "mailsGivenUp"
    from under_way, for_a_person, at_work, mail, no_mail, installation`)
  return read!
}
