import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveries } from '../../db/schema/ledger.ts'
import { posts } from '../../db/schema/posts.ts'
import { aChannel, anOrganisation } from '../builders.ts'
import { testDatabase } from '../postgres/database.ts'
import { type Site, type Started, startWeb, testSite, until } from '../processes.ts'
import { type Answer, callApi } from '../server/web.ts'
import { hold, makeHoldable } from './database/hold.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
let site: Site
let web: Started
let key: string
let channelId: string
beforeAll(async () => {
  database = await testDatabase()
  await makeHoldable(database.db)
  site = await testSite(database.url)
  web = await startWeb(site)
  const own = await anOrganisation(database.db)
  key = own.key
  channelId = await aChannel(database.db, site.secretKey, { ...own, network: 'feed' })
})
afterAll(async () => {
  await web.stop()
  await site.end()
  await database.end()
})

const date = new Date(Date.now() + 3_600_000).toISOString()
const schedule = (content: string): Promise<Answer> =>
  callApi(site.appUrl, 'POST', '/posts', {
    key,
    json: { type: 'schedule', date, content, channelIds: [channelId] },
    headers: { 'idempotency-key': content },
  })

/** Counts what is stored of a post: the post itself, its deliveries and their wake-ups. */
async function stored(content: string): Promise<{ posts: number; deliveries: number; wakeUps: number }> {
  const [row] = await database.db.execute<{ posts: number; deliveries: number; wakeUps: number }>(sql`
    select count(distinct p.id)::int as posts, count(distinct d.id)::int as deliveries, count(distinct j.id)::int as "wakeUps"
    from ${posts} p left join ${deliveries} d on d.post_id = p.id left join graphile_worker.jobs j on j.key = d.id::text
    where p.content = ${content}`)
  return row!
}
const none = { posts: 0, deliveries: 0, wakeUps: 0 }
const whole = { posts: 1, deliveries: 1, wakeUps: 1 }

test('K0 a web process that ends before the schedule commits stores nothing, and repeating the request makes one post', async () => {
  const held = await hold(site.databaseUrl, 'commit')
  const asked = expect(schedule('K0')).rejects.toThrow()
  await held.reached()
  web.kill('SIGKILL')
  await asked
  await held.release()
  expect(await stored('K0')).toEqual(none)
  web = await startWeb(site)
  const again = await schedule('K0')
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(await stored('K0')).toEqual(whole)
})

test('K1 a web process that ends after the commit and before the reply has made the post, and repeating the request returns that post', async () => {
  const held = await hold(site.databaseUrl, 'commit')
  const asked = expect(schedule('K1')).rejects.toThrow()
  await held.reached()
  web.kill('SIGSTOP') // the process never learns that its commit succeeded
  await held.letThrough()
  await until(async () => (await stored('K1')).posts === 1)
  web.kill('SIGKILL')
  await asked
  web = await startWeb(site)
  const again = await schedule('K1')
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  const [row] = await database.db.select({ id: posts.id }).from(posts).where(sql`content = 'K1'`)
  expect(again.json.id).toBe(row!.id)
  expect(await stored('K1')).toEqual(whole)
})
