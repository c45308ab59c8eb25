import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { type FakeMastodon, fakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'
import { texts } from '../../jobs/networks/texts-to-recognise.json' with { type: 'json' }
import { until } from '../../processes.ts'
import { deliveryOf, untilPublished, untilState, type World, world } from '../../world.ts'
import { untilEnded } from '../play.ts'

// A real worker on servers of Mastodon's kind that ignore the Idempotency-Key and whose answers are lost.

const Minute = 60_000
const Send = 'POST /api/v1/statuses'

let w: World
beforeAll(async () => {
  w = await world()
  await w.worker()
})
afterAll(() => w.end())

type Account = { server: FakeMastodon; channelId: string; post: (text: string) => Promise<string> }

/** A channel on a server of its own, connected while that server's clock was wrong by `aheadMs`. */
async function account(context: TestContext, { aheadMs = 0, like }: Way = {}): Promise<Account> {
  const server = await fakeMastodon(like ? { like } : {})
  context.onTestFinished(server.close)
  server.aheadMs = aheadMs
  return channelOn(server, w.organisationId)
}

async function channelOn(server: FakeMastodon, organisationId: string): Promise<Account> {
  const { url: instance, token, accountId, aheadMs: clockAheadMs } = server
  const credential = { instance, token, accountId, clockAheadMs }
  const [network, remoteAccount] = ['mastodon', `${instance}/${accountId}`]
  const channelId = await aChannel(w.db, w.site.secretKey, { organisationId, network, credential, remoteAccount })
  const post = (text: string) => aDelivery(w.db, { organisationId, channelId, dueAt: new Date(), text })
  return { server, channelId, post }
}
type Way = { aheadMs?: number; like?: 'hollo' }

/** What became of a delivery, and how many posts its account shows. */
async function endOf({ server }: Account, id: string) {
  const { state, evidence, remoteId } = await deliveryOf(w.db, id)
  return {
    state,
    evidence,
    isThere: server.statuses.some((status) => status.id === remoteId),
    out: server.statuses.length,
  }
}

const found = { state: 'published', evidence: 'found', isThere: true }

describe.concurrent('an answer is lost after the post was accepted', () => {
  test('by a server whose clock is wrong: it is found, be it the channel’s first post or not', async (context) => {
    const errors = [-4, -6, -180, 6].map((minutes) => minutes * Minute)
    const accounts = await Promise.all(errors.flatMap((aheadMs) => [0, 1].map(() => account(context, { aheadMs }))))
    const older = accounts.filter((_, i) => i % 2 === 1)
    const before = await Promise.all(older.map(({ post }) => post('Before')))
    await untilPublished(w.db, before)
    for (const { server } of accounts) server.next(Send, 'reset after')
    const ids = await Promise.all(accounts.map(({ post }) => post('Is it out?')))
    await untilEnded(w, ids)
    for (const [i, id] of ids.entries())
      expect([i, await endOf(accounts[i]!, id)]).toEqual([i, { ...found, out: 1 + (i % 2) }])
  })

  test('by a server whose clock jumps before it is read: it is found, or a person is asked with its link', async (context) => {
    const jumps = [
      [-180, 0],
      [0, -180],
      [0, 180],
      [180, 0],
    ].map(([whenSent, whenRead]) => [whenSent! * Minute, whenRead! * Minute])
    const accounts = await Promise.all(jumps.map(([aheadMs]) => account(context, { aheadMs: aheadMs! })))
    for (const { server } of accounts) server.next(Send, 'reset after')
    const ids = await Promise.all(accounts.map(({ post }) => post('Is it out?')))
    for (const [i, { server }] of accounts.entries()) {
      await until(() => server.statuses.length > 0)
      server.aheadMs = jumps[i]![1]!
    }
    await untilEnded(w, ids)
    for (const [i, { server }] of accounts.entries()) {
      const { state, error, remoteId } = await deliveryOf(w.db, ids[i]!)
      const [shown] = server.statuses
      expect(server.statuses).toHaveLength(1)
      if (state === 'published') expect(remoteId).toBe(shown!.id)
      else
        expect([state, error?.code, error?.nextStep]).toEqual([
          'needs_review',
          'cannot_be_read',
          expect.stringContaining(shown!.url),
        ])
    }
  })

  test('by a server that renders Markdown and gives no source: each text of a person is found', async (context) => {
    const accounts = await Promise.all(texts.map(() => account(context, { like: 'hollo' })))
    for (const { server } of accounts) server.next(Send, 'reset after')
    const ids = await Promise.all(texts.map(({ text }, i) => accounts[i]!.post(text)))
    await untilEnded(w, ids)
    for (const [i, { name }] of texts.entries())
      expect([name, await endOf(accounts[i]!, ids[i]!)]).toEqual([name, { ...found, out: 1 }])
  })

  test('by a server that changes the text: a person is asked at the second reading, with the link of what is there', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset before')
    const shown = it.server.show({ content: '<p>The shop opens at ten today, says the shop</p>' })
    const id = await it.post('The shop opens at ten today')
    const { error, maybeOut } = await untilState(w.db, id, 'published', 'needs_review')
    expect(maybeOut).toBe(true)
    expect(error).toMatchObject({ code: 'cannot_be_read', nextStep: expect.stringContaining(shown.url) })
    expect(it.server.received.filter(({ route }) => route === Send)).toHaveLength(1)
  })
})

describe.concurrent('two posts of the same text', () => {
  test('of which one answer is lost are one post each', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset after')
    const ids = [await it.post('Good morning'), await it.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
    expect(it.server.statuses).toHaveLength(2)
  })

  test('of which one never arrived are one post each, or a person is asked', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset before', 'reset after')
    const ids = [await it.post('Good morning'), await it.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
  })

  test('of two organisations with the same account, of which one never arrived: no status is recorded for both', async (context) => {
    const it = await account(context)
    const theirs = await channelOn(it.server, (await anOrganisation(w.db)).organisationId)
    const ours = await it.post('Good morning')
    await untilEnded(w, [ours])
    it.server.next(Send, 'reset before')
    const ids = [ours, await theirs.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
  })

  test('of which one waits for a person: what may be either’s is recorded for none', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset after', 'reset before')
    const first = await it.post('Good morning')
    await until(() => it.server.statuses.length > 0)
    Object.assign(it.server.statuses[0]!, { media_attachments: ['one that it added'] })
    await untilState(w.db, first, 'needs_review')
    Object.assign(it.server.statuses[0]!, { media_attachments: [] })
    const second = await it.post('Good morning')
    expect(await untilState(w.db, second, 'published', 'needs_review')).toMatchObject({ state: 'needs_review' })
    expect(it.server.statuses).toHaveLength(1)
  })
})

/** No two of them claim one post, and those that claim none are put before a person. */
async function assertOneEach({ server }: Account, ids: string[]): Promise<void> {
  const ended = await Promise.all(ids.map((id) => deliveryOf(w.db, id)))
  const recorded = ended.filter(({ state }) => state === 'published').map(({ remoteId }) => remoteId)
  const asked = ended.filter(({ state }) => state === 'needs_review')
  expect(recorded.length + asked.length).toBe(ids.length)
  expect(new Set(recorded).size).toBe(recorded.length)
  expect(server.statuses.map(({ id }) => id)).toEqual(expect.arrayContaining(recorded))
  expect(server.statuses.length).toBeLessThanOrEqual(ids.length)
}
