import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { attempts, deliveries } from '../../../db/schema/ledger.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../../server/web.ts'
import { claimOne, deliveryOf, intendOne, untilState } from '../../world.ts'

// A change of a partly published post, while a worker handles the rest of it.

const w = worldWithOwner()

const soon = (ms = 0) => new Date(Date.now() + ms)
const sentOn = (channelId: string) =>
  w.fake.received.filter(({ account }) => account === channelId).map(({ text }) => text)

type Rest = 'failed' | 'scheduled'

/** A post with a published delivery, and others due at `dueAt`. */
async function aPost(dueAt: Date, rest: Rest[], content = 'old') {
  const channelIds = await Promise.all(['published', ...rest].map(() => w.channel('readable')))
  const date = soon(3_600_000).toISOString()
  const { id } = await w.api.posts.create({ type: 'schedule', date, content, channelIds })
  for (const [i, state] of (['published', ...rest] as const).entries()) {
    const isOut = state === 'published'
    const proof = { publishedAt: isOut ? sql`now()` : null, evidence: isOut ? ('person' as const) : null }
    await w.db
      .update(deliveries)
      .set({ state, dueAt, ...proof })
      .where(eq(deliveries.channelId, channelIds[i]!))
  }
  await w.db.execute(sql`update posts set date = ${dueAt.toISOString()} where id = ${id}`)
  const rows = await w.db.select({ id: deliveries.id }).from(deliveries).where(eq(deliveries.postId, id))
  return { id, channelIds, deliveryIds: rows.map((row) => row.id) }
}

test('changed between claim and intent: the rest loses its lease, and the prepared old text is not sent', async () => {
  const { id, channelIds } = await aPost(soon(), ['scheduled'])
  const [rest] = await w.db.select().from(deliveries).where(eq(deliveries.channelId, channelIds[1]!))
  const claimed = await claimOne(w.db, 'worker', rest!.id)
  expect(claimed!.text).toBe('old')

  await w.api.posts.update({ id, content: 'new' })

  expect(await intendOne(w.db, claimed!, '{"text":"old"}')).toBe(false)
  expect(await deliveryOf(w.db, rest!.id)).toMatchObject({ state: 'scheduled', prepared: null })
  expect(await w.db.select().from(attempts).where(eq(attempts.deliveryId, rest!.id))).toMatchObject([
    { outcome: 'edited' },
  ])
  await w.worker()
  await untilState(w.db, rest!.id, 'published')
  expect(channelIds.map(sentOn)).toEqual([[], ['new']])
})

// Two deliveries of each post race: one that a retry sends, and one that is due.
test('changed in 1,000 races with retry and claim: each channel gets the one text that the post shows, once', async () => {
  await w.worker()
  const count = 500
  const all = []
  for (let i = 0; i < count; i++) all.push(await aPost(soon(3_600_000), ['failed', 'scheduled'], `old ${i}`))
  const begins = all.map((_, i) => soon(1000 + i * 15))
  for (const [i, { id }] of all.entries())
    await w.db.execute(sql`
      update deliveries set due_at = ${begins[i]!.toISOString()} where post_id = ${id} and state = 'scheduled'`)
  const at = async (i: number) => {
    const orderedAt = begins[i]!.getTime() - 15 + Math.random() ** 3 * 2000
    await new Promise((done) => setTimeout(done, orderedAt - Date.now()))
  }
  const answers = await Promise.all(
    all.map(async ({ id }, i) => {
      const retried = at(i).then(() => failureOf(w.api.posts.retry({ id })))
      await at(i)
      const changed = w.api.posts.update({ id, content: `new ${i}` }).catch(({ failure }) => String(failure))
      await retried
      return changed
    }),
  )
  await until(
    async () => (await w.db.execute(sql`select from deliveries where state <> 'published'`)).length === 0,
    240_000,
  )

  const done = answers.filter((answer): answer is Post => typeof answer !== 'string')
  const beside = done.filter(({ overrides }) => overrides.length > 1)
  process.stdout.write(
    `${done.length} of ${count} changes came first, ${beside.length} of them after one more channel\n`,
  )
  expect(done.length).toBeGreaterThan(0)
  expect(done.length).toBeLessThan(count)
  for (const [i, { id, channelIds }] of all.entries()) {
    const post = await w.api.posts.get({ id })
    const answer = answers[i]!
    if (typeof answer === 'string') expect(answer).toMatch(/^post_already_publish(ing|ed)$/)
    else expect(post).toMatchObject({ content: `new ${i}`, overrides: answer.overrides })
    const shown = channelIds.map(
      (one) => post.overrides.find(({ channelId }) => channelId === one)?.content ?? post.content,
    )
    expect(shown[0]).toBe(`old ${i}`)
    expect(channelIds.map(sentOn)).toEqual([[], [shown[1]], [shown[2]]])
  }
  expect((await w.db.transaction(checkInvariants)).filter(({ broken }) => broken > 0)).toEqual([])
}, 400_000)
