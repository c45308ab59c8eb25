import { type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Actor } from '../../../server/access/credentials.ts'
import { ListPosts, listPosts } from '../../../server/posts/list.ts'
import { anOrganisation } from '../../builders.ts'
import { fillOrganisation } from '../../postgres/many-posts.ts'
import { openWeb, type Web } from '../web.ts'

// Lists of an organisation that is big: what they show, against a list made by hand of all its posts, and what they cost.

const Seed = Number(process.env.PROPERTY_SEED ?? 20_260_801)
const Posts = 20_000
const Channels = 50
const HourMs = 3_600_000

let w: Web
let channelIds: string[]
let queueId: string
let all: Post[]
let everything: Actor
let appId: string
let ofOneChannel: Actor
let ofThreeChannels: Actor
beforeAll(async () => {
  process.stdout.write(`PROPERTY_SEED=${Seed}\n`)
  w = await openWeb()
  const another = await anOrganisation(w.db)
  await fillOrganisation(w.db, { organisationId: another.organisationId, count: 5000, channelCount: 10 })
  ;({ channelIds, appId } = await fillOrganisation(w.db, {
    organisationId: w.organisationId,
    count: Posts,
    channelCount: Channels,
  }))
  queueId = await queueOfSome()
  const actor = { organisationId: w.organisationId, name: 'x', scopes: ['posts:read'] }
  everything = { ...actor, kind: 'api_key', id: w.organisationId } as Actor
  ofOneChannel = { ...actor, kind: 'app', id: appId, channelIds: [channelIds[3]!] } as Actor
  ofThreeChannels = { ...ofOneChannel, channelIds: [3, 10, 17].map((i) => channelIds[i]!) } as Actor
  all = []
  for (let cursor: string | undefined; all.length === 0 || cursor; ) {
    const page = await list(everything, { limit: 100, order: 'asc', ...(cursor ? { cursor } : {}) })
    all.push(...page.data)
    cursor = page.nextCursor ?? undefined
  }
}, 300_000)
afterAll(() => w.end())

/** A quarter of the posts get a queue. */
async function queueOfSome(): Promise<string> {
  const [queue] = await w.db.execute<{ id: string }>(sql`
    insert into queues (id, organisation_id, name, is_default, time_zone, times)
    values (gen_random_uuid(), ${w.organisationId}, 'Main', true, 'UTC', '[]') returning id`)
  await w.db.execute(sql`
    update posts set queue_id = ${queue!.id}, queue_date = date
    where organisation_id = ${w.organisationId} and extract(hour from date)::int % 4 = 0`)
  await w.db.execute(sql`vacuum analyze posts`)
  return queue!.id
}

type Asked = Parameters<typeof ListPosts.parse>[0] & Record<string, unknown>

const list = (who: Actor, asked: Asked, db: Tx = w.db) => listPosts(db, who, ListPosts.parse(asked))

test('all its posts are listed, each once', () => {
  expect(new Set(all.map(({ id }) => id)).size).toBe(Posts)
  expect(all).toHaveLength(Posts)
})

/** What a list must show, by hand. */
function expected(who: Actor, asked: Asked): string[] {
  const { status, channelId, queueId, from, to, updatedSince, order = 'desc' } = asked as Record<string, string>
  const sort = asked.sort ?? (updatedSince ? 'updatedAt' : 'date')
  const statuses = status === undefined ? null : [status].flat()
  const granted = who.kind === 'app' ? who.channelIds : null
  const at = (post: Post) => (sort === 'updatedAt' ? post.updatedAt : post.date)
  const isSeen = ({ deliveries, createdBy }: Post) =>
    !granted ||
    (deliveries.length > 0 ? deliveries.every((one) => granted.includes(one.channelId)) : createdBy.id === who.id)
  const way = order === 'asc' ? 1 : -1
  return all
    .filter(isSeen)
    .filter((post) => !statuses || statuses.includes(post.status))
    .filter((post) => !channelId || post.deliveries.some((one) => one.channelId === channelId))
    .filter((post) => !queueId || post.queueId === queueId)
    .filter(({ date }) => (!from || (date !== null && date >= from)) && (!to || (date !== null && date < to)))
    .filter(({ updatedAt }) => !updatedSince || updatedAt >= updatedSince)
    .toSorted((a, b) => {
      const [x, y] = [at(a), at(b)]
      if (x === null || y === null) return x === y ? (a.id < b.id ? -way : way) : x === null ? 1 : -1
      return x === y ? (a.id < b.id ? -way : way) : x < y ? -way : way
    })
    .map(({ id }) => id)
}

const hours = (count: number) => new Date(Math.floor(Date.now() / HourMs) * HourMs + count * HourMs).toISOString()

const statuses = [
  'DRAFT',
  'SCHEDULED',
  'PUBLISHING',
  'PUBLISHED',
  'PARTIALLY_PUBLISHED',
  'HELD',
  'FAILED',
  'NEEDS_REVIEW',
  'CANCELLED',
]

test('every list query returns the same pages as a list made by hand', async () => {
  const hour = fc.integer({ min: -Posts, max: Posts / 4 }).map(hours)
  const asked = fc.record(
    {
      status: fc.oneof(fc.constantFrom(...statuses), fc.uniqueArray(fc.constantFrom(...statuses), { minLength: 1 })),
      channelId: fc.integer({ min: 0, max: Channels - 1 }).map((i) => channelIds[i]!),
      queueId: fc.constant(queueId),
      from: hour,
      to: hour,
      updatedSince: fc.integer({ min: -6, max: 0 }).map(hours),
      sort: fc.constantFrom('date', 'updatedAt'),
      order: fc.constantFrom('asc', 'desc'),
      limit: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: ['limit'] },
  )
  const who = fc.constantFrom('everything', 'of one channel', 'of three channels')
  await fc.assert(
    fc.asyncProperty(who, asked, fc.integer({ min: 0, max: 3 }), async (whose, wanted, pages) => {
      const actor = { everything, 'of one channel': ofOneChannel, 'of three channels': ofThreeChannels }[whose]!
      const ids = expected(actor, wanted)
      let cursor: string | null = null
      for (let page = 0; page <= pages && (page === 0 || cursor); page++) {
        const answer = await list(actor, { ...wanted, ...(cursor ? { cursor } : {}) } as Asked)
        const shown = answer.data.map(({ id }) => id)
        expect(shown).toEqual(ids.slice(page * wanted.limit, (page + 1) * wanted.limit))
        expect(answer.nextCursor === null).toBe((page + 1) * wanted.limit >= ids.length)
        cursor = answer.nextCursor
      }
    }),
    { seed: Seed, numRuns: 300, endOnFailure: true },
  )
})

// A connection keeps each statement that it has seen, for as long as it lives.
test('which statuses are asked for, and which dates, makes no new statement', async () => {
  const texts = new Set<string>()
  const execute = (query: SQL) => {
    texts.add(new PgDialect().sqlToQuery(query).sql)
    return w.db.execute(query)
  }
  const asked: Asked[] = [
    { status: 'FAILED', from: hours(0) },
    { status: ['HELD', 'DRAFT'], to: hours(0) },
    { status: ['DRAFT', 'HELD', 'PUBLISHING'], from: hours(0), to: hours(1) },
  ]
  for (const one of asked) await list(everything, one, { execute } as unknown as Tx)
  expect(texts.size).toBe(1)
})

describe('a page costs what it shows', () => {
  const filters: [string, () => Asked][] = [
    ...statuses.map((status): [string, () => Asked] => [`status ${status}`, () => ({ status })]),
    ['several statuses', () => ({ status: ['NEEDS_REVIEW', 'HELD', 'FAILED', 'PARTIALLY_PUBLISHED'] })],
    ['channelId', () => ({ channelId: channelIds[3]! })],
    ['from', () => ({ from: hours(0) })],
    ['to', () => ({ to: hours(0) })],
    ['updatedSince', () => ({ updatedSince: hours(-1) })],
    ['sort updatedAt', () => ({ sort: 'updatedAt' })],
    ['order asc', () => ({ order: 'asc' })],
  ]
  const pairs = filters.flatMap(([one, asked], i) => [
    [one, asked] as const,
    ...filters.slice(i + 1).flatMap(([other, more]) => {
      const isBothStatus = [one, other].every((name) => name.includes('status'))
      return isBothStatus ? [] : [[`${one}, ${other}`, () => ({ ...asked(), ...more() })] as const]
    }),
  ])

  test.each(pairs)('%s', async (name, asked) => {
    // No index holds two ranges at once: what comes in the order of one is sifted for the other.
    const timesAtMost = /^(from|to), sort/.test(name) ? 50 : 10
    for (const who of [everything, ofOneChannel]) {
      const first = await list(who, { ...asked(), limit: 50 })
      const cursors = first.nextCursor ? [undefined, first.nextCursor] : [undefined]
      for (const cursor of cursors) {
        const { read, shown } = await costOf(who, { ...asked(), limit: 50, ...(cursor ? { cursor } : {}) })
        // Also of an empty page something is read: the ten posts under way, and small statuses whole.
        expect(read, JSON.stringify({ who: who.kind, shown, cursor })).toBeLessThanOrEqual(timesAtMost * shown + 300)
      }
    }
  })
})

test.each([
  ['queueId', {}],
  ['queueId, status SCHEDULED', { status: 'SCHEDULED' }],
  ['queueId, order asc', { order: 'asc' }],
  ['queueId, from', { from: hours(0) }],
  ['queueId, sort updatedAt', { sort: 'updatedAt' }],
] as [string, Asked][])('a page of a queue of 5,000 posts costs what it shows: %s', async (_, asked) => {
  const { read, shown, indexes } = await costOf(everything, { ...asked, queueId, limit: 50 })
  expect(shown).toBe(50)
  expect(read).toBeLessThanOrEqual((asked.sort ? 50 : 10) * shown + 300) // no index of a queue has the last changes
  if (!asked.sort) expect(indexes).toContain('posts_of_queue')
})

/** How many rows PostgreSQL reads for a page, by which indexes, and how many posts that shows. */
async function costOf(who: Actor, asked: Asked): Promise<{ read: number; shown: number; indexes: string[] }> {
  const said: SQL[] = []
  const execute = (query: SQL) => {
    said.push(query)
    return w.db.execute(query)
  }
  const { data } = await list(who, asked, { execute } as unknown as Tx)
  const [row] = await w.db.execute<{ 'QUERY PLAN': [{ Plan: Plan }] }>(sql`explain (analyze, format json) ${said[0]}`)
  const { Plan } = row!['QUERY PLAN'][0]
  return { read: rowsReadBy(Plan), shown: data.length, indexes: indexesOf(Plan) }
}

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

function rowsReadBy(plan: Plan): number {
  const { 'Actual Rows': given, 'Actual Loops': loops, 'Rows Removed by Filter': left = 0 } = plan
  // Channels are few, and PostgreSQL reads such a table whole where that is cheaper.
  const counts = plan['Relation Name'] !== undefined && plan['Relation Name'] !== 'channels'
  const own = counts ? (given + left + (plan['Rows Removed by Index Recheck'] ?? 0)) * loops : 0
  return own + (plan.Plans ?? []).reduce((sum, child) => sum + rowsReadBy(child), 0)
}

function indexesOf(plan: Plan): string[] {
  return [plan['Index Name'] ?? '', ...(plan.Plans ?? []).flatMap(indexesOf)].filter(Boolean)
}
