import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { describe, expect, test } from 'vitest'
import { type ChannelLimits, channels } from '../../../db/schema/channels.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { media } from '../../../db/schema/media.ts'
import { posts } from '../../../db/schema/posts.ts'
import { expectProblem, faultsOf, webWithChannel } from '../web.ts'

const w = webWithChannel()

const Minute = 60_000
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * Minute).toISOString()
const scheduled = (change = {}) => ({
  ...{ type: 'schedule', date: inMinutes(60), content: 'hello', channelIds: [w.channelId] },
  ...change,
})
const create = (json: unknown) => w.call('POST', '/posts', { json })
const countOf = async () => (await w.db.select({ id: posts.id }).from(posts)).length
const wakeUps = async (postId: string) => {
  const rows = await w.db.execute<{ at: string; task: string }>(sql`
    select j.run_at as at, j.task_identifier as task from graphile_worker.jobs j
    join deliveries d on d.id::text = j.key where d.post_id = ${postId}`)
  return [...rows].map(({ at, task }) => `${task} ${new Date(at).toISOString()}`)
}

async function limitedChannel(limits: Partial<ChannelLimits>, status: 'active' | 'needs_reconnect' | 'disconnected') {
  const id = await w.channel()
  const [row] = await w.db.select().from(channels).where(eq(channels.id, id))
  await w.db
    .update(channels)
    .set({ status, limits: { ...row!.limits, ...limits } })
    .where(eq(channels.id, id))
  return id
}

describe('a new post', () => {
  test('of type schedule is SCHEDULED on its channels in the named order, with a wake-up at its due time on each', async () => {
    const other = await w.channel()
    const date = inMinutes(60)
    const made = await create(scheduled({ date, channelIds: [other, w.channelId] }))
    expect(made.status).toBe(201)
    const delivery = {
      ...{ network: 'feed', status: 'SCHEDULED', remoteId: null, url: null, publishedAt: null },
      ...{ attempts: 0, nextAttemptAt: null, error: null },
    }
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(made.json).toEqual({
      ...{
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        type: 'schedule',
        status: 'SCHEDULED',
        date,
        content: 'hello',
      },
      ...{ channelIds: [other, w.channelId], mediaIds: [], queueId: null, overrides: [], tags: [] },
      deliveries: [
        { channelId: other, ...delivery },
        { channelId: w.channelId, ...delivery },
      ],
      createdBy: { kind: 'api_key', id: expect.any(String), name: 'test' },
      ...{ createdAt: at, updatedAt: at, version: 1 },
    })
    expect(await wakeUps(made.json.id)).toEqual([`publish ${date}`, `publish ${date}`])
  })

  test('of type now is due at the instant of its acceptance, which it shows; a date is refused', async () => {
    const { date: _, ...body } = scheduled({ type: 'now' })
    const before = Date.now()
    const made = await create(body)
    const date = Date.parse(made.json.date)
    expect([made.status, made.json.status, made.json.type]).toEqual([201, 'SCHEDULED', 'now'])
    expect(date).toBeGreaterThan(before - 1000)
    expect(date).toBeLessThan(Date.now() + 1000)
    expect(await wakeUps(made.json.id)).toEqual([`publish ${made.json.date}`])
    expect(faultsOf(await create(scheduled({ type: 'now' })))).toEqual(['date wrong_type'])
  })

  test('of type draft needs neither channel, date nor content, breaks no rule of sending, and wakes nobody', async () => {
    const empty = await create({ type: 'draft', content: '', channelIds: [] })
    expect(empty).toMatchObject({ status: 201, json: { status: 'DRAFT', date: null, deliveries: [] } })
    const broken = await limitedChannel({ textLength: 1 }, 'needs_reconnect')
    const date = '2001-01-01T00:00:00.000Z'
    const odd = await create({ type: 'draft', date, content: 'far too long', channelIds: [broken] })
    expect(odd).toMatchObject({ status: 201, json: { status: 'DRAFT', date, channelIds: [broken] } })
    expect(await wakeUps(odd.json.id)).toEqual([])
    const nowhere = await create({ type: 'draft', content: '', channelIds: [uuidv7()], mediaIds: [uuidv7()] })
    expect(faultsOf(nowhere)).toEqual(['channelIds[0] channel_not_found', 'mediaIds[0] media_not_found'])
  })

  test('that is refused leaves nothing behind, neither post nor wake-up', async () => {
    const jobs = () => w.db.execute(sql`select id from graphile_worker.jobs`)
    const before = [await countOf(), (await jobs()).length]
    expectProblem(await create(scheduled({ channelIds: [w.channelId, uuidv7()] })), 422, 'unprocessable')
    expect([await countOf(), (await jobs()).length]).toEqual(before)
  })

  test('keeps its text to the last byte', async () => {
    const content = ' \u{1F469}\u200D\u{1F4BB} e\u0301 \r\n\t\u202E<b>"\'\\ $1 %s \u0001\uFFFF '
    const made = await create(scheduled({ content }))
    expect(made.json.content).toBe(content)
    expect((await w.call('GET', `/posts/${made.json.id}`)).json.content).toBe(content)
  })
})

describe('a date', () => {
  test('is an instant in UTC with a fraction of 1 to 3 digits or none, and nothing else', async () => {
    const day = inMinutes(24 * 60).slice(0, 10)
    for (const [given, kept] of [
      ['12:30:00Z', '12:30:00.000Z'],
      ['12:30:00.5Z', '12:30:00.500Z'],
      ['12:30:00.25Z', '12:30:00.250Z'],
      ['12:30:00.125Z', '12:30:00.125Z'],
    ])
      expect((await create(scheduled({ date: `${day}T${given}` }))).json.date).toBe(`${day}T${kept}`)
    const year = new Date().getUTCFullYear() + 1
    const bad = ['', day, `${day}T12:30Z`, `${day}T12:30:00`, `${day}T12:30:00+00:00`, `${day}T12:30:00.1234Z`]
    bad.push(`${day}T12:30:00z`, `${day} 12:30:00Z`, `${day}T24:00:00Z`, `${day}T23:59:60Z`, `${year}-02-30T00:00:00Z`)
    bad.push(`${year}-13-01T00:00:00Z`, `${year}-00-10T00:00:00Z`, `+00${year}-01-01T00:00:00Z`, '0000-01-01T00:00:00Z')
    bad.push('2023-02-29T00:00:00Z', 'tomorrow', `${Date.now()}`, ` ${day}T12:30:00Z`, `${day}T12:30:00Z\n`)
    for (const date of bad)
      expect([date, ...faultsOf(await create(scheduled({ date })))]).toEqual([date, 'date invalid'])
    for (const date of [Date.now(), null, {}, true])
      expect(faultsOf(await create(scheduled({ date })))).toEqual(['date wrong_type'])
    expect(faultsOf(await create(scheduled({ date: undefined })))).toEqual(['date required'])
  })

  test('up to 60 s past counts as now, older is 422; up to 5 years ahead is taken, further is 422', async () => {
    expect((await create(scheduled({ date: inMinutes(-0.9) }))).status).toBe(201)
    expect(faultsOf(await create(scheduled({ date: inMinutes(-1.1) })))).toEqual(['date date_in_past'])
    const ahead = (ms: number) => {
      const date = new Date()
      date.setUTCFullYear(date.getUTCFullYear() + 5)
      return new Date(date.getTime() + ms).toISOString()
    }
    expect((await create(scheduled({ date: ahead(-Minute) }))).status).toBe(201)
    expect(faultsOf(await create(scheduled({ date: ahead(Minute) })))).toEqual(['date date_too_far'])
  })
})

describe('what a post names', () => {
  test('channels: 1 to 50, none twice, each of this organisation', async () => {
    expect(faultsOf(await create(scheduled({ channelIds: [] })))).toEqual(['channelIds too_small'])
    const many = Array.from({ length: 51 }, () => uuidv7())
    expect(faultsOf(await create(scheduled({ channelIds: many })))).toEqual(['channelIds too_big'])
    expect(await create(scheduled({ channelIds: many.slice(1) }))).toMatchObject({
      status: 422,
      json: { errors: { length: 50 } },
    })
    for (const twice of [w.channelId, w.channelId.toUpperCase()])
      expect(faultsOf(await create(scheduled({ channelIds: [w.channelId, twice] })))).toEqual(['channelIds invalid'])
    const none = await create(scheduled({ channelIds: ['x', '', 'y', w.channelId] }))
    expectProblem(none, 422, 'unprocessable')
    expect(faultsOf(none)).toEqual([0, 1, 2].map((i) => `channelIds[${i}] channel_not_found`))
  })

  test('an error for a channel that needs reconnecting, or was disconnected, names its place in the request', async () => {
    const broken = await limitedChannel({}, 'needs_reconnect')
    const gone = await limitedChannel({}, 'disconnected')
    const answer = await create(scheduled({ channelIds: [w.channelId, broken, gone] }))
    expectProblem(answer, 422, 'unprocessable')
    expect(faultsOf(answer)).toEqual(['channelIds[1] channel_needs_reconnect', 'channelIds[2] channel_disconnected'])
  })

  test('media: at most 20, none twice, each of this organisation, in types and numbers that each channel takes', async () => {
    const file = { organisationId: w.organisationId, kind: 'image', bytes: 10, sha256: '', fileKey: '' } as const
    const [png, gif] = await w.db
      .insert(media)
      .values([
        { ...file, mime: 'image/png' },
        { ...file, mime: 'image/gif' },
      ])
      .returning({ id: media.id })
    for (const twice of [png!.id, png!.id.toUpperCase()])
      expect(faultsOf(await create(scheduled({ mediaIds: [png!.id, twice] })))).toEqual(['mediaIds invalid'])
    const made = await create(scheduled({ content: '', mediaIds: [png!.id] }))
    expect(made).toMatchObject({ status: 201, json: { content: '', mediaIds: [png!.id] } })
    expect(faultsOf(await create(scheduled({ mediaIds: [png!.id, gif!.id] })))).toEqual([
      'mediaIds[1] media_not_supported',
    ])
    expect(faultsOf(await create(scheduled({ mediaIds: ['x'] })))).toEqual(['mediaIds[0] media_not_found'])
    const five = await w.db
      .insert(media)
      .values(Array.from({ length: 5 }, () => ({ ...file, mime: 'image/png' })))
      .returning({ id: media.id })
    expect(faultsOf(await create(scheduled({ mediaIds: five.map(({ id }) => id) })))).toEqual([
      'mediaIds media_not_supported',
    ])
    expect(faultsOf(await create(scheduled({ mediaIds: Array.from({ length: 21 }, () => uuidv7()) })))).toEqual([
      'mediaIds too_big',
    ])
  })
})

describe('a text', () => {
  test('may be blank only beside media', async () => {
    for (const content of ['', ' \n\t '])
      expect(faultsOf(await create(scheduled({ content })))).toEqual(['content content_empty'])
  })

  test('is counted as each network counts, and each channel that it is too long for is named', async () => {
    const family = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}' // one grapheme, five code points, 18 bytes
    const byCharacter = await limitedChannel({ textLength: 10 }, 'active')
    const byGrapheme = await limitedChannel({ textLength: 10, textUnit: 'graphemes' }, 'active')
    const byByte = await limitedChannel({ textLength: 10, textUnit: 'graphemes', textBytes: 100 }, 'active')
    const withLinks = await limitedChannel({ textLength: 25, urlsCountAs: 23, shortensUrls: true }, 'active')
    const unknown = await limitedChannel({ textLength: 25, urlsCountAs: 23 }, 'active') // how it counts
    const faults = async (content: string, ...channelIds: string[]) =>
      (await create(scheduled({ content, channelIds }))).json.errors?.map(({ message }: { message: string }) => message)
    expect(await faults('x'.repeat(10), byCharacter, byGrapheme, byByte)).toBeUndefined()
    expect(await faults(family.repeat(2), byCharacter)).toBeUndefined()
    expect(await faults(family.repeat(10), byGrapheme)).toBeUndefined()
    expect(await faults(family.repeat(3), byCharacter, byGrapheme)).toEqual([
      '5 characters too long for feed. The limit is 10 characters, and this text has 15.',
    ])
    expect(await faults(family.repeat(6), byByte)).toEqual([
      '8 bytes too long for feed. The limit is 100 bytes, and this text has 108.',
    ])
    expect(await faults(`a https://example.org/${'x'.repeat(100)}`, withLinks)).toBeUndefined()
    expect(await faults(`a https://example.org/xxx`, unknown)).toBeUndefined()
    expect(await faults(`a https://example.org/${'x'.repeat(100)}`, unknown)).toHaveLength(1)
    expect(await faults(`abc http://a.bc`, withLinks)).toEqual([expect.stringContaining('this text has 27')])
    expect(await faults('x'.repeat(501), byCharacter, byGrapheme, w.channelId)).toHaveLength(3)
    expect(faultsOf(await create(scheduled({ content: 'x'.repeat(100_001) })))).toEqual(['content too_big'])
  })
})

test('a draft is removed by DELETE, a scheduled post stays readable as CANCELLED, and a second DELETE says why not', async () => {
  const draft = await create({ type: 'draft', content: 'x', channelIds: [w.channelId] })
  expect(await w.call('DELETE', `/posts/${draft.json.id}`)).toMatchObject({ status: 204, text: '' })
  for (const method of ['GET', 'DELETE'])
    expectProblem(await w.call(method, `/posts/${draft.json.id}`), 404, 'not_found')
  const lost = await create({ type: 'draft', content: 'x', channelIds: [w.channelId] })
  await w.db.update(deliveries).set({ state: 'cancelled' }).where(eq(deliveries.postId, lost.json.id)) // by a disconnect
  expect((await w.call('DELETE', `/posts/${lost.json.id}`)).status).toBe(204)
  const post = await create(scheduled())
  expect((await w.call('DELETE', `/posts/${post.json.id}`)).status).toBe(204)
  const after = await w.call('GET', `/posts/${post.json.id}`)
  expect(after.json).toEqual({
    ...post.json,
    status: 'CANCELLED',
    updatedAt: expect.any(String),
    deliveries: [{ ...post.json.deliveries[0], status: 'CANCELLED' }],
  })
  expect(after.json.updatedAt > post.json.updatedAt).toBe(true)
  expectProblem(await w.call('DELETE', `/posts/${post.json.id}`), 409, 'post_already_cancelled')
  const left = await w.db.select().from(deliveries).where(eq(deliveries.postId, draft.json.id))
  expect(left).toEqual([])
})
