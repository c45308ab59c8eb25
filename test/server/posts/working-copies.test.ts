import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../../db/log.ts'
import { sweep } from '../../../jobs/sweep/rows.ts'
import type { Api } from '../../../server/router.ts'
import { aHouse, type House, newThings } from '../house.ts'
import { apiAs, failureOf, openWeb, type Web } from '../web.ts'

let w: Web
let house: House
let api: Api
let channelId: string
beforeAll(async () => {
  w = await openWeb()
  house = await aHouse(w)
  api = apiAs(w.installation, house.member)
  channelId = await w.channel(house.organisationId)
})
afterAll(() => w.end())

const typed = (content: string) => ({
  content,
  channelIds: [channelId],
  mediaIds: [],
  alts: {},
  date: '2031-02-0', // half of one
  time: '',
})
const aNewCopy = () => ({ id: uuidv7(), isNew: true, revision: 0, postVersion: null })

test('each save has a revision, and one that was typed on an older revision overwrites nothing', async () => {
  const copy = aNewCopy()
  expect(await api.workingCopies.save({ ...copy, ...typed('a') })).toBe(1)
  expect(await api.workingCopies.save({ ...copy, ...typed('ab'), revision: 1 })).toBe(2)

  expect(await api.workingCopies.save({ ...copy, ...typed('of another tab'), revision: 1 })).toBe(null)

  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ ...typed('ab'), revision: 2, isNew: true })
})

test('a copy is its writer’s alone, and in the organisation where it was written', async () => {
  const copy = aNewCopy()
  await api.workingCopies.save({ ...copy, ...typed('mine') })
  const theirs = await aHouse(w)
  const colleague = { ...theirs.member, organisationId: house.organisationId }
  const elsewhere = { ...house.member, organisationId: theirs.organisationId }
  for (const other of [theirs.member, colleague, elsewhere]) {
    const { workingCopies } = apiAs(w.installation, other)
    expect(await workingCopies.get({ id: copy.id })).toBe(null)
    await workingCopies.discard({ id: copy.id })
  }

  expect(await apiAs(w.installation, elsewhere).workingCopies.save({ ...copy, ...typed('not mine') })).toBe(null)
  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ content: 'mine', revision: 1 })
})

test('saving changes no post and emits no event', async () => {
  const { postId } = await newThings(w, house)
  const before = await api.posts.get({ id: postId })
  const events = await countOf('events')
  await api.workingCopies.save({ id: postId, isNew: false, revision: 0, postVersion: before.version, ...typed('half') })

  expect(await api.posts.get({ id: postId })).toEqual(before)
  expect(await countOf('events')).toBe(events)
})

test('a copy of a post that is not there, or is somebody else’s, is refused', async () => {
  const { postId } = await newThings(w, await aHouse(w))
  for (const id of [uuidv7(), postId]) {
    const saving = api.workingCopies.save({ id, isNew: false, revision: 0, postVersion: 1, ...typed('x') })
    expect(await failureOf(saving)).toBe('not_found')
  }
})

test('what a channel has of its own is copied whole, with members that we do not know', async () => {
  const copy = aNewCopy()
  const overrides = [
    { channelId, content: 'for this one', mediaIds: [uuidv7()], settings: { title: 'later', parts: [1, null] } },
    { channelId: uuidv7() }, // of a channel that is not chosen, with nothing left
  ]
  await api.workingCopies.save({ ...copy, ...typed(''), overrides })
  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ overrides })
  expect(await api.workingCopies.list()).toContainEqual(expect.objectContaining({ id: copy.id, begin: 'for this one' }))

  await api.workingCopies.save({ ...copy, ...typed('of a page that knows no overrides'), revision: 1 })
  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ overrides, revision: 2 })
  await api.workingCopies.save({ ...copy, ...typed('none'), revision: 2, overrides: [] })
  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ overrides: [] })
})

test.each<[string, unknown]>([
  ['a NUL', 'a\0'],
  ['half of a surrogate pair', { deep: ['\ud800'] }],
  ['too many parts', Array.from({ length: 3000 }, () => 1)],
  ['too deep a nesting', JSON.parse('['.repeat(9000) + ']'.repeat(9000))],
])('an unknown member of an override with %s is refused', async (_, settings) => {
  const saving = api.workingCopies.save({ ...aNewCopy(), ...typed('x'), overrides: [{ channelId, settings }] })
  await expect(saving).rejects.toMatchObject({ code: 'BAD_REQUEST' })
})

test('a copy that is created twice, also at once, becomes one post with its id', async () => {
  const copy = aNewCopy()
  await api.workingCopies.save({ ...copy, ...typed('once') })
  const post = { type: 'draft' as const, content: 'once', channelIds: [channelId] }

  const made = await Promise.all([1, 2, 3].map(() => api.workingCopies.create({ id: copy.id, post })))
  const again = await api.workingCopies.create({ id: copy.id, post })

  expect([...made, again].map(({ id }) => id)).toEqual([copy.id, copy.id, copy.id, copy.id])
  expect(await api.workingCopies.get({ id: copy.id })).toBe(null)
  expect(await api.workingCopies.isSent({ id: copy.id })).toBe(true)
  expect(await failureOf(api.workingCopies.save({ ...copy, ...typed('once more'), revision: 1 }))).toBe('post_exists')
})

test('the channels of the last new post are the member’s own, in each organisation', async () => {
  const mine = await aHouse(w)
  const { workingCopies } = apiAs(w.installation, mine.member)
  expect(await workingCopies.lastChannels()).toEqual([])
  const ids = [await w.channel(mine.organisationId), await w.channel(mine.organisationId)]
  await workingCopies.create({ id: uuidv7(), post: { type: 'draft', content: 'x', channelIds: ids } })
  expect(await workingCopies.lastChannels()).toEqual(ids)
  await workingCopies.create({ id: uuidv7(), post: { type: 'draft', content: 'x', channelIds: ids.slice(1) } })
  expect(await workingCopies.lastChannels()).toEqual(ids.slice(1))

  const late = { type: 'schedule' as const, content: 'x', channelIds: ids, date: '2020-01-01T00:00:00Z' }
  expect(await failureOf(workingCopies.create({ id: uuidv7(), post: late }))).toBe('unprocessable')
  expect(await workingCopies.lastChannels()).toEqual(ids.slice(1))
  const other = await aHouse(w)
  expect(await apiAs(w.installation, other.member).workingCopies.lastChannels()).toEqual([])
})

test('a copy with the id of another organisation’s post becomes a post with another id, also when sent twice', async () => {
  const theirs = await aHouse(w)
  const { postId } = await newThings(w, theirs)
  const before = await apiAs(w.installation, theirs.member).posts.get({ id: postId })
  const post = { type: 'draft' as const, content: 'x', channelIds: [] }
  const made = await Promise.all([1, 2].map(() => api.workingCopies.create({ id: postId, post })))
  expect(made[0]!.id).not.toBe(postId)
  expect(made[1]!.id).toBe(made[0]!.id)
  expect(await apiAs(w.installation, theirs.member).posts.get({ id: postId })).toEqual(before)
})

test('a refused post leaves its copy', async () => {
  const copy = aNewCopy()
  await api.workingCopies.save({ ...copy, ...typed('late') })
  const post = { type: 'schedule' as const, content: 'late', channelIds: [channelId], date: '2020-01-01T00:00:00Z' }
  expect(await failureOf(api.workingCopies.create({ id: copy.id, post }))).toBe('unprocessable')
  expect(await api.workingCopies.get({ id: copy.id })).toMatchObject({ content: 'late' })
})

test('a change ends the copy of its post, and a refused one leaves it', async () => {
  const { postId } = await newThings(w, house)
  const { version } = await api.posts.get({ id: postId })
  const copy = { id: postId, isNew: false, revision: 0, postVersion: version }
  await api.workingCopies.save({ ...copy, ...typed('changed') })

  const change = { id: postId, content: 'changed' }
  const stale = api.workingCopies.update({ change: { ...change, ifVersions: [version + 1] } })
  expect(await failureOf(stale)).toBe('stale_version')
  expect(await api.workingCopies.get({ id: postId })).toMatchObject({ content: 'changed' })
  const changed = await api.workingCopies.update({ change: { ...change, ifVersions: [version] } })
  expect(changed).toMatchObject({ content: 'changed' })
  expect(await api.workingCopies.get({ id: postId })).toBe(null)
})

test('the list has the copies of new posts with a text, newest first', async () => {
  const other = await aHouse(w)
  const theirs = apiAs(w.installation, other.member)
  const save = async (content: string) => {
    const copy = aNewCopy()
    await theirs.workingCopies.save({ ...copy, ...typed(content), channelIds: [] })
    return copy.id
  }
  const [first, , last] = [await save('first'), await save(''), await save('last')]
  expect((await theirs.workingCopies.list()).map(({ id, begin }) => [id, begin])).toEqual([
    [last, 'last'],
    [first, 'first'],
  ])
})

test('the list has every copy that a member may have', async () => {
  const other = await aHouse(w)
  const theirs = apiAs(w.installation, other.member)
  for (let i = 0; i < 30; i++) await theirs.workingCopies.save({ ...aNewCopy(), ...typed(`text ${i}`), channelIds: [] })
  expect(await theirs.workingCopies.list()).toHaveLength(30)
})

test('the sweep removes copies that nobody can need: of a sent post, and of a deleted one', async () => {
  const [sent, gone, kept] = [aNewCopy(), aNewCopy(), aNewCopy()]
  for (const copy of [sent, kept]) await api.workingCopies.save({ ...copy, ...typed('x') })
  const { postId } = await newThings(w, house)
  await api.workingCopies.save({ id: postId, isNew: false, revision: 0, postVersion: 1, ...typed('x') })
  await w.db.execute(sql`update working_copies set id = ${gone.id} where id = ${postId}`)
  await w.db.execute(sql`update working_copies set id = ${postId} where id = ${sent.id}`)

  await sweep(w.db, new AbortController().signal, createLog('worker', 'silent'))

  const left = await w.db.execute<{ id: string }>(sql`select id from working_copies`)
  const ids = left.map(({ id }) => id)
  expect(ids).toContain(kept.id)
  expect(ids).not.toContain(postId)
  expect(ids).not.toContain(gone.id)
})

async function countOf(table: string): Promise<number> {
  const [row] = await w.db.execute<{ count: number }>(sql`select count(*)::int from ${sql.identifier(table)}`)
  return row!.count
}

test('alt texts come with the post, or not at all, and reach files of the organisation only', async () => {
  const theirs = await aHouse(w)
  const [ours, other] = await Promise.all([newThings(w, house), newThings(w, theirs)])
  const alts = { [ours.mediaId]: 'Ours', [other.mediaId]: 'Not theirs', [uuidv7()]: 'Gone' }
  const altOf = async (of: House, id: string) => (await apiAs(w.installation, of.member).media.get({ id })).alt
  const before = await altOf(house, ours.mediaId)
  const change = { id: ours.postId, content: 'changed' }

  const stale = api.workingCopies.update({ change: { ...change, ifVersions: [99] }, alts })
  expect(await failureOf(stale)).toBe('stale_version')
  expect(await altOf(house, ours.mediaId)).toBe(before)

  await api.workingCopies.update({ change, alts })
  expect(await altOf(house, ours.mediaId)).toBe('Ours')
  expect(await altOf(theirs, other.mediaId)).not.toBe('Not theirs')
})

test('a post is checked with the alt texts that come with it', async () => {
  const { mediaId, channelId: narrow } = await newThings(w, house)
  await w.db.execute(sql`update channels set limits = limits || '{"altLength": 10}' where id = ${narrow}`)
  const date = '2031-01-01T10:00:00Z'
  const sent = (alt: string) => {
    const post = { type: 'schedule' as const, content: 'x', date, channelIds: [narrow], mediaIds: [mediaId] }
    return api.workingCopies.create({ id: uuidv7(), post, alts: { [mediaId]: alt } })
  }

  expect(await failureOf(sent('longer than ten characters'))).toBe('unprocessable')
  await api.media.update({ id: mediaId, alt: 'longer than ten characters' })
  expect(await sent('short')).toMatchObject({ status: 'SCHEDULED' })
})
