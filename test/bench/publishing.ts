import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { aCrowd, type Crowd, schedule } from './crowd.ts'
import { openSite, type Process, type Site, type Stage, startWorker } from './stage.ts'

/** Posts that become due before running workers. */
export type Publishing = {
  count: number
  spreadMs: number // of their instants, beginning `LeadMs` after they were asked for
  atRandom?: boolean
  workers: number
  delayMs: number // of the network
  record?: (worker: number, site: Site) => string // where a worker writes the instants of its sends
  meanwhile?: (workers: Process[], site: Site) => Promise<AsyncDisposable> // from before the first is due until the last is out
}

/** A post that went out: instants in milliseconds since 1970. */
export type Published = { publishKey: string; dueAt: number; recordedAt: number }

const LeadMs = 15_000 // what it takes to insert them
const WarmUp = 1000 // posts; a worker that has run for days is warm
const WithinMs = 600_000

/**
 * Have workers publish, and return what the ledger says of it, soonest due first; `site` is still there for `after`.
 *
 * Throws when one did not go out, went out twice, or went out before one of its channel that was due sooner.
 */
export async function publish<T>(
  stage: Stage,
  wanted: Publishing,
  after: (published: Published[], site: Site) => T | Promise<T>,
): Promise<T> {
  await using site = await openSite(stage)
  const crowd = await aCrowd(site)
  const workers: Process[] = []
  try {
    for (let i = 0; i < wanted.workers; i++)
      workers.push(await startWorker(site, { ...wanted, record: wanted.record?.(i, site) ?? null }))
    const from = await sendOut(site, crowd, workers, wanted)
    const published = await outcomeOf(site.db, from, wanted.count)
    await Promise.all(workers.splice(0).map(({ stop }) => stop()))
    return await after(published, site)
  } finally {
    await Promise.all(workers.map(({ stop }) => stop()))
  }
}

/** Seconds from the first due instant to the last publication. */
export function secondsOf(published: Published[]): number {
  const last = published.reduce((latest, { recordedAt }) => Math.max(latest, recordedAt), 0)
  return (last - published[0]!.dueAt) / 1000
}

/** Returns when the first was due, after the last went out. */
async function sendOut(site: Site, crowd: Crowd, workers: Process[], wanted: Publishing): Promise<Date> {
  await using _ = await wanted.meanwhile?.(workers, site)
  const { db } = site
  await warmUp(db, crowd)
  const from = new Date(Date.now() + LeadMs)
  await schedule(db, crowd, { ...wanted, from })
  if (Date.now() > from.getTime()) throw new Error(`The posts could not be inserted within ${LeadMs} ms.`)
  await allOut(db)
  return from
}

async function warmUp(db: Db, crowd: Crowd): Promise<void> {
  await schedule(db, crowd, { count: WarmUp, from: new Date(), spreadMs: 0 })
  await allOut(db)
}

async function allOut(db: Db): Promise<void> {
  const left = sql`select from deliveries where state in ('scheduled', 'claimed', 'sending') limit 1`
  for (const end = Date.now() + WithinMs; (await db.execute(left)).length > 0; await sleep(200))
    if (Date.now() > end) throw new Error(`Some posts did not go out within ${WithinMs} ms.`)
}

async function outcomeOf(db: Db, from: Date, count: number): Promise<Published[]> {
  const since = sql`d.due_at >= ${from.toISOString()}`
  const [sends] = await db.execute<{ count: number; misplaced: number }>(sql`
    select count(*)::int as count, count(*) filter (where intended_at < before)::int as misplaced
    from (
      select a.intended_at, lag(a.intended_at) over (partition by d.channel_id order by d.due_at, d.id) as before
      from deliveries d join attempts a on a.delivery_id = d.id where ${since} and a.intended_at is not null) a`)
  const rows = await db.execute<Published>(sql`
    select publish_key as "publishKey", extract(epoch from due_at)::float8 * 1000 as "dueAt",
      extract(epoch from (select max(a.ended_at) from attempts a where a.delivery_id = d.id))::float8 * 1000 as "recordedAt"
    from deliveries d where ${since} and state = 'published' order by due_at`)
  if (rows.length !== count || sends?.count !== count || sends.misplaced > 0)
    throw new Error(
      `Of ${count} posts ${rows.length} went out, with ${sends?.count} sends, ${sends?.misplaced} out of order.`,
    )
  return [...rows]
}
