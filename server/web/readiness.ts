import { type SQL, sql } from 'drizzle-orm'
import { type Db, isDatabaseAway, isPassing, sqlStateOf } from '../../db/client.ts'
import { isMigrated } from '../../db/migrate.ts'
import { type Prober, TooLate } from '../../db/prober.ts'
import { isFree } from '../../jobs/ledger/pause.ts'
import { iso } from '../../jobs/ledger/post-view.ts'

/** Leaving: it still answers, but `/readyz` asks for no more requests. Closing: it finishes running requests. */
export type Phase = 'serving' | 'leaving' | 'closing'

/** An answer of `/readyz`. */
export type Readiness = { status: 200 | 503; text: string }

/**
 * What `/readyz` answers: 503 and the reason if no requests should come, in words, because the operator reads it before
 * anything else. It also says if posts do not go out, but that is no reason to send people elsewhere. For any number of requests, the
 * database gets one query at a time, and has 1.5 s to answer.
 */
export function readiness(prober: Prober, phase: () => Phase): () => Promise<Readiness> {
  let asking: Promise<State> | null = null
  return async () => {
    if (phase() !== 'serving') return notReady('draining')
    if (prober.answers() === 'silent') return notReady(silent)
    asking ??= stateOf(prober).finally(() => {
      asking = null
    })
    const { why, standstill } = await asking
    if (why) return notReady(why)
    return { status: 200, text: standstill ? `ready\n${standstill}\n` : 'ready\n' }
  }
}

const silent = 'the database does not answer'

function notReady(why: string): Readiness {
  return { status: 503, text: `not ready: ${why}\n` }
}

type State = { why?: string; standstill?: string | null }

async function stateOf(prober: Prober): Promise<State> {
  try {
    return await prober.ask(async (db) => {
      if (!(await isMigrated(db))) return { why: 'the database is older than this version: run `npm run migrate`' }
      return { standstill: await standstillIn(db) }
    })
  } catch (error) {
    if (isDatabaseAway(error)) return { why: 'the database cannot be reached' }
    if (error instanceof TooLate) return { why: silent }
    if (isPassing(error))
      return { standstill: 'cannot tell if posts go out: a table is locked, or the database is slow' }
    return { why: `the database answers with an error (${sqlStateOf(error) ?? 'unknown'})` }
  }
}

const LookAtMost = 1000 // due deliveries from either end

/** What has been due for a minute, the oldest or the newest first. */
const dueFrom = (end: SQL) => sql`(
  select id, channel_id, ready_at from deliveries where state = 'scheduled' and ready_at < now() - interval '1 minute'
  order by ready_at ${end} limit ${sql.raw(String(LookAtMost))})`

async function standstillIn(db: Db): Promise<string | null> {
  const [seen] = await db.execute<{ since: string | null; alive: number; isStopped: boolean }>(sql`
    with ends as materialized (${dueFrom(sql`asc`)} union ${dueFrom(sql`desc`)}), due as (
      select channel_id, ready_at from ends union all
      -- Those of paused channels or of a suspended organisation may fill both ends.
      select c.id, h.ready_at from channels c, lateral (
        select d.ready_at from deliveries d where d.channel_id = c.id and d.state = 'scheduled' and d.ready_at < now() - interval '1 minute'
        order by d.ready_at limit 1
      ) h where (select count(*) from ends) = ${sql.raw(String(2 * LookAtMost))}
    )
    select
      (select min(greatest(d.ready_at, c.paused_until)) from due d
        join channels c on c.id = d.channel_id left join networks n on n.name = c.network
        where ${isFree} and greatest(d.ready_at, c.paused_until) < now() - interval '1 minute'
      ) as since,
      (select count(*) from workers where gone_at is null and seen_at > now() - interval '30 s')::int as alive,
      (select paused_at is not null or restored_at is not null from installation) as "isStopped"`)
  const { since, alive, isStopped } = seen!
  if (!since) return null
  const why = isStopped ? 'sending is stopped until `npm run admin -- resume`' : `workers alive: ${alive}`
  return `not publishing: posts due since ${iso(since)} have not gone out; ${why}`
}
