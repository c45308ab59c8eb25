import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveries } from '../../../db/schema/ledger.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Actor } from '../../../server/access/credentials.ts'
import type { Api } from '../../../server/router.ts'
import { anOrganisation, someDeliveries } from '../../builders.ts'
import { fillOrganisation } from '../../postgres/many-posts.ts'
import { aHouse, type House } from '../house.ts'
import { apiAs, openWeb, type Web } from '../web.ts'

const DayMs = 86_400_000

let w: Web
let house: House
let api: Api
let channelIds: string[]
let appId: string
beforeAll(async () => {
  w = await openWeb()
  house = await aHouse(w)
  api = apiAs(w.installation, house.member)
  const another = await anOrganisation(w.db)
  await fillOrganisation(w.db, { organisationId: another.organisationId, count: 500, channelCount: 3 })
  ;({ channelIds, appId } = await fillOrganisation(w.db, {
    organisationId: house.organisationId,
    count: 1000,
    channelCount: 12,
  }))
  await w.db.execute(
    sql`update posts set tags = '{third}' where organisation_id = ${house.organisationId} and right(content, 1) in ('0', '3', '6')`,
  )
}, 60_000)
afterAll(() => w.end())

const days = (count: number) => new Date(Date.now() + count * DayMs).toISOString()

/** All posts of a range by the list, which is another query. */
async function listed(
  who: Api,
  asked: { from: string; to: string; status?: Post['status'][]; channelId?: string; tag?: string },
) {
  const all: Post[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await who.posts.list({ ...asked, order: 'asc', limit: 100, ...(cursor ? { cursor } : {}) })
    all.push(...page.data)
    cursor = page.nextCursor
  }
  return all
}

const short = ({ id, date, status, content, channelIds, version, mediaIds, queueId }: Post) => ({
  ...{ id, date, status, channelIds, version, queueId },
  text: content, // all are short
  mediaCount: mediaIds.length,
})

test('a range shows the same posts as the list does, for each status, channel, tag and viewer', async () => {
  const app = { kind: 'app', id: appId, name: 'x', organisationId: house.organisationId, scopes: ['posts:read'] }
  const ofSome = { ...app, channelIds: channelIds.slice(0, 6) } as unknown as Actor
  const range = { from: days(-20), to: days(20) }
  const statuses = ['DRAFT', 'SCHEDULED', 'PUBLISHING', 'PUBLISHED', 'HELD', 'FAILED', 'CANCELLED'] as const
  const filters = [
    ...statuses.map((status) => ({ status: [status] })),
    { status: ['PUBLISHED' as const, 'PARTIALLY_PUBLISHED' as const] },
    { channelId: channelIds[2]! },
    { tag: 'third' },
    { tag: 'third', channelId: channelIds[2]!, status: ['PUBLISHED' as const] },
  ]
  for (const who of [api, apiAs(w.installation, ofSome)])
    for (const asked of [{}, ...filters]) {
      const { posts, hasMore } = await who.calendar.list({ ...range, ...asked })
      expect(hasMore).toBe(false)
      expect(posts).toEqual((await listed(who, { ...range, ...asked })).map(short))
      expect([asked, posts.length > 0]).toEqual([asked, who === api || posts.length > 0])
    }
})

test('a post with a long text has its beginning only, and whole characters', async () => {
  const { organisationId } = await anOrganisation(w.db)
  const channelId = await w.channel(organisationId)
  const dueAt = new Date(Date.now() + DayMs)
  await someDeliveries(w.db, [{ organisationId, channelId, dueAt, text: '🐎'.repeat(200) }])
  const actor = { ...house.member, organisationId }
  const { posts } = await apiAs(w.installation, actor).calendar.list({ from: days(0), to: days(2) })
  expect(posts[0]!.text).toBe(`${'🐎'.repeat(79)}…`)
})

test('a post without a text for all has the first text of a channel where it is not cancelled', async () => {
  const { organisationId } = await anOrganisation(w.db)
  const ids = await Promise.all([1, 2, 3].map(() => w.channel(organisationId)))
  const who = apiAs(w.installation, { ...house.member, organisationId })
  const post = { type: 'draft' as const, date: days(1), content: '', channelIds: ids }
  const texts = ['', 'Only here', '🐎'.repeat(200)]
  await who.posts.create({ ...post, overrides: texts.map((content, i) => ({ channelId: ids[i]!, content })) } as never)
  const text = async () => (await who.calendar.list({ from: days(0), to: days(2) })).posts[0]!.text
  expect(await text()).toBe('Only here')

  await w.db.update(deliveries).set({ state: 'cancelled' }).where(eq(deliveries.channelId, ids[1]!))
  expect(await text()).toBe(`${'🐎'.repeat(79)}…`)
})

test('the status is the one that lists show while a post is being sent', async () => {
  const { organisationId } = await anOrganisation(w.db)
  const channelId = await w.channel(organisationId)
  const dueAt = new Date(Date.now() + DayMs)
  const [id] = await someDeliveries(w.db, [{ organisationId, channelId, dueAt }])
  const lease = { leaseToken: uuidv7(), leaseOwner: 'x', leaseUntil: dueAt }
  const shown = async () =>
    (await apiAs(w.installation, { ...house.member, organisationId }).calendar.list({ from: days(0), to: days(2) }))
      .posts[0]!.status
  expect(await shown()).toBe('SCHEDULED')
  await w.db
    .update(deliveries)
    .set({ state: 'claimed', ...lease })
    .where(eq(deliveries.id, id!))
  expect(await shown()).toBe('SCHEDULED')
  await w.db
    .update(deliveries)
    .set({ state: 'sending', ...lease })
    .where(eq(deliveries.id, id!))
  expect(await shown()).toBe('PUBLISHING')
})

test('a range of more than 2,000 posts shows the first 2,000 and says that there are more', async () => {
  const { organisationId } = await anOrganisation(w.db)
  const channelId = await w.channel(organisationId)
  const start = Date.now() + DayMs
  const dueAt = (n: number) => new Date(start + n * 60_000)
  await someDeliveries(
    w.db,
    Array.from({ length: 2001 }, (_, n) => ({ organisationId, channelId, dueAt: dueAt(n) })),
  )
  const { posts, hasMore } = await apiAs(w.installation, { ...house.member, organisationId }).calendar.list({
    from: days(0),
    to: days(20),
  })
  expect(hasMore).toBe(true)
  expect(posts).toHaveLength(2000)
  expect(posts.at(-1)!.date).toBe(dueAt(1999).toISOString())
})

test('a range of more than 45 days is refused', async () => {
  await expect(api.calendar.list({ from: days(0), to: days(46) })).rejects.toThrow(/At most 45 days after from/)
})
