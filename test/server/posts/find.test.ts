import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { aHouse } from '../house.ts'
import { apiAs, expectProblem, webWithChannel } from '../web.ts'

const w = webWithChannel()

const create = async (change = {}) => {
  const json = { type: 'draft', content: 'hello', channelIds: [w.channelId], ...change }
  return (await w.call('POST', '/posts', { json })).json as Post
}
const contentsOf = async (query: string) =>
  ((await w.call('GET', `/posts?${query}`)).json as { data: Post[] }).data.map(({ content }) => content)

beforeEach(() => w.db.execute(sql`delete from posts`))

describe('tags', () => {
  test('of a new post come back as sent, and change only with PATCH', async () => {
    const { id, tags } = await create({ tags: ['Launch', ' summer 2031 '] })
    expect(tags).toEqual(['Launch', 'summer 2031'])

    expect((await w.call('PATCH', `/posts/${id}`, { json: { content: 'new text' } })).json).toMatchObject({ tags })
    expect((await w.call('PATCH', `/posts/${id}`, { json: { tags: ['x'] } })).json).toMatchObject({ tags: ['x'] })
    expect((await create()).tags).toEqual([])
  })

  test('filter the list of posts, together with its other filters', async () => {
    await create({ content: 'both', tags: ['a', 'b'] })
    await create({ content: 'one', tags: ['a'], type: 'schedule', date: '2031-05-06T07:00:00Z' })
    await create({ content: 'none' })

    expect((await contentsOf('tag=a')).sort()).toEqual(['both', 'one'])
    expect(await contentsOf('tag=b')).toEqual(['both'])
    expect(await contentsOf('tag=a&status=SCHEDULED')).toEqual(['one'])
    expect(await contentsOf(`tag=a&channelId=${w.channelId}&sort=updatedAt`)).toEqual(['one', 'both'])
    expect(await contentsOf('tag=A')).toEqual([])
  })

  test('are refused if they are too many, too long, empty or listed twice', async () => {
    const refused = async (tags: unknown) => {
      const answer = await w.call('POST', '/posts', { json: { type: 'draft', content: '', channelIds: [], tags } })
      expectProblem(answer, 400, 'invalid_request')
      return answer.json.errors.map(({ message }: { message: string }) => message)
    }
    expect(await refused(Array.from({ length: 11 }, (_, i) => `t${i}`))).toEqual(['At most 10 tags.'])
    expect(await refused(['x'.repeat(51)])).toEqual(['At most 50 characters.'])
    expect(await refused([' '])).toEqual(['Send at least one character.'])
    expect(await refused(['\u0958'.repeat(50)])).toEqual(['At most 50 characters.']) // normalized, it is 100
    expect(await refused(['a,b'])).toEqual(['A tag has no comma.'])
    for (const tag of ['a\nb', 'a\u000bb', 'a\u2028b'])
      expect(await refused([tag])).toEqual(['A tag has no line break or control character.'])
    expect(await refused(['same', 'same '])).toEqual(['The same tag is listed twice.'])
  })
})

describe('posts are found', () => {
  const found = async (wanted: object, house?: Awaited<ReturnType<typeof aHouse>>) => {
    const api = apiAs(w.installation, (house ?? (await theHouse())).member)
    return (await api.posts.find(wanted)).data.map(({ content }) => content)
  }
  const theHouse = async () => {
    const house = await aHouse(w)
    return { ...house, member: { ...house.member, organisationId: w.organisationId } }
  }

  test('in long texts too, also one of 80,000 combining marks, which takes little time to store', async () => {
    const long = `${'words '.repeat(2000)}Cafe\u0301 opens`
    const marks = `a${'\u0301\u0316'.repeat(40_000)} Cafe\u0301`
    const began = performance.now()
    for (const content of [long, marks]) await create({ content })
    const ms = performance.now() - began
    process.stdout.write(`stored in ${ms.toFixed(0)} ms\n`)
    expect(ms).toBeLessThan(5000)
    expect((await found({ words: 'café' })).sort()).toEqual([marks, long].sort())
    expect(await found({ words: 'words café' })).toEqual([long])
    expect((await checkInvariants(w.db)).filter(({ broken }) => broken > 0)).toEqual([])
  })

  test('in long texts wherever a word stands, since a piece that is normalized ends before white space', async () => {
    const [row] = await w.db.execute<{ same: number; longer: number }>(sql`
      select count(*) filter (where normalized(whole) = normalize(whole, NFKC))::int as same, sum(length(whole)) > 400000 as longer
      from generate_series(0, 200) as pad, lateral (select repeat('x', pad % 50) || repeat(E' Cafe\u0301 at\nfive o’clock', 100) as whole) t`)
    expect(row).toEqual({ same: 201, longer: true })
    const [none] = await w.db.execute(sql`select normalized('') as empty, normalized(repeat('e\u0301', 5000)) as marks`)
    expect(none).toEqual({ empty: '', marks: '\u00e9'.repeat(5000) })
  })

  test('by parts of words in any script and case, and in any Unicode form', async () => {
    const texts = [
      'Straßenfest am See',
      'ＦＵＬＬＷＩＤＴＨ letters',
      '東京で桜が咲いた',
      'วันนี้อากาศดีมาก',
      'Cafe\u0301 opens',
      '100% sure',
    ]
    for (const content of texts) await create({ content })
    expect(await found({ words: 'ENFEST' })).toEqual(['Straßenfest am See'])
    expect(await found({ words: 'fullwidth' })).toEqual(['ＦＵＬＬＷＩＤＴＨ letters'])
    expect(await found({ words: '桜' })).toEqual(['東京で桜が咲いた'])
    expect(await found({ words: 'อากาศ' })).toEqual(['วันนี้อากาศดีมาก'])
    expect(await found({ words: 'café' })).toEqual(['Cafe\u0301 opens'])
    expect(await found({ words: '0%' })).toEqual(['100% sure'])
    expect(await found({ words: '_' })).toEqual([])
    expect(await found({ words: '％' })).toEqual(['100% sure']) // it becomes a %
    expect(await found({ words: 'see am' })).toEqual(['Straßenfest am See'])
    expect(await found({ words: 'see bm' })).toEqual([])
    expect((await found({ words: '' })).length).toBe(texts.length)
  })

  test('by the text for a single channel, after each change of it', async () => {
    const { id } = await create({ overrides: [{ channelId: w.channelId, content: 'Only for the feed' }] })
    expect(await found({ words: 'for the feed' })).toEqual(['hello'])

    await w.call('PATCH', `/posts/${id}`, { json: { content: 'changed', overrides: [] } })
    expect(await found({ words: 'for the feed' })).toEqual([])
    expect(await found({ words: 'changed' })).toEqual(['changed'])
    expect((await checkInvariants(w.db)).filter(({ broken }) => broken > 0)).toEqual([])
  })

  test('by long texts for many channels, which are indexed once', async () => {
    const channelIds = await Promise.all(Array.from({ length: 50 }, () => w.channel()))
    const text = (n: number) =>
      Array.from({ length: 1500 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * (n + 7)) % 20_000))).join('')
    const overrides = channelIds.map((channelId, n) => ({ channelId, content: text(n) }))
    const begun = performance.now()
    await create({ content: 'many texts', channelIds, overrides })
    expect(performance.now() - begun).toBeLessThan(10_000) // 0.8 s; 14 s when each text indexed all of them again
    expect(await found({ words: text(49).slice(0, 30) })).toEqual(['many texts'])
  })

  test('by channel, status, tag, author and dates together, a page at a time', async () => {
    const other = await w.channel()
    const scheduled = { type: 'schedule', tags: ['t'] }
    for (const day of [1, 2, 3])
      await create({ ...scheduled, content: `day ${day}`, date: `2031-05-0${day}T07:00:00Z` })
    await create({ ...scheduled, content: 'elsewhere', date: '2031-05-02T08:00:00Z', channelIds: [other] })
    await create({ content: 'a draft', tags: ['t'] })
    const wanted = { tag: 't', status: ['SCHEDULED'] as const, channelId: w.channelId }

    expect(await found(wanted)).toEqual(['day 3', 'day 2', 'day 1'])
    expect(await found({ ...wanted, from: '2031-05-02T00:00:00Z', to: '2031-05-03T00:00:00Z' })).toEqual(['day 2'])
    expect(await found({ ...wanted, status: ['FAILED', 'DRAFT'], channelId: undefined })).toEqual(['a draft'])
    expect(await found({ authorId: (await theHouse()).member.id })).toEqual([])
    const api = apiAs(w.installation, (await theHouse()).member)
    const { authors, tags } = await api.posts.findableBy()
    expect(tags).toEqual(['t'])
    expect((await found({ authorId: authors[0]!.id })).length).toBe(5)
    const seen: string[] = []
    for (let cursor: string | undefined; seen.length < 5; ) {
      const page = await api.posts.find({ tag: 't', limit: 2, ...(cursor ? { cursor } : {}) })
      seen.push(...page.data.map(({ content }) => content))
      cursor = page.nextCursor ?? undefined
      if (!cursor) break
    }
    expect(seen).toEqual(['day 3', 'elsewhere', 'day 2', 'day 1', 'a draft'])
  })

  test('only in the caller’s organisation', async () => {
    await create({ content: 'ours', tags: ['ours'] })
    const theirs = await aHouse(w)
    expect(await found({ words: 'ours' }, theirs)).toEqual([])
    expect(await apiAs(w.installation, theirs.member).posts.findableBy()).toEqual({
      authors: expect.not.arrayContaining([expect.objectContaining({ name: 'ours' })]),
      tags: [],
      queues: [],
    })
  })
})
