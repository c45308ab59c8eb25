import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { type FakeMastodon, fakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'
import { texts } from '../../jobs/networks/texts-to-recognise.json' with { type: 'json' }
import { until } from '../../processes.ts'
import { deliveryOf, untilPublished, untilState, type World, world } from '../../world.ts'
import { untilEnded } from '../play.ts'

// A real worker on Mastodon-like servers that ignore the Idempotency-Key and whose answers are lost.

const Minute = 60_000
const Send = 'POST /api/v1/statuses'

let w: World
beforeAll(async () => {
  w = await world()
  await w.worker()
})
afterAll(() => w.end())

type Account = { server: FakeMastodon; channelId: string; post: (text: string) => Promise<string> }

/** A channel on its own server. Its clock was wrong by `aheadMs` when the channel was connected. */
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

/** How a delivery ended, and how many posts its account shows. */
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
  test('a server whose clock is wrong: the post is found, also when it is the first of the channel', async (context) => {
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

  test('a server whose clock jumps before the reading: the post is found, or it needs review and the error has its link', async (context) => {
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

  test('a server that renders Markdown and gives no source: every text is found', async (context) => {
    const accounts = await Promise.all(texts.map(() => account(context, { like: 'hollo' })))
    for (const { server } of accounts) server.next(Send, 'reset after')
    const ids = await Promise.all(texts.map(({ text }, i) => accounts[i]!.post(text)))
    await untilEnded(w, ids)
    for (const [i, { name }] of texts.entries())
      expect([name, await endOf(accounts[i]!, ids[i]!)]).toEqual([name, { ...found, out: 1 }])
  })

  test('a server that changes the text: the post needs review after the second reading, with the link of the similar post', async (context) => {
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

describe.concurrent('two posts with the same text', () => {
  test('when one answer is lost, each is published once', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset after')
    const ids = [await it.post('Good morning'), await it.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
    expect(it.server.statuses).toHaveLength(2)
  })

  test('when one never arrived, each is published once or needs review', async (context) => {
    const it = await account(context)
    it.server.next(Send, 'reset before', 'reset after')
    const ids = [await it.post('Good morning'), await it.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
  })

  test('when two organisations share the account and one post never arrived, no status is recorded for both', async (context) => {
    const it = await account(context)
    const theirs = await channelOn(it.server, (await anOrganisation(w.db)).organisationId)
    const ours = await it.post('Good morning')
    await untilEnded(w, [ours])
    it.server.next(Send, 'reset before')
    const ids = [ours, await theirs.post('Good morning')]
    await untilEnded(w, ids)
    await assertOneEach(it, ids)
  })

  test('when one needs review, a status that may belong to either is recorded for neither', async (context) => {
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

/** No two deliveries record the same status, and each delivery without one needs review. */
async function assertOneEach({ server }: Account, ids: string[]): Promise<void> {
  const ended = await Promise.all(ids.map((id) => deliveryOf(w.db, id)))
  const recorded = ended.filter(({ state }) => state === 'published').map(({ remoteId }) => remoteId)
  const asked = ended.filter(({ state }) => state === 'needs_review')
  expect(recorded.length + asked.length).toBe(ids.length)
  expect(new Set(recorded).size).toBe(recorded.length)
  expect(server.statuses.map(({ id }) => id)).toEqual(expect.arrayContaining(recorded))
  expect(server.statuses.length).toBeLessThanOrEqual(ids.length)
}
