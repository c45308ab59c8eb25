import { type SQL, sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Db, Tx } from '../../db/client.ts'
import type { DeliveryError, DeliveryState } from '../../db/schema/ledger.ts'
import { shownError } from '../../jobs/delivery-errors.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { operator, router } from '../access/trpc.ts'
import { ById } from '../forms.ts'
import { ListStuck, Reach, type stuckKinds } from './forms.ts'
import { isWakeable, retry, wake } from './ledger-lookup.ts'
import { goOnSending, stopSending } from './pauses.ts'

// What the installation's operators can see of all organisations: names, ids and states, never a text or a credential.

export const operations = router({
  /** The state of the whole installation. */
  overview: operator.query(({ ctx: { db } }) => overviewOf(db)),

  /** Deliveries that are stuck, the longest waiting first. */
  stuck: operator.input(ListStuck).query(({ ctx: { db }, input }): Promise<Page<Stuck>> => stuckIn(db, input)),

  pause: operator.input(Reach).mutation(({ ctx, input }) => stopSending(ctx, ctx.operator, input)),

  resume: operator.input(Reach).mutation(({ ctx, input }) => goOnSending(ctx, ctx.operator, input)),

  retry: operator.input(ById).mutation(async ({ ctx: { db, operator }, input }) => {
    await retry(db, operator, input.id)
  }),

  wake: operator.input(ById).mutation(({ ctx: { db }, input }) => wake(db, input.id)),
})

/** Whether sending is on, the workers, the queue, and how late posts went out. */
export async function overviewOf(db: Db) {
  const [stopped, workers, counted, networks, paused, suspended, lateness] = await Promise.all([
    stoppedIn(db),
    workersOf(db),
    countsOf(db),
    networksOf(db),
    pausedChannelsOf(db),
    suspendedOf(db),
    latenessOf(db),
  ])
  return { ...stopped, workers, ...counted, networks, ...paused, ...suspended, lateness }
}

type StuckKind = (typeof stuckKinds)[number]

const isOverdue = sql`d.due_at < now() - interval '10 seconds'`
const isStuck: Record<Exclude<StuckKind, 'overdue'>, SQL> = {
  uncertain: sql`d.state = 'uncertain'`,
  needs_review: sql`d.state = 'needs_review'`,
  held: sql`d.state = 'held'`,
  suspects: sql`d.crash_count > 0 and d.state not in ('published', 'cancelled')`, // no index has the failed ones: not counted
}

/** A stuck delivery, and why. `isWakeable`: it only waits for a worker. */
export type Stuck = {
  id: string
  state: DeliveryState
  dueAt: string
  nextAttemptAt: string | null
  attempts: number
  crashes: number
  error: DeliveryError | null
  isWakeable: boolean
  organisation: string
  channel: { id: string; name: string; network: string; isPaused: boolean; isSuspended: boolean }
}

async function stuckIn(tx: Tx, { kind, limit, cursor }: z.output<typeof ListStuck>): Promise<Page<Stuck>> {
  const rows = await tx.execute<Stuck>(sql`
    select d.id, d.state, d.due_at as "dueAt", case when d.state = 'uncertain' then d.look_at else d.next_attempt_at end as "nextAttemptAt",
      d.attempt_no as attempts, d.crash_count as crashes, ${shownError(sql`d.error`)} as error, ${isWakeable} as "isWakeable", o.name as organisation,
      json_build_object('id', c.id, 'name', c.name, 'network', c.network, 'isPaused', c.paused_at is not null,
        'isSuspended', o.suspended_at is not null) as channel
    from ${oldestStuck(kind, limit + 1, cursor)} d
    join channels c on c.id = d.channel_id join organisations o on o.id = d.organisation_id
    order by d.due_at, d.id`)
  return pageOf(
    [...rows],
    limit,
    (row) => ({ ...row, dueAt: iso(row.dueAt), nextAttemptAt: iso(row.nextAttemptAt) }),
    (row) => [iso(row.dueAt), row.id],
  )
}

// Overdue ones are searched channel by channel: no index has all of them by due time, with those that wait for a retry.
function oldestStuck(kind: StuckKind, count: number, cursor: string | undefined): SQL {
  const after = positionOf(cursor)
  const oldest = (is: SQL) => sql`(
    select d.* from deliveries d
    where ${is} ${after ? sql`and (d.due_at, d.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
    order by d.due_at, d.id limit ${count})`
  if (kind !== 'overdue') return oldest(isStuck[kind])
  return sql`(
    ${oldest(sql`d.state in ('claimed', 'sending') and ${isOverdue}`)}
    union all
    select h.* from channels ch, lateral ${oldest(sql`d.channel_id = ch.id and d.state = 'scheduled' and ${isOverdue}`)} h
    order by due_at, id limit ${count})`
}

async function stoppedIn(tx: Tx): Promise<{ pausedAt: string | null; restoredAt: string | null }> {
  const [row] = await tx.execute<{ pausedAt: string | null; restoredAt: string | null }>(
    sql`select paused_at as "pausedAt", restored_at as "restoredAt" from installation`,
  )
  return { pausedAt: iso(row!.pausedAt), restoredAt: iso(row!.restoredAt) }
}

/** A worker that has started and not stopped. `isSilent`: no heartbeat for 30 s. */
export type WorkerSeen = {
  owner: string
  host: string
  pid: number
  concurrency: number
  startedAt: string
  seenAt: string
  isSilent: boolean
}

async function workersOf(tx: Tx): Promise<WorkerSeen[]> {
  const rows = await tx.execute<WorkerSeen>(sql`
    select owner, host, pid, concurrency, started_at as "startedAt", seen_at as "seenAt",
      gone_at is not null or seen_at < now() - interval '30 seconds' as "isSilent"
    from workers order by started_at, owner`)
  return [...rows].map((row) => ({ ...row, startedAt: iso(row.startedAt), seenAt: iso(row.seenAt) }))
}

type Counts = Record<'overdue' | 'claimed' | 'sending' | 'uncertain' | 'held' | 'needs_review', number>

// Each part uses a partial index: published deliveries and those not due yet cost nothing.
async function countsOf(tx: Tx): Promise<{ counts: Counts; oldestDueAt: string | null }> {
  const [row] = await tx.execute<Counts & { oldest: string | null }>(sql`
    with scheduled as (
      select sum(h.late) as late, min(h.oldest) as oldest from channels c, lateral (
        select count(*) as late, min(d.due_at) as oldest from deliveries d
        where d.channel_id = c.id and d.state = 'scheduled' and ${isOverdue}) h
    ), under_way as (
      select count(*) filter (where d.state = 'claimed') as claimed, count(*) filter (where d.state = 'sending') as sending,
        count(*) filter (where ${isOverdue}) as late, min(d.due_at) filter (where ${isOverdue}) as oldest
      from deliveries d where d.state in ('claimed', 'sending')
    ), for_a_person as (
      select count(*) filter (where state = 'held') as held, count(*) filter (where state = 'needs_review') as needs_review
      from deliveries where state in ('held', 'needs_review')
    )
    select (coalesce(s.late, 0) + u.late)::int as overdue, claimed::int, sending::int, held::int, needs_review::int,
      (select count(*) from deliveries where state = 'uncertain')::int as uncertain, least(s.oldest, u.oldest) as oldest
    from scheduled s, under_way u, for_a_person`)
  const { oldest, ...counts } = row!
  return { counts, oldestDueAt: iso(oldest) }
}

/** A network with its claimed and sending deliveries, and its limit. Null: no limit. */
export type NetworkSeen = { name: string; underWay: number; atOnce: number | null; pausedAt: string | null }

async function networksOf(tx: Tx): Promise<NetworkSeen[]> {
  const rows = await tx.execute<NetworkSeen>(sql`
    with known as (select name from networks union select network from channels), under_way as (
      select c.network, count(*)::int from deliveries d join channels c on c.id = d.channel_id
      where d.state in ('claimed', 'sending') group by c.network
    )
    select k.name, coalesce(u.count, 0) as "underWay", n.at_once as "atOnce", n.paused_at as "pausedAt"
    from known k left join networks n on n.name = k.name left join under_way u on u.network = k.name order by k.name`)
  return [...rows].map((row) => ({ ...row, pausedAt: iso(row.pausedAt) }))
}

/** A channel that an operator has paused, the longest first. */
export type PausedChannel = { id: string; name: string; network: string; organisation: string; pausedAt: string }

const PausedShown = 100

async function pausedChannelsOf(tx: Tx): Promise<{ pausedChannels: PausedChannel[]; pausedChannelCount: number }> {
  const rows = await tx.execute<PausedChannel & { count: number }>(sql`
    select c.id, c.name, c.network, o.name as organisation, c.paused_at as "pausedAt", count(*) over ()::int as count
    from channels c join organisations o on o.id = c.organisation_id
    where c.paused_at is not null order by c.paused_at, c.id limit ${PausedShown}`)
  const pausedChannels = [...rows].map(({ count, ...channel }) => ({ ...channel, pausedAt: iso(channel.pausedAt) }))
  return { pausedChannels, pausedChannelCount: rows[0]?.count ?? 0 }
}

/** An organisation that an operator has suspended, the longest first. */
export type SuspendedOrganisation = { id: string; name: string; suspendedAt: string }

type Suspended = { suspendedOrganisations: SuspendedOrganisation[]; suspendedOrganisationCount: number }

async function suspendedOf(tx: Tx): Promise<Suspended> {
  const rows = await tx.execute<SuspendedOrganisation & { count: number }>(sql`
    select id, name, suspended_at as "suspendedAt", count(*) over ()::int as count from organisations
    where suspended_at is not null order by suspended_at, id limit ${PausedShown}`)
  const suspendedOrganisations = [...rows].map(({ count, ...row }) => ({ ...row, suspendedAt: iso(row.suspendedAt) }))
  return { suspendedOrganisations, suspendedOrganisationCount: rows[0]?.count ?? 0 }
}

/** Half an hour of all workers. Counts are sums; each other number is from the worst minute. */
export type HalfHour = {
  at: string
  published: number
  failed: number
  latenessP95Ms: number | null // null: nothing was published
  latenessMaxMs: number | null
  waiting: number | null // null: no worker was running
  oldestWaitingMs: number | null
}

async function latenessOf(tx: Tx): Promise<HalfHour[]> {
  const rows = await tx.execute<HalfHour>(sql`
    with half as (select date_bin('30 minutes', now(), timestamptz '2000-01-01 00:00Z') - n * interval '30 minutes' as at from generate_series(0, 47) n)
    select h.at, coalesce(sum(m.published), 0)::int as published, coalesce(sum(m.failed), 0)::int as failed,
      max(m.lateness_p95_ms) as "latenessP95Ms", max(m.lateness_max_ms) as "latenessMaxMs",
      max(m.waiting) as waiting, max(m.oldest_waiting_ms) as "oldestWaitingMs"
    from half h left join worker_minutes m on m.at >= h.at and m.at < h.at + interval '30 minutes'
    group by h.at order by h.at`)
  return [...rows].map((row) => ({ ...row, at: iso(row.at) }))
}
