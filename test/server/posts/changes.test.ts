import { and, eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { attempts, type DeliveryState, deliveries } from '../../../db/schema/ledger.ts'
import { media } from '../../../db/schema/media.ts'
import { posts } from '../../../db/schema/posts.ts'
import { expectProblem, faultsOf, webWithChannel } from '../web.ts'

const w = webWithChannel()

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
const scheduled = (change = {}) => ({
  ...{ type: 'schedule', date: inMinutes(60), content: 'hello', channelIds: [w.channelId] },
  ...change,
})
const make = async (change = {}) => (await w.call('POST', '/posts', { json: scheduled(change) })).json
const patch = (id: string, json: unknown, headers = {}) => w.call('PATCH', `/posts/${id}`, { json, headers })

/** What its deliveries need to be in a state, as the ledger's constraints have it. */
async function force(postId: string, state: DeliveryState, onChannel = w.channelId): Promise<void> {
  const isOut = state === 'published'
  await w.db
    .update(deliveries)
    .set({ state, publishedAt: isOut ? sql`now()` : null, evidence: isOut ? 'answered' : null })
    .where(and(eq(deliveries.postId, postId), eq(deliveries.channelId, onChannel)))
}

describe('PATCH /posts/{id}', () => {
  test('changes what is named and nothing else, and the version rises', async () => {
    const post = await make()
    const date = inMinutes(90)
    const changed = await patch(post.id, { content: 'changed', date })
    expect(changed).toMatchObject({
      status: 200,
      json: { ...post, content: 'changed', date, version: 2, updatedAt: expect.any(String) },
    })
    expect(changed.headers.get('etag')).toBe('"2"')
    expect((await w.call('GET', `/posts/${post.id}`)).json).toEqual(changed.json)
  })

  test('with If-Match changes only the version that it names', async () => {
    const { id } = await make()
    const stale = await patch(id, { content: 'x' }, { 'if-match': '"7"' })
    expectProblem(stale, 412, 'stale_version')
    for (const tag of ['W/"7"', '"one"'])
      expectProblem(await patch(id, { content: 'x' }, { 'if-match': tag }), 412, 'stale_version')
    for (const tag of ['1', '', '"1', '"1" "2"'])
      expectProblem(await patch(id, { content: 'x' }, { 'if-match': tag }), 400, 'invalid_request')
    expect(await patch(id, { content: 'a' }, { 'if-match': '"1"' })).toMatchObject({
      status: 200,
      json: { version: 2 },
    })
    expect(await patch(id, { content: 'b' }, { 'if-match': '"9", "2"' })).toMatchObject({ json: { version: 3 } })
    expect(await patch(id, { content: 'c' }, { 'if-match': '*' })).toMatchObject({ json: { version: 4 } })
    expect(await patch(id, { content: 'd' }, { 'if-match': 'W/"4"' })).toMatchObject({ json: { version: 5 } })
    const missing = await patch('01890000-0000-7000-8000-000000000000', { content: 'x' }, { 'if-match': '"7"' })
    expectProblem(missing, 404, 'not_found')
  })

  test('of two that name one version, one wins', async () => {
    const { id } = await make()
    const answers = await Promise.all(['a', 'b'].map((content) => patch(id, { content }, { 'if-match': '"1"' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
  })

  test('refuses what is not of the body', async () => {
    const { id } = await make()
    for (const json of [{ id }, { ifVersions: [1] }, { status: 'PUBLISHED' }, { deliveries: [] }])
      expectProblem(await patch(id, json), 400, 'invalid_request')
  })

  test('takes the channels as the whole new set, in the order named', async () => {
    const [second, third] = await Promise.all([w.channel(), w.channel()])
    const { id } = await make({ channelIds: [w.channelId, second] })
    const changed = (await patch(id, { channelIds: [third, w.channelId] })).json
    expect(changed.channelIds).toEqual([third, w.channelId])
    const back = (await patch(id, { channelIds: [second, w.channelId, third] })).json
    expect(back.channelIds).toEqual([second, w.channelId, third])
  })

  test('makes a draft a scheduled post, when nothing is in the way', async () => {
    const { id } = await make({ type: 'draft', date: null, channelIds: [] })
    const bare = await patch(id, { type: 'schedule' })
    expectProblem(bare, 422, 'unprocessable')
    expect(faultsOf(bare)).toEqual(['date required', 'channelIds required'])
    const done = await patch(id, { type: 'schedule', date: inMinutes(5), channelIds: [w.channelId] })
    expect(done).toMatchObject({ status: 200, json: { type: 'schedule', status: 'SCHEDULED' } })
    const undone = await patch(id, { type: 'draft' })
    expect(faultsOf(undone)).toEqual(['type type_cannot_change'])
  })

  test('makes a post of type now a scheduled one when it gets another date, and not with the date that it has', async () => {
    const json = { type: 'now', content: 'hello', channelIds: [w.channelId] }
    const { id, date } = (await w.call('POST', '/posts', { json })).json
    expect((await patch(id, { content: 'changed', date })).json).toMatchObject({ type: 'now', date })
    const later = inMinutes(60)
    expect((await patch(id, { date: later })).json).toMatchObject({
      type: 'schedule',
      status: 'SCHEDULED',
      date: later,
    })
    const [delivery] = await w.db.select().from(deliveries).where(eq(deliveries.postId, id))
    expect(delivery!.dueAt!.toISOString()).toBe(later)
    expect((await patch(id, { content: 'again' })).json).toMatchObject({ type: 'schedule', date: later })
  })

  test('refuses another date beside the type now, of a draft and of a post of type now', async () => {
    const body = { content: 'hello', channelIds: [w.channelId] }
    for (const type of ['draft', 'now']) {
      const { id, date } = (await w.call('POST', '/posts', { json: { ...body, type } })).json
      const answer = await patch(id, { type: 'now', date: inMinutes(60) })
      expect([type, answer.status, faultsOf(answer)]).toEqual([type, 422, ['date date_not_allowed']])
      expect((await w.call('GET', `/posts/${id}`)).json).toMatchObject({ type, date, version: 1 })
      expect((await patch(id, { type: 'now', date })).json).toMatchObject({ type: 'now', status: 'SCHEDULED' })
    }
  })

  test('refuses to take the date from a post of type now', async () => {
    const { id } = (await w.call('POST', '/posts', { json: { type: 'now', content: 'x', channelIds: [w.channelId] } }))
      .json
    const answer = await patch(id, { date: null })
    expect([answer.status, faultsOf(answer)]).toEqual([422, ['date required']])
  })

  test('makes a failed post of type now a scheduled one when it gets a date, also while its channel needs a reconnect', async () => {
    const other = await w.channel()
    const json = { type: 'now', content: 'hello', channelIds: [w.channelId, other] }
    const { id } = (await w.call('POST', '/posts', { json })).json
    await force(id, 'failed')
    await force(id, 'held', other)
    await w.db.update(channels).set({ status: 'needs_reconnect' }).where(eq(channels.id, other))
    const date = inMinutes(30)
    expect((await patch(id, { date })).json).toMatchObject({ type: 'schedule', date })
  })

  test.each([
    ['published', 'post_already_published'],
    ['needs_review', 'post_needs_review'],
    ['cancelled', 'post_already_cancelled'],
  ] as const)('of a post that is %s is 409 %s', async (state, code) => {
    const { id } = await make()
    await force(id, state)
    expectProblem(await patch(id, { content: 'x' }), 409, code)
  })
})

describe('POST /posts/validate', () => {
  const validate = (json: unknown) => w.call('POST', '/posts/validate', { json })

  test('names every problem on every channel at once, as POST /posts would, and stores nothing', async () => {
    const small = await w.channel()
    const [row] = await w.db.select().from(channels).where(eq(channels.id, small))
    await w.db
      .update(channels)
      .set({ limits: { ...row!.limits, textLength: 3 }, status: 'needs_reconnect' })
      .where(eq(channels.id, small))
    const wrong = scheduled({ date: '2020-01-01T00:00:00Z', channelIds: [w.channelId, small], mediaIds: [w.channelId] })
    const before = await w.db.select({ id: posts.id }).from(posts)
    const answer = await validate(wrong)
    const refused = await w.call('POST', '/posts', { json: wrong })

    expect(answer).toMatchObject({ status: 200, json: { valid: false, errors: expect.any(Array) } })
    expect(faultsOf(answer)).toEqual(faultsOf(refused))
    expect(faultsOf(refused).sort()).toEqual([
      'channelIds[1] channel_needs_reconnect',
      'content content_too_long',
      'date date_in_past',
      'mediaIds[0] media_not_found',
    ])
    expect(await w.db.select({ id: posts.id }).from(posts)).toEqual(before)
  })

  test('says when nothing is in the way, and refuses a malformed body as POST /posts does', async () => {
    expect(await validate(scheduled())).toMatchObject({ status: 200, json: { valid: true, errors: [] } })
    const malformed = await validate({ ...scheduled(), kontent: 'x' })
    expectProblem(malformed, 400, 'invalid_request')
  })
})

describe('POST /posts/{id}/retry', () => {
  test('sends what failed again and never what is out, once for one Idempotency-Key', async () => {
    const other = await w.channel()
    const { id } = await make({ channelIds: [w.channelId, other] })
    expectProblem(await w.call('POST', `/posts/${id}/retry`), 409, 'nothing_to_retry')
    await force(id, 'published')
    await force(id, 'failed', other)
    const headers = { 'idempotency-key': 'again' }
    const first = await w.call('POST', `/posts/${id}/retry`, { headers })
    expect(first).toMatchObject({ status: 200, json: { status: 'PUBLISHING' } })
    expect(first.json.deliveries.map((delivery: { status: string }) => delivery.status)).toEqual([
      'PUBLISHED',
      'SCHEDULED',
    ])
    const again = await w.call('POST', `/posts/${id}/retry`, { headers })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.json).toEqual(first.json)
  })

  test('on a channel that must be reconnected is 422 and names it', async () => {
    const gone = await w.channel()
    const { id } = await make({ channelIds: [gone] })
    await force(id, 'failed', gone)
    await w.db.update(channels).set({ status: 'needs_reconnect' }).where(eq(channels.id, gone))
    const answer = await w.call('POST', `/posts/${id}/retry`)
    expectProblem(answer, 422, 'unprocessable')
    expect(faultsOf(answer)).toEqual(['channelIds[0] channel_needs_reconnect'])
  })
})

describe('POST /posts/{id}/deliveries/{channelId}/resolve', () => {
  const resolve = (id: string, json: unknown, on = w.channelId) =>
    w.call('POST', `/posts/${id}/deliveries/${on}/resolve`, { json })

  test('records the outcome that a person found', async () => {
    const words: [unknown, string][] = [
      [{ outcome: 'published', url: 'https://example.com/1' }, 'PUBLISHED'],
      [{ outcome: 'not_published' }, 'SCHEDULED'],
      [{ outcome: 'cancelled' }, 'CANCELLED'],
    ]
    for (const [word, status] of words) {
      const { id } = await make()
      await force(id, 'needs_review')
      expect(await resolve(id, word)).toMatchObject({ status: 200, json: { status } })
      expectProblem(await resolve(id, word), 409, 'nothing_to_resolve')
    }
  })

  test('refuses what is no outcome, and finds no delivery on another channel', async () => {
    const { id } = await make()
    await force(id, 'needs_review')
    for (const json of [
      {},
      { outcome: 'maybe' },
      { outcome: 'published', url: 'javascript:alert(1)' },
      { outcome: 'cancelled', url: 'https://example.com' },
      { outcome: 'cancelled', channelId: w.channelId },
    ])
      expectProblem(await resolve(id, json), 400, 'invalid_request')
    expectProblem(await resolve(id, { outcome: 'cancelled' }, await w.channel()), 404, 'not_found')
    expectProblem(await resolve(id, { outcome: 'cancelled' }, 'nonsense'), 404, 'not_found')
  })
})

test('retry, resolve and DELETE with If-Match change only the version that it names', async () => {
  const { id } = await make()
  const named = (tag: string) => ({ headers: { 'if-match': tag } })
  const path = `/posts/${id}/deliveries/${w.channelId}/resolve`
  const json = { outcome: 'not_published' }
  await force(id, 'needs_review')
  expectProblem(await w.call('POST', path, { ...named('"7"'), json }), 412, 'stale_version')
  expect(await w.call('POST', path, { ...named('"1"'), json })).toMatchObject({ json: { status: 'SCHEDULED' } })
  await force(id, 'failed')
  expectProblem(await w.call('POST', `/posts/${id}/retry`, named('"7"')), 412, 'stale_version')
  expect(await w.call('POST', `/posts/${id}/retry`, named('W/"1"'))).toMatchObject({ json: { status: 'SCHEDULED' } })
  await patch(id, { content: 'changed' })
  expectProblem(await w.call('DELETE', `/posts/${id}`, named('"1"')), 412, 'stale_version')
  expect(await w.call('DELETE', `/posts/${id}`, named('"2"'))).toMatchObject({ status: 204 })
})

test('a retry that its key replays asks for no version again', async () => {
  const { id } = await make()
  await force(id, 'failed')
  const headers = { 'if-match': '"1"', 'idempotency-key': 'with a version' }
  const first = await w.call('POST', `/posts/${id}/retry`, { headers })
  await patch(id, { content: 'changed' })
  expect(await w.call('POST', `/posts/${id}/retry`, { headers })).toMatchObject({ status: 200, json: first.json })
})

test('a resolution for a channel that the post is not on is 404, with any version', async () => {
  const { id } = await make()
  const path = `/posts/${id}/deliveries/${await w.channel()}/resolve`
  const headers = { 'if-match': '"7"' }
  expectProblem(await w.call('POST', path, { headers, json: { outcome: 'cancelled' } }), 404, 'not_found')
})

test('detail names the first problem and how many there are', async () => {
  const { json: one } = await w.call('POST', '/posts', { json: scheduled({ content: 7 }) })
  expect(one.detail).toBe(`content: ${one.errors[0].message}`)
  const { json: two } = await w.call('POST', '/posts', { json: scheduled({ content: 7, kontent: 'x' }) })
  expect(two.detail).toBe(`content: ${one.errors[0].message} This is 1 of 2 problems.`)
})

test('GET /posts/{id}/attempts lists each try, oldest first, a page at a time', async () => {
  const { id } = await make()
  const [delivery] = await w.db.select().from(deliveries).where(eq(deliveries.postId, id))
  const tries = [1, 2, 3].map((no) => ({
    ...{ organisationId: w.organisationId, deliveryId: delivery!.id, no, owner: 'worker', credentialVersion: 1 },
    ...{ startedAt: new Date(no * 1000), endedAt: new Date(no * 1000 + 500), outcome: 'later', status: 503 },
    foundAt: no === 2 ? new Date(60_000) : null,
  }))
  await w.db.insert(attempts).values(tries)
  const first = await w.call('GET', `/posts/${id}/attempts?limit=2`)
  expect(first).toMatchObject({
    status: 200,
    json: {
      data: [
        { no: 1, channelId: w.channelId, startedAt: '1970-01-01T00:00:01.000Z', outcome: 'later', status: 503 },
        { no: 2, intendedAt: null, endedAt: '1970-01-01T00:00:02.500Z', foundAt: '1970-01-01T00:01:00.000Z' },
      ],
      nextCursor: expect.any(String),
    },
  })
  const rest = await w.call('GET', `/posts/${id}/attempts?limit=2&cursor=${first.json.nextCursor}`)
  expect(rest.json).toMatchObject({ data: [{ no: 3 }], nextCursor: null })
  expect(first.headers.get('link')).toContain('rel="next"')
})

test('PATCH /media/{id} changes the alternative text', async () => {
  const file = { kind: 'image' as const, mime: 'image/png', bytes: 1, sha256: 'x', fileKey: 'x' }
  const [row] = await w.db
    .insert(media)
    .values({ organisationId: w.organisationId, ...file })
    .returning()
  const changed = await w.call('PATCH', `/media/${row!.id}`, { json: { alt: 'A lake' } })
  expect(changed).toMatchObject({ status: 200, json: { id: row!.id, alt: 'A lake' } })
  for (const json of [{}, { alt: 7 }, { alt: 'x', mime: 'image/gif' }, { alt: 'x'.repeat(1501) }])
    expectProblem(await w.call('PATCH', `/media/${row!.id}`, { json }), 400, 'invalid_request')
})
