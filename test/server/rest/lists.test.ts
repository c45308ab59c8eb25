import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { media } from '../../../db/schema/media.ts'
import { postStatuses } from '../../../jobs/ledger/post-view.ts'
import { anOrganisation } from '../../builders.ts'
import { type Answer, expectProblem, openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb()
})
afterAll(() => w.end())

type House = { key: string; organisationId: string; channelId: string }
type Item = { id: string; content: string }

/** An organisation of its own, so that each test knows all that a list may show. */
async function house(): Promise<House> {
  const { key, organisationId } = await anOrganisation(w.db)
  return { key, organisationId, channelId: await w.channel(organisationId) }
}

const Hour = 3_600_000
const base = Math.floor(Date.now() / Hour) * Hour + 2 * Hour
const at = (hours: number) => new Date(base + hours * Hour).toISOString()

async function post({ key, channelId }: House, content: string, date: string | null, type = 'schedule') {
  const json = { type, content, channelIds: [channelId], ...(date ? { date } : {}) }
  const made = await w.call('POST', '/posts', { key, json })
  expect(made.status).toBe(201)
  return made.json.id as string
}

const contents = ({ json }: Answer) => json.data.map(({ content }: Item) => content).join(' ')

/** Every page of a list, by its Link headers; `between` is done after each page. */
async function pages(key: string, path: string, between = async () => {}): Promise<Answer[]> {
  const all: Answer[] = []
  for (let next: string | undefined = path; next; ) {
    const page = await w.call('GET', next, { key })
    expect(page.status).toBe(200)
    all.push(page)
    await between()
    const link: string | undefined = page.headers.get('link')?.match(/^<(.*)>; rel="next"$/)?.[1]
    expect(link === undefined).toBe(page.json.nextCursor === null)
    if (link) expect(new URL(link).searchParams.get('cursor')).toBe(page.json.nextCursor)
    next = link?.replace(`${w.site.appUrl}/public/v1`, '')
  }
  return all
}

describe('the list of posts', () => {
  test('goes by date and id, latest first unless asked, and drafts without a date come last either way', async () => {
    const h = await house()
    await post(h, 'noon', at(12))
    await post(h, 'undated1', null, 'draft')
    await post(h, 'early', at(1))
    await post(h, 'late', at(30), 'draft')
    await post(h, 'undated2', null, 'draft')
    await post(h, 'noon2', at(12))
    for (const [query, order] of [
      ['', 'late noon2 noon early undated2 undated1'],
      ['order=desc', 'late noon2 noon early undated2 undated1'],
      ['order=asc', 'early noon noon2 late undated1 undated2'],
    ] as const) {
      expect(contents(await w.call('GET', `/posts?${query}`, { key: h.key }))).toBe(order)
      for (const limit of [1, 2, 3, 4]) {
        const walked = await pages(h.key, `/posts?limit=${limit}&${query}`)
        expect(walked.map(contents).join(' ')).toBe(order)
        expect(walked).toHaveLength(Math.ceil(6 / limit))
      }
    }
  })

  test('shows each post once while others are inserted', async () => {
    const h = await house()
    const known: string[] = []
    for (let i = 0; i < 8; i++)
      known.push(await post(h, `known${i}`, i % 4 === 3 ? null : at(i), i % 4 === 3 ? 'draft' : 'schedule'))
    for (const order of ['asc', 'desc']) {
      let more = 0
      const walked = await pages(h.key, `/posts?limit=2&order=${order}`, async () => {
        if (more++ < 4)
          for (const date of [at(0.5), at(100), null]) await post(h, 'new', date, date ? 'schedule' : 'draft')
      })
      const ids = walked.flatMap(({ json }) => json.data.map(({ id }: Item) => id))
      expect(new Set(ids).size).toBe(ids.length)
      for (const id of known) expect(ids).toContain(id)
    }
  })

  test('is filtered by status, channel and dates, and the link to the next page keeps the filters', async () => {
    const h = await house()
    const other = { ...h, channelId: await w.channel(h.organisationId) }
    for (let i = 0; i < 4; i++) await post(h, `a${i}`, at(i))
    await post(other, 'b', at(2))
    await post(h, 'draft', at(2), 'draft')
    const filtered = async (query: string) =>
      (await pages(h.key, `/posts?order=asc&limit=1&${query}`)).map(contents).join(' ')
    expect(await filtered('status=DRAFT')).toBe('draft')
    expect(await filtered('status=PUBLISHED')).toBe('')
    expect(await filtered(`channelId=${other.channelId}`)).toBe('b')
    expect(await filtered(`from=${at(1)}&to=${at(3)}`)).toBe('a1 a2 b draft')
    expect(await filtered(`from=${at(1)}&status=SCHEDULED&channelId=${h.channelId.toUpperCase()}`)).toBe('a1 a2 a3')
    const [first] = await pages(h.key, `/posts?from=${at(1)}&status=SCHEDULED&limit=1`)
    const link = new URL(first!.headers.get('link')!.slice(1).split('>')[0]!)
    expect(Object.fromEntries(link.searchParams)).toEqual({
      ...{ from: at(1), status: 'SCHEDULED', limit: '1' },
      cursor: first!.json.nextCursor,
    })
  })

  test('of several statuses, by commas, and of none that there is not', async () => {
    const h = await house()
    await post(h, 'planned', at(1))
    await post(h, 'draft', at(2), 'draft')
    const gone = await post(h, 'gone', at(3))
    await w.call('DELETE', `/posts/${gone}`, { key: h.key })
    const of = (query: string) => w.call('GET', `/posts?order=asc&${query}`, { key: h.key })
    expect(contents(await of('status=DRAFT,CANCELLED'))).toBe('draft gone')
    expect(contents(await of('status=SCHEDULED%2CDRAFT%2CDRAFT'))).toBe('planned draft')
    const all = postStatuses.join()
    expect(contents(await of(`status=${all}`))).toBe('planned draft gone')
    for (const status of ['DRAFT,', ',', 'DRAFT,NONE', `${all},DRAFT`, 'draft', ',DRAFT'.repeat(300)]) {
      const refused = await of(`status=${status}`)
      expectProblem(refused, 400, 'invalid_request')
      expect(refused.json.errors).toMatchObject([
        { path: 'status', message: expect.stringContaining('separated by commas') },
      ])
    }
  })

  test('is sorted by the last change where asked, and a cursor of another sort is refused', async () => {
    const h = await house()
    const ids = [await post(h, 'a', at(3)), await post(h, 'b', at(2)), await post(h, 'c', null, 'draft')]
    const changed = await w.call('PATCH', `/posts/${ids[1]}`, { key: h.key, json: { content: 'b2' } })
    const list = async (query: string) => w.call('GET', `/posts?${query}`, { key: h.key })
    expect(contents(await list('sort=updatedAt'))).toBe('b2 c a')
    expect(contents(await list('sort=updatedAt&order=asc'))).toBe('a c b2')
    expect(contents(await list('sort=date'))).toBe('a b2 c')
    expect(contents(await list(`updatedSince=${changed.json.updatedAt}`))).toBe('b2')
    const walked = await pages(h.key, '/posts?sort=updatedAt&limit=1')
    expect(walked.map(contents).join(' ')).toBe('b2 c a')
    const byChange = (await list('sort=updatedAt&limit=1')).json.nextCursor
    const byDate = (await list('limit=1')).json.nextCursor
    for (const query of [`cursor=${byChange}`, `sort=date&cursor=${byChange}`, `sort=updatedAt&cursor=${byDate}`]) {
      const refused = await list(query)
      expectProblem(refused, 400, 'invalid_request')
      expect(refused.json.errors).toMatchObject([
        { path: 'cursor', message: expect.stringContaining('another `sort`') },
      ])
    }
    expect(contents(await list(`updatedSince=${changed.json.createdAt}&cursor=${byChange}`))).toBe('c')
  })

  test('has 50 to a page unless asked, and at most 100', async () => {
    const h = await house()
    await Promise.all(Array.from({ length: 101 }, (_, i) => post(h, `${i}`, null, 'draft')))
    expect((await pages(h.key, '/posts')).map(({ json }) => json.data.length)).toEqual([50, 50, 1])
    expect((await pages(h.key, '/posts?limit=100')).map(({ json }) => json.data.length)).toEqual([100, 1])
  })
})

test('channels are listed oldest first, those disconnected only when asked for, and show nothing beyond the contract', async () => {
  const h = await house()
  const ids = [h.channelId]
  for (let i = 0; i < 4; i++) ids.push(await w.channel(h.organisationId))
  await w.db.update(channels).set({ status: 'disconnected' }).where(eq(channels.id, ids[1]!))
  await w.db.update(channels).set({ status: 'needs_reconnect', network: 'other' }).where(eq(channels.id, ids[2]!))
  const list = async (query: string) =>
    (await pages(h.key, `/channels?limit=2&${query}`)).flatMap(({ json }) => json.data.map(({ id }: Item) => id))
  expect(await list('')).toEqual([ids[0], ids[2], ids[3], ids[4]])
  expect(await list('status=ACTIVE')).toEqual([ids[0], ids[3], ids[4]])
  expect(await list('status=DISCONNECTED')).toEqual([ids[1]])
  expect(await list('network=other&status=NEEDS_RECONNECT')).toEqual([ids[2]])
  expect(await list('network=none')).toEqual([])
  const one = await w.call('GET', `/channels/${ids[1]}`, { key: h.key })
  expect(one.json).toEqual({
    ...{ id: ids[1], network: 'feed', name: 'feed', handle: null, url: null, picture: null, status: 'DISCONNECTED' },
    limits: { textLength: 500, textUnit: 'characters', mediaCount: 4, mediaTypes: ['image/jpeg', 'image/png'] },
    connectedAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
  })
})

test('media are listed newest first', async () => {
  const h = await house()
  const file = {
    organisationId: h.organisationId,
    kind: 'image',
    mime: 'image/png',
    bytes: 1,
    sha256: '',
    fileKey: 'k',
  } as const
  const rows = await w.db
    .insert(media)
    .values(Array.from({ length: 5 }, () => file))
    .returning({ id: media.id })
  const walked = await pages(h.key, '/media?limit=2')
  expect(walked.flatMap(({ json }) => json.data.map(({ id }: Item) => id))).toEqual(rows.map(({ id }) => id).reverse())
})
