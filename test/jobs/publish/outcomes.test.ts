import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { type Kind, kinds } from '../../stand-ins/fake-network.ts'
import { attemptsOf, deliveryOf, statesOf, untilPublished, untilState, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

const soon = (ms = 0) => new Date(Date.now() + ms)

describe('an unknown outcome', () => {
  const silences = {
    'answers 500': (
      _request: unknown,
      { show, reply }: { show: () => string; reply: (s: number, b: unknown) => void },
    ) => {
      show()
      reply(500, 'oops')
    },
    'answers 200 without an id': (
      _request: unknown,
      { show, reply }: { show: () => string; reply: (s: number, b: unknown) => void },
    ) => {
      show()
      reply(200, 'thanks')
    },
    'resets the connection': (_request: unknown, { show, reset }: { show: () => string; reset: () => void }) => {
      show()
      reset()
    },
  }
  const expected: Record<Kind, { state: string; evidence: string | null }> = {
    keyed: { state: 'published', evidence: 'answered' }, // the same key again returns the first post's id
    'two-step': { state: 'published', evidence: 'found' },
    readable: { state: 'published', evidence: 'found' },
    blind: { state: 'needs_review', evidence: null },
  }
  for (const kind of kinds)
    for (const [name, behaviour] of Object.entries(silences))
      test(`${kind}: a network that shows the post and ${name} ends ${expected[kind].state}, with one post out`, async () => {
        let first = true
        w.fake.behave = (request, answer) => {
          if (!first) return answer.reply(200, { id: answer.show() })
          first = false
          return behaviour(request, answer)
        }
        const { id } = await w.delivery(kind)
        await w.worker()
        const row = await untilState(w.db, id, 'published', 'failed', 'needs_review')
        expect(row).toMatchObject(expected[kind])
        expect(w.fake.posts).toHaveLength(1)
        expect((await attemptsOf(w.db, id))[0]).toMatchObject({ outcome: 'unknown' })
      })

  test('readable: a post that two readings prove absent is sent again, once', async () => {
    let first = true
    w.fake.behave = (_request, { show, reply }) => {
      if (!first) return reply(200, { id: show() })
      first = false
      return reply(502, 'not even tried')
    }
    const { id } = await w.delivery('readable')
    await w.worker()
    expect(await untilState(w.db, id, 'published')).toMatchObject({ evidence: 'answered', attemptNo: 2 })
    expect(w.fake.posts).toHaveLength(1)
  })

  test('a channel goes on while one of its deliveries is uncertain, and the reading runs beside the other sends', async () => {
    w.fake.behave = ({ text }, { show, reply }) => (text === 'first' ? reply(500, show()) : reply(200, { id: show() }))
    const channelId = await w.channel('readable')
    const dueAt = soon()
    const [first, second] = await someDeliveries(w.db, [
      { organisationId: w.organisationId, channelId, dueAt, text: 'first' },
      { organisationId: w.organisationId, channelId, dueAt, text: 'second' },
    ])
    await w.worker()
    await untilState(w.db, second!, 'published')
    expect(await untilState(w.db, first!, 'published')).toMatchObject({ evidence: 'found' })
    const [late, onTime] = [(await attemptsOf(w.db, first!))[0]!, (await attemptsOf(w.db, second!))[0]!]
    expect(late.foundAt!.getTime()).toBeGreaterThan(onTime.endedAt!.getTime())
  })

  test('a post that a reading finds is published at the time of its send, and its attempt has the time it was found', async () => {
    w.fake.behave = (_request, { show, reply }) => reply(500, show())
    const found = await w.delivery('readable')
    await w.worker()
    const { publishedAt } = await untilState(w.db, found.id, 'published')
    const [attempt] = await attemptsOf(w.db, found.id)
    expect(attempt).toMatchObject({ outcome: 'unknown', status: 500, intendedAt: publishedAt })
    expect(attempt!.foundAt!.getTime()).toBeGreaterThan(attempt!.endedAt!.getTime())

    w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
    const answered = await w.delivery('readable')
    const row = await untilState(w.db, answered.id, 'published')
    expect(await attemptsOf(w.db, answered.id)).toMatchObject([{ intendedAt: row.publishedAt, foundAt: null }])
  })
})

describe('answers of a network', () => {
  test('a refusal fails the delivery with the reason, and the next one of the channel goes out', async () => {
    w.fake.behave = ({ text }, { show, reply }) =>
      text === 'bad' ? reply(422, 'rude words') : reply(200, { id: show() })
    const channelId = await w.channel('readable')
    const dueAt = soon()
    const [bad, good] = await someDeliveries(
      w.db,
      ['bad', 'good'].map((text) => ({ organisationId: w.organisationId, channelId, dueAt, text })),
    )
    await w.worker()
    await untilState(w.db, good!, 'published')
    expect(await deliveryOf(w.db, bad!)).toMatchObject({
      state: 'failed',
      error: { code: 'network_refused', message: 'The fake says: rude words' },
    })
  })

  test('a 429 pauses the channel for the time that the network asks for, and uses no backoff step', async () => {
    let times = 0
    w.fake.behave = (_request, { show, reply }) =>
      times++ === 0 ? reply(429, '', { 'retry-after': '1' }) : reply(200, { id: show() })
    const { id, channelId } = await w.delivery('readable')
    await w.worker()
    const row = await untilState(w.db, id, 'published')
    expect(row.backoffStep).toBe(0)
    expect(w.fake.received[1]!.at - w.fake.received[0]!.at).toBeGreaterThanOrEqual(1000)
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel!.pausedUntil).not.toBeNull()
  })

  test('a 401 causes one refresh, however many posts are due on the channel', async () => {
    w.fake.isTokenGood = (token) => token === 'fresh'
    const channelId = await w.channel('readable', 'stale')
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 5 }, () => ({ organisationId: w.organisationId, channelId, dueAt: soon() })),
    )
    await w.worker({ refreshTo: 'fresh' })
    await untilPublished(w.db, ids)
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel).toMatchObject({ credentialVersion: 2, status: 'active' })
    expect(w.fake.posts).toHaveLength(5)
  })

  test('a 401 that a refresh does not fix holds all due posts of the channel and asks for a reconnect', async () => {
    w.fake.isTokenGood = () => false
    const channelId = await w.channel('readable')
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 3 }, () => ({ organisationId: w.organisationId, channelId, dueAt: soon() })),
    )
    await w.worker({ refreshTo: 'still bad' })
    await until(async () => (await statesOf(w.db, ids)).every((state) => state === 'held'))
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel!.status).toBe('needs_reconnect')
    expect(w.fake.received).toHaveLength(0)
  })

  test('a network that cannot be reached is tried again at its time, by a wake-up of the delivery itself', async () => {
    const { id } = await w.delivery('unreachable')
    await w.worker()
    const row = await until(async () => {
      const current = await deliveryOf(w.db, id)
      return current.backoffStep > 0 && current.state === 'scheduled' && current
    })
    expect(row).toMatchObject({ maybeOut: false, error: { code: 'network_connect' } })
    const jobs = await w.db.execute(
      sql`select from graphile_worker.jobs where key = ${id} and run_at >= ${row.nextAttemptAt!.toISOString()}`,
    )
    expect(jobs).toHaveLength(1)
    expect((await attemptsOf(w.db, id))[0]).toMatchObject({ outcome: 'later' })
  })

  test('a post that was due more than a day ago and never tried needs review', async () => {
    const { id } = await w.delivery('readable', soon(-25 * 3_600_000))
    await w.worker()
    expect(await untilState(w.db, id, 'needs_review')).toMatchObject({ error: { code: 'missed' } })
    expect(w.fake.received).toHaveLength(0)
  })
})
