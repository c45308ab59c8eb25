import { and, eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { type DeliveryState, deliveries } from '../../../db/schema/ledger.ts'
import { media } from '../../../db/schema/media.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Fault } from '../../../server/errors.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../web.ts'

// A post that failed, or that is published on some of its channels, is changed: only what is not out is sent.

const w = worldWithOwner()

const Hour = 3_600_000
const twoChannels = () => Promise.all([w.channel('readable'), w.channel('readable')])
const textsOn = (channelId: string) =>
  w.fake.received.filter(({ account }) => account === channelId).map(({ text }) => text)
const statusesOf = ({ deliveries }: Post) => deliveries.map(({ status }) => status)

/** Publishes a post on two channels; the second refuses it. */
async function partlyPublished(more: object = {}) {
  const [first, second] = await twoChannels()
  w.fake.behave = ({ account }, { show, reply }) => (account === second ? reply(422, 'no') : reply(200, { id: show() }))
  const wanted = { type: 'now' as const, content: 'old', channelIds: [first, second], ...more }
  const { id } = await w.api.posts.create(wanted)
  await w.worker()
  await until(async () => (await w.api.posts.get({ id })).status === 'PARTIALLY_PUBLISHED')
  w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
  return { id, first, second }
}

/** A post of an hour ago with a delivery in each of these states. */
async function aPost(states: DeliveryState[], more: object = {}) {
  const channelIds = await Promise.all(states.map(() => w.channel('readable')))
  const date = new Date(Date.now() + Hour).toISOString()
  const wanted = { type: 'schedule' as const, date, content: 'old', channelIds, ...more }
  const { id } = await w.api.posts.create(wanted as never)
  for (const [i, state] of states.entries()) await force(id, channelIds[i]!, state)
  await w.db.execute(sql`update posts set date = now() - interval '1 hour' where id = ${id}`)
  return { id, channelIds }
}

async function force(postId: string, channelId: string, state: DeliveryState): Promise<void> {
  const isOut = state === 'published'
  await w.db
    .update(deliveries)
    .set({
      ...{ state, dueAt: sql`now() - interval '1 hour'`, maybeOut: state === 'uncertain' },
      ...{ publishedAt: isOut ? sql`now()` : null, evidence: isOut ? 'answered' : null },
      ...(state === 'uncertain' ? { prepared: '{}', lookAt: sql`now()` } : {}),
      ...(state === 'sending' ? { leaseToken: sql`gen_random_uuid()` } : {}),
    })
    .where(and(eq(deliveries.postId, postId), eq(deliveries.channelId, channelId)))
}

async function aFile(): Promise<string> {
  const file = { kind: 'image' as const, mime: 'image/png', bytes: 1, sha256: 'x', fileKey: 'x' }
  const [row] = await w.db
    .insert(media)
    .values({ organisationId: w.organisationId, ...file })
    .returning()
  return row!.id
}

const faultsOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => null,
    (error: { errors: Fault[] }) => error,
  )
  return error?.errors.map(({ path, code }) => `${path} ${code}`)
}

describe('a change of a partly published post', () => {
  test('sends the failed delivery with the new text once, and the published one keeps its text', async () => {
    const { id, first, second } = await partlyPublished()

    const changed = await w.api.posts.update({ id, content: 'new' })

    expect(changed).toMatchObject({ content: 'new', status: 'PUBLISHING', channelIds: [first, second] })
    expect(changed.overrides).toEqual([{ channelId: first, content: 'old', mediaIds: [] }])
    await until(async () => (await w.api.posts.get({ id })).status === 'PUBLISHED')
    expect(textsOn(first)).toEqual(['old'])
    expect(textsOn(second)).toEqual(['old', 'new']) // the old one was refused
    expect(w.fake.posts.map(({ text }) => text)).toEqual(['old', 'new'])
    expect((await w.api.posts.get({ id })).overrides).toEqual(changed.overrides)
    expect((await w.db.transaction(checkInvariants)).filter(({ broken }) => broken > 0)).toEqual([])
  })

  test('keeps what was published there: own text, shared files and their order', async () => {
    const files = [await aFile(), await aFile()]
    const { id, channelIds } = await aPost(['published', 'failed'], { mediaIds: files })
    const [first, second] = channelIds as [string, string]
    await w.api.posts.update({ id, mediaIds: [files[1]!] })
    const own = { channelId: first, content: 'old', mediaIds: files }
    expect((await w.api.posts.get({ id })).overrides).toEqual([own])
    const other = { channelId: second, content: 'other' }
    await force(id, second, 'failed')
    expect((await w.api.posts.update({ id, content: '', overrides: [other] })).overrides).toEqual([own, other])
    await force(id, second, 'failed')
    expect((await w.api.posts.update({ id, overrides: [], content: 'new' })).overrides).toEqual([own])
  })

  test('leaves the files of what is published removable, and keeps those that are still to be sent', async () => {
    const [gone, needed] = [await aFile(), await aFile()]
    const { id } = await aPost(['published', 'failed'], { mediaIds: [gone] })
    expect(await failureOf(w.api.media.remove({ id: gone }))).toBe('media_in_use')
    await w.api.posts.update({ id, mediaIds: [needed] })
    expect(await failureOf(w.api.media.remove({ id: needed }))).toBe('media_in_use')
    expect(await failureOf(w.api.media.remove({ id: gone }))).toBe('done')
    expect((await w.api.posts.get({ id })).overrides).toMatchObject([{ content: 'old', mediaIds: [] }])
  })

  test('is refused if it touches the published part: its date, channel, text or media', async () => {
    const { id, channelIds } = await aPost(['published', 'failed'])
    const [first, second] = channelIds as [string, string]
    const before = await w.api.posts.get({ id })
    const later = new Date(Date.now() + Hour).toISOString()
    expect(await faultsOf(w.api.posts.update({ id, date: later }))).toEqual(['date date_cannot_change'])
    expect(await faultsOf(w.api.posts.update({ id, channelIds: [second] }))).toEqual([
      'channelIds channel_already_published',
    ])
    const own = [
      { channelId: second, content: 'x' },
      { channelId: first, content: 'new' },
    ]
    expect(await faultsOf(w.api.posts.update({ id, overrides: own }))).toEqual([
      'overrides[1] channel_already_published',
    ])
    expect(await w.api.posts.get({ id })).toEqual(before) // also what a refused change wrote is undone
    const same = [{ channelId: first, content: 'old', mediaIds: [] }]
    expect(await failureOf(w.api.posts.update({ id, overrides: same, content: 'new' }))).toBe('done')
  })

  test('is checked only on the channels where the post is still to go', async () => {
    const { id, channelIds } = await aPost(['published', 'failed'])
    const limit = (channelId: string, textLength: number) =>
      w.db.execute(
        sql`update channels set status = ${textLength < 9 ? 'needs_reconnect' : 'active'},
          limits = jsonb_set(limits, '{textLength}', ${textLength}::text::jsonb) where id = ${channelId}`,
      )
    await limit(channelIds[0]!, 3)
    expect(await failureOf(w.api.posts.update({ id, content: 'long enough' }))).toBe('done')
    await force(id, channelIds[1]!, 'failed')
    await limit(channelIds[1]!, 10)
    expect(await faultsOf(w.api.posts.update({ id, content: 'long enough' }))).toEqual(['content content_too_long'])
  })

  test('can add a channel and leave out a failed one: the added one goes at once', async () => {
    const { id, first, second } = await partlyPublished()
    await w.db.execute(sql`update posts set date = now() - interval '3 days' where id = ${id}`)
    const third = await w.channel('readable')
    await w.api.posts.update({ id, content: 'new', channelIds: [first, third] })
    await until(async () => (await w.api.posts.get({ id })).status === 'PUBLISHED')
    expect([first, second, third].map(textsOn)).toEqual([['old'], ['old'], ['new']])
    expect((await w.api.posts.get({ id })).channelIds).toEqual([first, third])
  })

  test.each([
    [['published', 'sending'], 'post_already_publishing'],
    [['published', 'failed', 'uncertain'], 'post_already_publishing'],
    [['failed', 'needs_review'], 'post_needs_review'],
    [['published', 'needs_review'], 'post_needs_review'],
    [['published', 'cancelled'], 'post_already_published'],
    [['published', 'published'], 'post_already_published'],
  ] as [DeliveryState[], string][])('with deliveries %j is refused: %s', async (states, code) => {
    const { id } = await aPost(states)
    expect(await failureOf(w.api.posts.update({ id, content: 'new' }))).toBe(code)
    await w.db.execute(sql`delete from posts where id = ${id}`)
  })
})

describe('a change of a failed post', () => {
  test('sends it at once where it failed, with the new text', async () => {
    const { id, channelIds } = await aPost(['failed', 'failed'])
    const changed = await w.api.posts.update({ id, content: 'new' })
    expect(changed).toMatchObject({ status: 'SCHEDULED', overrides: [] })
    await w.worker()
    await until(async () => (await w.api.posts.get({ id })).status === 'PUBLISHED')
    expect(channelIds.map(textsOn)).toEqual([['new'], ['new']])
  })

  test('to another date schedules it for that date, without the history of the failure', async () => {
    const { id } = await aPost(['failed'])
    const date = new Date(Date.now() + Hour).toISOString()
    await w.db.execute(sql`update deliveries set crash_count = 3, backoff_step = 2 where post_id = ${id}`)
    expect(await w.api.posts.update({ id, date })).toMatchObject({ status: 'SCHEDULED', date })
    const [delivery] = await w.db.select().from(deliveries).where(eq(deliveries.postId, id))
    expect(delivery).toMatchObject({ dueAt: new Date(date), crashCount: 0, backoffStep: 0, error: null })
    expect(await faultsOf(w.api.posts.update({ id, date: '2020-01-01T00:00:00Z' }))).toEqual(['date date_in_past'])
  })

  test('on a channel that must be reconnected is refused and names it, as a retry is', async () => {
    const { id, channelIds } = await aPost(['published', 'failed'])
    await w.db.update(channels).set({ status: 'needs_reconnect' }).where(eq(channels.id, channelIds[1]!))
    expect(await faultsOf(w.api.posts.update({ id, content: 'new' }))).toEqual([
      'channelIds[1] channel_needs_reconnect',
    ])
  })

  test('beside a channel that waits for reconnect sends the failed one, and the other goes on waiting', async () => {
    const { id, channelIds } = await aPost(['failed', 'held'])
    await w.db.update(channels).set({ status: 'needs_reconnect' }).where(eq(channels.id, channelIds[1]!))
    expect(statusesOf(await w.api.posts.update({ id, content: 'new' }))).toEqual(['SCHEDULED', 'HELD'])
  })
})
