import { expect, test } from 'vitest'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../../server/web.ts'
import { deliveryOf, statesOf } from '../../world.ts'

// A post is cancelled or edited just when a worker claims it.

const w = worldWithOwner()

const soon = (ms: number) => new Date(Date.now() + ms)

// Each post is on its own channel. The action comes at a random time around its due time.
const race = async (count: number, order: (postId: string, i: number) => Promise<unknown>) => {
  await w.worker()
  const channelIds = await Promise.all(Array.from({ length: count }, () => w.channel('readable')))
  const dueAt = channelIds.map((_, i) => soon(1000 + i * 15))
  const wanted = channelIds.map((channelId, i) => ({
    ...{ organisationId: w.organisationId, channelId, dueAt: dueAt[i]!, text: `old ${i}` },
  }))
  const ids = await someDeliveries(w.db, wanted)
  const rows = await Promise.all(ids.map((id) => deliveryOf(w.db, id)))
  const answers = await Promise.all(
    rows.map(async ({ postId }, i) => {
      const orderedAt = dueAt[i]!.getTime() - 15 + Math.random() ** 3 * 2000 // dense where an idle machine claims
      await new Promise((done) => setTimeout(done, orderedAt - Date.now()))
      return failureOf(order(postId, i))
    }),
  )
  const ends = ['published', 'cancelled']
  await until(async () => (await statesOf(w.db, ids)).every((state) => ends.includes(state)), 120_000)
  const ended = await Promise.all(ids.map((id) => deliveryOf(w.db, id)))
  return { answers, states: ended.map(({ state }) => state), ids }
}
const sentFor = (id: string) => w.fake.received.filter(({ key }) => key === id).map(({ text }) => text)

test('cancelled in 500 races with the claim: 204 means never sent, 409 means sent once', async () => {
  const { answers, states, ids } = await race(500, (id) => w.api.posts.cancel({ id }))
  const wins = answers.filter((answer) => answer === 'done').length
  process.stdout.write(`${wins} of 500 cancellations came first\n`)
  expect(wins).toBeGreaterThan(0)
  expect(wins).toBeLessThan(500)
  for (const [i, id] of ids.entries()) {
    const isCancelled = answers[i] === 'done'
    if (!isCancelled) expect(answers[i]).toMatch(/^post_already_publish(ing|ed)$/)
    expect([states[i], sentFor(id)]).toEqual(isCancelled ? ['cancelled', []] : ['published', [`old ${i}`]])
  }
}, 400_000)

test('edited in 500 races with the claim: the one text that the answer promised goes out, once', async () => {
  const { answers, states, ids } = await race(500, (id, i) => w.api.posts.update({ id, content: `new ${i}` }))
  const wins = answers.filter((answer) => answer === 'done').length
  process.stdout.write(`${wins} of 500 edits came first\n`)
  expect(wins).toBeGreaterThan(0)
  expect(wins).toBeLessThan(500)
  for (const [i, id] of ids.entries()) {
    if (answers[i] !== 'done') expect(answers[i]).toMatch(/^post_already_publish(ing|ed)$/)
    expect([states[i], sentFor(id)]).toEqual(['published', [`${answers[i] === 'done' ? 'new' : 'old'} ${i}`]])
  }
}, 400_000)
