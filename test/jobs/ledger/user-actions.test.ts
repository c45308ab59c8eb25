import { eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { attempts, type DeliveryState, deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { aDelivery, someDeliveries } from '../../builders.ts'
import { failureOf, worldWithOwner } from '../../server/web.ts'
import { claimOne, deliveryOf, intendOne, untilState } from '../../world.ts'

const w = worldWithOwner()

const soon = (ms = 0) => new Date(Date.now() + ms)
const Hour = 3_600_000
async function one({ network = 'readable', dueAt = soon(Hour), text = 'hello' } = {}) {
  const channelId = await w.channel(network)
  const id = await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt, text })
  return { id, channelId, postId: (await deliveryOf(w.db, id)).postId }
}

/** Sets what the ledger's constraints demand of a delivery in this state. */
async function force(id: string, state: DeliveryState, maybeOut = false): Promise<void> {
  const isLeased = state === 'claimed' || state === 'sending'
  await w.db
    .update(deliveries)
    .set({
      ...{ state, maybeOut, prepared: maybeOut ? '{}' : null },
      leaseToken: isLeased ? sql`gen_random_uuid()` : null,
      lookAt: state === 'uncertain' ? sql`now()` : null,
      publishedAt: state === 'published' ? sql`now()` : null,
      evidence: state === 'published' ? 'answered' : null,
    })
    .where(eq(deliveries.id, id))
}

describe('cancelling a post', () => {
  const outcomes: [DeliveryState, boolean, string][] = [
    ['scheduled', false, 'done'],
    ['claimed', false, 'done'],
    ['held', false, 'done'],
    ['failed', false, 'done'],
    ['scheduled', true, 'post_already_publishing'],
    ['claimed', true, 'post_already_publishing'],
    ['sending', false, 'post_already_publishing'],
    ['uncertain', true, 'post_already_publishing'],
    ['needs_review', true, 'post_needs_review'],
    ['published', false, 'post_already_published'],
    ['cancelled', false, 'post_already_cancelled'],
  ]
  test.each(outcomes)('that is %s (maybe out: %s): %s', async (state, maybeOut, outcome) => {
    const { id, postId } = await one()
    await force(id, state, maybeOut)
    expect(await failureOf(w.api.posts.cancel({ id: postId }))).toBe(outcome)
    const after = await deliveryOf(w.db, id)
    expect(after.state).toBe(outcome === 'done' ? 'cancelled' : state)
    expect(after.leaseToken === null).toBe(!['claimed', 'sending'].includes(after.state))
  })

  test('that is partly out cancels the rest, and each delivery has its own state', async () => {
    const { id, postId, channelId } = await one()
    const { readyAt: _, ...row } = await deliveryOf(w.db, id)
    await force(id, 'published')
    const other = await w.channel('readable')
    const second = { id: crypto.randomUUID(), channelId: other, position: 1, publishKey: 'other' }
    await w.db.insert(deliveries).values({ ...row, ...second })
    await w.api.posts.cancel({ id: postId })
    const post = await w.api.posts.get({ id: postId })
    expect(post).toMatchObject({ status: 'PUBLISHED', channelIds: [channelId] })
    expect(post.deliveries.map(({ status }) => status)).toEqual(['PUBLISHED', 'CANCELLED'])
    expect(await failureOf(w.api.posts.cancel({ id: postId }))).toBe('post_already_published')
  })
})

describe('a user action while a worker handles the delivery', () => {
  test('edited between claim and intent: the lease ends, and the prepared old text is not sent', async () => {
    const { id, postId } = await one({ dueAt: soon(), text: 'old' })
    const claimed = await claimOne(w.db, 'worker', id)
    await w.api.posts.update({ id: postId, content: 'new' })
    expect(await intendOne(w.db, claimed!, '{"text":"old"}')).toBe(false)
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'scheduled', prepared: null, leaseOwner: null })
    expect(await w.db.select().from(attempts).where(eq(attempts.deliveryId, id))).toMatchObject([{ outcome: 'edited' }])
    await w.worker()
    await untilState(w.db, id, 'published')
    expect(w.fake.received.map(({ text }) => text)).toEqual(['new'])
  })

  test.each([
    ['cancelled', (postId: string) => w.api.posts.cancel({ id: postId }), 'cancelled'],
    [
      'edited to another due time',
      (postId: string) => w.api.posts.update({ id: postId, date: soon(Hour).toISOString() }),
      'scheduled',
    ],
    [
      'its channel disconnected, held',
      (_: string, id: string) => w.api.channels.disconnect({ id, unsent: 'hold' }),
      'held',
    ],
    [
      'its channel disconnected, cancelled',
      (_: string, id: string) => w.api.channels.disconnect({ id, unsent: 'cancel' }),
      'cancelled',
    ],
  ])('%s between claim and intent: it is not sent, and the attempt is closed', async (_what, order, state) => {
    const { id, postId, channelId } = await one({ dueAt: soon() })
    const claimed = await claimOne(w.db, 'worker', id)
    await order(postId, channelId)
    expect(await intendOne(w.db, claimed!, '{"text":"hello"}')).toBe(false)
    expect((await deliveryOf(w.db, id)).state).toBe(state)
    const [attempt] = await w.db.select().from(attempts).where(eq(attempts.deliveryId, id))
    expect(attempt).toMatchObject({ intendedAt: null, endedAt: expect.any(Date) })
  })

  test('the next delivery of a channel gets the place of a claimed one that is cancelled', async () => {
    const { id, postId, channelId } = await one({ dueAt: soon() })
    const [next] = await someDeliveries(w.db, [{ organisationId: w.organisationId, channelId, dueAt: soon() }])
    await claimOne(w.db, 'worker', id)
    await w.api.posts.cancel({ id: postId })
    expect(await claimOne(w.db, 'worker', next!)).toMatchObject({ id: next })
    await force(next!, 'cancelled')
  })
})

describe('trying again', () => {
  test('a post that is edited after a retry goes out now, even if it was due a day before', async () => {
    const { id, postId } = await one({ dueAt: soon(-25 * Hour) })
    await force(id, 'failed')
    await w.api.posts.retry({ id: postId })
    await w.api.posts.update({ id: postId, content: 'mended' })
    await w.worker()
    await untilState(w.db, id, 'published')
    expect(w.fake.received.map(({ text }) => text)).toEqual(['mended'])
  })

  test('a retry sends the failed deliveries of a post and never the published ones', async () => {
    let refuses = true
    w.fake.behave = (_request, { show, reply }) => (refuses ? reply(422, 'no') : reply(200, { id: show() }))
    const { id, postId, channelId } = await one({ dueAt: soon() })
    expect(await failureOf(w.api.posts.retry({ id: postId }))).toBe('nothing_to_retry')
    await w.worker()
    await untilState(w.db, id, 'failed')
    expect((await w.api.posts.get({ id: postId })).status).toBe('FAILED')
    await w.db.update(channels).set({ status: 'needs_reconnect' }).where(eq(channels.id, channelId))
    expect(await failureOf(w.api.posts.retry({ id: postId }))).toBe('unprocessable')
    await w.db.update(channels).set({ status: 'active' }).where(eq(channels.id, channelId))
    refuses = false
    expect((await w.api.posts.retry({ id: postId })).status).toBe('SCHEDULED')
    await untilState(w.db, id, 'published')
    expect(await failureOf(w.api.posts.retry({ id: postId }))).toBe('nothing_to_retry')
    expect(w.fake.posts).toHaveLength(1)
    const { date } = await w.api.posts.get({ id: postId })
    const [post] = await w.db.select().from(posts).where(eq(posts.id, postId))
    expect(date).toBe(post!.date!.toISOString()) // the due time in the ledger moved, the requested one did not
  })

  test.each([
    ['published', 'published', 0],
    ['not_published', 'published', 1],
    ['cancelled', 'cancelled', 0],
  ] as const)('in review, a member decides %s: it ends %s, with %i more sends', async (outcome, state, sends) => {
    w.fake.behave = (_request, { reply }) => reply(500, 'who knows')
    const { id, postId, channelId } = await one({ network: 'blind', dueAt: soon() })
    const order = { id: postId, channelId, outcome }
    expect(await failureOf(w.api.posts.resolve(order))).toBe('nothing_to_resolve')
    await w.worker()
    await untilState(w.db, id, 'needs_review')
    expect(await failureOf(w.api.posts.retry({ id: postId }))).toBe('nothing_to_retry')
    w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
    const url = 'https://example.org/there'
    const post = await w.api.posts.resolve(outcome === 'published' ? { ...order, outcome, url } : order)
    const row = await untilState(w.db, id, state)
    expect(w.fake.received).toHaveLength(1 + sends)
    expect(row.evidence).toBe(state === 'cancelled' ? null : outcome === 'published' ? 'person' : 'answered')
    if (outcome === 'published') expect(post.deliveries[0]).toMatchObject({ status: 'PUBLISHED', url })
    expect(await failureOf(w.api.posts.resolve(order))).toBe('nothing_to_resolve')
  })
})
