import { eq, sql } from 'drizzle-orm'
import { pino } from 'pino'
import type { Db } from '../../db/client.ts'
import { readEnv } from '../../db/env.ts'
import { memberships } from '../../db/schema/accounts.ts'
import type { Deps } from '../../jobs/deps.ts'
import { showPresence } from '../../jobs/monitoring/presence.ts'
import { times as realTimes, type Times } from '../../jobs/timeouts-and-delays.ts'
import type { Api } from '../../server/router.ts'
import { install } from '../../server/run/installation.ts'
import { aChannel, anOrganisation, someDeliveries } from '../builders.ts'
import { testDatabase } from '../postgres/database.ts'
import { testSite } from '../processes.ts'
import { apiAs, memberWith } from '../server/web.ts'
import { fakeNetwork } from '../stand-ins/fake-network.ts'
import { openRows } from './rows.ts'
import { openShown } from './shown.ts'

// Where the model runs: the real ledger and the real statements, in one transaction whose now() does not move. Time
// passes by moving all times in the rows back. We can read a state as JSON and restore it.

/** For the ledger, two-step is the same as readable. */
export const kinds = ['keyed', 'readable', 'blind'] as const
export type Kind = (typeof kinds)[number]

/** All times of the model are whole units from now, so that two states are either equal or clearly different. */
export const Unit = 60_000

/** The shortest times with the same order as in jobs/timeouts-and-delays.ts. */
export const times: Times = {
  ...realTimes,
  leaseMs: Unit,
  claimedAtMostMs: 2 * Unit,
  sendingAtMostMs: Unit,
  beginMs: 0, // a send that has not begun when time passes never begins
  sendMs: Unit,
  firstLookMs: Unit,
  lookSpreadMs: 0,
  settlesWithinMs: Unit,
  lookLeaseMs: Unit,
  backoffMs: [Unit],
  goneMs: 0,
  overdueMs: 0,
  graceAfterRestartMs: 0,
}

/** What a step works on. */
export type Stage = Awaited<ReturnType<typeof openRows>> & {
  tx: Db
  api: Api
  kind: Kind
  nowMs: number
  channelIds: string[]
  deliveryIds: string[]
  depsOf: (owner: string) => Deps
  /** Makes exactly these workers alive. */
  present: (owners: string[]) => Promise<void>
}

/** Runs `play` on channels of `kind` with `deliveries` each, all due now, ordered by id. Everything is rolled back. */
export async function onStage(
  { kind, channels, deliveries }: { kind: Kind; channels: number; deliveries: number },
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const database = await testDatabase({ connections: 1 })
  const site = await testSite(database.url)
  const { installation, end } = await install(readEnv(site.env))
  try {
    const { organisationId } = await anOrganisation(database.db)
    const [membership] = await database.db
      .select()
      .from(memberships)
      .where(eq(memberships.organisationId, organisationId))
    const member = await memberWith(installation, { organisationId, accountId: membership!.accountId })
    const channelIds: string[] = []
    for (let i = 0; i < channels; i++)
      channelIds.push(await aChannel(database.db, site.secretKey, { organisationId, network: kind }))
    await withoutQueue(database.db)
    const networks = { [kind]: networkOf(kind) }
    await inStandingTime(database.db, async (tx, nowMs) => {
      const wanted = channelIds.flatMap((channelId) =>
        Array.from({ length: deliveries }, () => ({ organisationId, channelId, dueAt: new Date(nowMs), text: 'a' })),
      )
      await openShown(tx)
      await tx.execute(sql`savepoint empty`)
      const deliveryIds = await someDeliveries(tx, wanted)
      const api = apiAs({ ...installation, db: tx, networks }, member)
      await play({
        ...(await openRows(tx)),
        present: presenceOn(tx),
        tx,
        api,
        kind,
        nowMs,
        channelIds,
        deliveryIds,
        depsOf: (owner) => depsOf(tx, networks, owner),
      })
    })
  } finally {
    await end()
    await site.end()
    await database.end()
  }
}

// Jobs are wake-ups. The model has none, because it may take any step at any time.
async function withoutQueue(db: Db): Promise<void> {
  await db.execute(sql`
    create or replace function graphile_worker.add_jobs(specs graphile_worker.job_spec[], job_key_preserve_run_at boolean default false)
    returns setof graphile_worker._private_jobs language sql as 'select * from graphile_worker._private_jobs where false'`)
}

function networkOf(kind: Kind) {
  return fakeNetwork({
    name: kind,
    url: 'http://127.0.0.1:9',
    repeatedSend: kind,
    settlesWithinMs: times.settlesWithinMs,
  })
}

// The rows have milliseconds. A now() with microseconds would differ from a time that was stored as now.
async function inStandingTime(db: Db, play: (tx: Db, nowMs: number) => Promise<void>): Promise<void> {
  const over = new Error('over')
  for (let isPlayed = false; !isPlayed; )
    await db
      .transaction(async (tx) => {
        const [now] = await tx.execute<{ ms: string; isWhole: boolean }>(sql`
          select floor(extract(epoch from now()) * 1000)::text as ms, extract(microseconds from now())::bigint % 1000 = 0 as "isWhole"`)
        if (!now!.isWhole) throw over
        isPlayed = true
        await tx.execute(sql`set local plan_cache_mode = force_generic_plan`) // the tables stay small
        await play(tx as unknown as Db, Number(now!.ms))
        throw over
      })
      .catch((error: unknown) => {
        if (error !== over) throw error
      })
}

function depsOf(db: Db, networks: Deps['networks'], owner: string): Deps {
  const uncounted = { published: () => {} }
  const log = pino({ level: 'silent' })
  return {
    ...{ db, owner, times, networks, log, at: () => {} },
    metrics: uncounted,
    tally: uncounted,
  } as unknown as Deps
}

function presenceOn(tx: Db): Stage['present'] {
  let alive = ''
  return async (owners) => {
    const wanted = owners.toSorted().join()
    if (wanted === alive) return
    await tx.execute(sql`select pg_advisory_unlock_all()`)
    for (const owner of owners) await showPresence(tx, owner)
    alive = wanted
  }
}
