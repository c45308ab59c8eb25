import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { events, webhooks } from '../../../db/schema/webhooks.ts'
import { markUncertain, postpone } from '../../../jobs/ledger/settle.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { until } from '../../processes.ts'
import { worldWithOwner } from '../../server/web.ts'
import { claimOne, intendOne, untilState } from '../../world.ts'

// Each way in which a post ends or needs review sends its event.

const w = worldWithOwner()
const unknown = { code: 'outcome_unknown', message: '', nextStep: '' }

/** A delivery of one post with a webhook, and the types of the events about its post. */
async function listened(kind: string) {
  const maker = { createdByKind: 'member', createdById: w.organisationId, createdByName: 'Ada' } as const
  const all = ['post.published', 'post.partially_published', 'post.failed', 'post.needs_review', 'post.cancelled']
  await w.db.delete(webhooks)
  await w.db.insert(webhooks).values({
    ...{ ...maker, organisationId: w.organisationId, url: 'http://127.0.0.1:9', events: all, secret: new Uint8Array() },
    ...{ offSince: null },
  })
  const { id, channelId } = await w.delivery(kind)
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, id))
  const told = async () => {
    const rows = await w.db.select().from(events).where(sql`subject->>'id' = ${row!.postId}`).orderBy(events.at)
    return rows.map(({ type }) => type)
  }
  const becomes = async (...types: string[]) =>
    expect(await until(async () => ((await told()).length === types.length ? told() : false))).toEqual(types)
  return { id, channelId, postId: row!.postId, told, becomes }
}

test('a post that its network refuses: post.failed', async () => {
  w.fake.behave = (_request, { reply }) => reply(422, { error: 'no' })
  const { becomes } = await listened('blind')
  await w.worker()
  await becomes('post.failed')
})

test('a post with an unknown outcome that no reading can find out: post.needs_review', async () => {
  w.fake.behave = (_request, { reset }) => reset()
  const { becomes } = await listened('blind')
  await w.worker()
  await becomes('post.needs_review')
})

test('a post that a reading finds: post.published', async () => {
  w.fake.behave = (_request, { show, reset }) => {
    show()
    reset()
  }
  const { becomes } = await listened('readable')
  await w.worker()
  await becomes('post.published')
})

test('a post that was tried without success for a day: post.failed', async () => {
  const { id, becomes } = await listened('blind')
  const claimed = await claimOne(w.db, 'worker', id)
  await w.db
    .update(deliveries)
    .set({ dueAt: new Date(Date.now() - 90_000_000) })
    .where(eq(deliveries.id, id))
  const wait = { waitMs: 1000, countsAsStep: true, pausesChannel: true, error: null }
  await postpone(w.db, times, claimed!, wait, { outcome: 'later' })
  await becomes('post.failed')
})

test('a post that is first claimed more than a day late: post.needs_review', async () => {
  const { id, becomes } = await listened('blind')
  await w.db
    .update(deliveries)
    .set({ dueAt: new Date(Date.now() - 90_000_000) })
    .where(eq(deliveries.id, id))
  expect(await claimOne(w.db, 'worker', id)).toBeNull()
  await becomes('post.needs_review')
})

test('a post cancelled by the disconnect of its channel: post.cancelled', async () => {
  const { channelId, becomes } = await listened('blind')
  await w.api.channels.disconnect({ id: channelId, unsent: 'cancel' })
  await becomes('post.cancelled')
})

test('a post held by the disconnect of its channel, and maybe out: post.needs_review', async () => {
  const { id, channelId, becomes } = await listened('blind')
  const claimed = await claimOne(w.db, 'worker', id)
  await intendOne(w.db, claimed!, '{}')
  await markUncertain(w.db, claimed!, 0, unknown, { outcome: 'unknown' })
  await w.db.update(deliveries).set({ state: 'scheduled', lookAt: null }).where(eq(deliveries.id, id))
  await w.api.channels.disconnect({ id: channelId, unsent: 'hold' })
  await becomes('post.needs_review')
})

test('a partly published post: one event, after its last delivery has settled', async () => {
  const { id, postId, told, becomes } = await listened('readable')
  const other = await w.delivery('blind')
  await w.db.update(deliveries).set({ postId, position: 1 }).where(eq(deliveries.id, other.id))
  await w.db.delete(posts).where(sql`not exists (select from deliveries d where d.post_id = posts.id)`)
  w.fake.behave = (request, { show, reply }) =>
    request.network === 'blind' ? reply(422, { error: 'no' }) : reply(200, { id: show() })
  await w.worker()
  await untilState(w.db, id, 'published')
  await untilState(w.db, other.id, 'failed')
  await becomes('post.partially_published')
  expect(await told()).toHaveLength(1)
})
