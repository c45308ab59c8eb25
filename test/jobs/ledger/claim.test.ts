import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Db } from '../../../db/client.ts'
import { type Claim, claimHeads } from '../../../jobs/ledger/claim.ts'
import { limit } from '../../../jobs/ledger/pause.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { someDeliveries } from '../../builders.ts'
import { type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.end())

/** Counts the rows of all tables that a claim reads, then rolls the claim back. */
async function readBy(db: Db, channelIds: string[]): Promise<{ claimed: number; read: number }> {
  const undone = new Error('undone')
  let seen = { claimed: 0, read: 0 }
  const claiming = db.transaction(async (tx) => {
    const claims = await claimHeads(tx as unknown as Db, times, 'worker', channelIds)
    const isClaimed = (claim: Claim) => typeof claim === 'object' && 'media' in claim && claim.media.length === 1
    const [row] = await tx.execute<{ read: number }>(sql`
      select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables`)
    seen = { claimed: [...claims.values()].filter(isClaimed).length, read: row!.read }
    throw undone
  })
  await claiming.catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return seen
}

/** One post with a picture for each entry of `inMs`, due that many milliseconds from now, on these channels in turn. */
async function postsDue(channels: string[], inMs: number[]): Promise<void> {
  await someDeliveries(
    w.db,
    inMs.map((ms, i) => ({
      organisationId: w.organisationId,
      channelId: channels[i % channels.length]!,
      dueAt: new Date(Date.now() + ms),
    })),
  )
  await w.db.execute(sql`
    with made as (
      insert into media (id, organisation_id, kind, mime, bytes, sha256, file_key)
      select p.id, p.organisation_id, 'image', 'image/jpeg', 1, p.id, p.id from posts p
      where not exists (select from post_media pm where pm.post_id = p.id) returning id, organisation_id)
    insert into post_media (organisation_id, post_id, media_id, position) select organisation_id, id, id, 0 from made`)
}

const whens = [
  { statistics: 'never analyzed', atOnce: null },
  { statistics: 'analyzed', atOnce: null },
  { statistics: 'analyzed', atOnce: 100 },
]

test.each(whens)(
  'a claim reads no more rows when more is scheduled, even with a plan made for one post ($statistics, cap $atOnce)',
  async ({ statistics, atOnce }) => {
    await limit(w.db, 'readable', atOnce)
    for (const table of ['deliveries', 'posts', 'media', 'post_media', 'channels'])
      await w.db.execute(sql.raw(`alter table ${table} set (autovacuum_enabled = false)`))
    await w.db.execute(sql`truncate posts, media, channels cascade`)
    const first = await w.channel('readable')
    await postsDue([first], [-1000])
    if (statistics === 'analyzed') await w.db.execute(sql`vacuum analyze`)
    const { db, end } = connect(w.site.databaseUrl, { connections: 1, name: 'test' })
    expect(await readBy(db, [first])).toMatchObject({ claimed: 1 })
    const channels = [first, ...(await Promise.all(Array.from({ length: 19 }, () => w.channel('readable'))))]
    for (let i = 0; i < 10; i++) await postsDue(channels, Array(1000).fill(i < 2 ? -500 : 3_600_000))
    const { claimed, read } = await readBy(db, channels)
    expect(claimed).toBe(20)
    expect(read).toBeLessThan(20 * 30)
    await end()
  },
)
