import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Db } from '../../db/client.ts'
import { claimHeads } from '../../jobs/claim.ts'
import { times } from '../../jobs/times.ts'
import { someDeliveries } from '../builders.ts'
import { type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.end())

/** How many rows of deliveries a claim reads, which is then undone. */
async function readBy(db: Db, channelIds: string[]): Promise<{ claimed: number; read: number }> {
  const undone = new Error('undone')
  let seen = { claimed: 0, read: 0 }
  const claiming = db.transaction(async (tx) => {
    const claims = await claimHeads(tx as unknown as Db, times, 'worker', channelIds)
    const [row] = await tx.execute<{ read: number }>(sql`
      select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'deliveries'`)
    seen = { claimed: [...claims.values()].filter((claim) => typeof claim === 'object').length, read: row!.read }
    throw undone
  })
  await claiming.catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return seen
}

test.each(['never analyzed', 'analyzed'])(
  'a claim reads no more the more is scheduled, by a plan that was made when there was one delivery, %s',
  async (statistics) => {
    await w.db.execute(sql`alter table deliveries set (autovacuum_enabled = false)`)
    await w.db.execute(sql`truncate deliveries cascade`)
    const channels = await Promise.all(Array.from({ length: 20 }, () => w.channel('readable')))
    const due = (channelId: string, inMs: number) => ({
      ...{ organisationId: w.organisationId, channelId },
      dueAt: new Date(Date.now() + inMs),
    })
    await someDeliveries(w.db, [due(channels[0]!, -1000)])
    if (statistics === 'analyzed') await w.db.execute(sql`vacuum analyze deliveries, channels`)
    const { db, end } = connect(w.site.databaseUrl, { connections: 1, name: 'test' })
    const first = await readBy(db, [channels[0]!])
    expect(first.claimed).toBe(1)
    for (let i = 0; i < 10; i++)
      await someDeliveries(
        w.db,
        Array.from({ length: 1000 }, (_, n) => due(channels[n % 20]!, i < 2 ? -500 : 3_600_000)),
      )
    const { claimed, read } = await readBy(db, channels)
    expect(claimed).toBe(20)
    expect(read).toBeLessThan(20 * 20)
    await end()
  },
)
