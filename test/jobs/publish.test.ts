import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { attempts, channels, deliveries } from '../../db/schema.ts'
import { aDelivery, someDeliveries } from '../builders.ts'
import { until } from '../processes.ts'
import { deliveryOf, type Kind, kinds, untilState, type World, world } from '../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
const soon = (ms = 0) => new Date(Date.now() + ms)
const attemptsOf = (id: string) => w.db.select().from(attempts).where(eq(attempts.deliveryId, id)).orderBy(attempts.no)
const one = async (network: string, dueAt = soon(), token?: string) => {
  const channelId = await w.channel(network, token)
  return { channelId, id: await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt }) }
}

describe('a delivery that goes well', () => {
  test('is published at its hour, never before, with the answer as evidence and one attempt', async () => {
    const started = await w.worker()
    const dueAt = soon(700)
    const { id } = await one('readable', dueAt)
    const row = await untilState(w.db, id, 'published')
    expect(row).toMatchObject({
      evidence: 'answered',
      remoteId: w.fake.posts[0]!.id,
      attemptNo: 1,
      maybeOut: false,
      leaseToken: null,
    })
    expect(w.fake.received).toHaveLength(1)
    expect(w.fake.received[0]!.at).toBeGreaterThanOrEqual(dueAt.getTime())
    expect(w.fake.received[0]!.at - dueAt.getTime()).toBeLessThan(2500) // ten times what is seen beside other tests
    expect(await fetch(`${started.healthUrl}/livez`).then(({ status }) => status)).toBe(200)
    expect(await attemptsOf(id)).toMatchObject([{ no: 1, outcome: 'published', status: 200 }])
  })

  test('20 at one instant on one channel go out one at a time, in order, once each', async () => {
    w.fake.behave = async (_request, { show, reply }) => {
      await pause(20)
      reply(200, { id: show() })
    }
    await Promise.all([w.worker(), w.worker()])
    const channelId = await w.channel('readable')
    const dueAt = soon(300)
    const wanted = Array.from({ length: 20 }, (_, i) => ({
      organisationId: w.organisationId,
      channelId,
      dueAt,
      text: `no ${i}`,
    }))
    const ids = await someDeliveries(w.db, wanted)
    await untilAll(ids)
    expect(w.fake.received.map(({ key }) => key)).toEqual(ids)
    for (const [i, { at }] of w.fake.received.entries())
      if (i > 0) expect(at).toBeGreaterThanOrEqual(w.fake.received[i - 1]!.endedAt)
  })

  test('500 on 20 channels of two networks of 200 ms go out in order, near the ideal of 5 s', async () => {
    w.fake.behave = async (_request, { show, reply }) => {
      await pause(200)
      reply(200, { id: show() })
    }
    await w.worker({ env: { WORKER_CONCURRENCY: '20' } })
    const channelIds = await Promise.all(Array.from({ length: 20 }, (_, i) => w.channel(i % 2 ? 'readable' : 'other')))
    const dueAt = soon(3000)
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 500 }, (_, i) => ({
        organisationId: w.organisationId,
        channelId: channelIds[i % 20]!,
        dueAt,
      })),
    )
    await untilAll(ids)
    const took = Math.max(...w.fake.received.map(({ endedAt }) => endedAt)) - dueAt.getTime()
    process.stdout.write(
      `500 deliveries on 20 channels of 200 ms: ${took} ms, ${(took / 5000).toFixed(2)} of the ideal\n`,
    )
    expect(w.fake.received).toHaveLength(500)
    for (const channelId of channelIds) {
      const sent = w.fake.received.filter(({ account }) => account === channelId).map(({ key }) => key)
      expect(sent).toEqual(ids.filter((_, i) => channelIds[i % 20] === channelId))
    }
    expect(took).toBeLessThan(50_000)
  })
})

describe('an outcome that nobody knows', () => {
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
    keyed: { state: 'published', evidence: 'answered' }, // the same key again gives the first post's id
    readable: { state: 'published', evidence: 'found' },
    blind: { state: 'needs_review', evidence: null },
  }
  for (const kind of kinds)
    for (const [name, behaviour] of Object.entries(silences))
      test(`${kind}: a network that shows the post and ${name} ends ${expected[kind].state}, with one post out`, async () => {
        w.fake.keyed = kind === 'keyed'
        let first = true
        w.fake.behave = (request, answer) => {
          if (!first) return answer.reply(200, { id: answer.show() })
          first = false
          return behaviour(request, answer)
        }
        const { id } = await one(kind)
        await w.worker()
        const row = await untilState(w.db, id, 'published', 'failed', 'needs_review')
        expect(row).toMatchObject(expected[kind])
        expect(w.fake.posts).toHaveLength(1)
        expect((await attemptsOf(id))[0]).toMatchObject({ outcome: 'unknown' })
      })

  test('readable: proved absent by two readings, it is sent again, once', async () => {
    let first = true
    w.fake.behave = (_request, { show, reply }) => {
      if (!first) return reply(200, { id: show() })
      first = false
      return reply(502, 'not even tried')
    }
    const { id } = await one('readable')
    await w.worker()
    expect(await untilState(w.db, id, 'published')).toMatchObject({ evidence: 'answered', attemptNo: 2 })
    expect(w.fake.posts).toHaveLength(1)
  })

  test('a channel waits while one of its deliveries is uncertain, and goes on after it', async () => {
    w.fake.behave = ({ text }, { show, reply }) => (text === 'first' ? reply(500, show()) : reply(200, { id: show() }))
    const channelId = await w.channel('readable')
    const dueAt = soon()
    const [first, second] = await someDeliveries(w.db, [
      { organisationId: w.organisationId, channelId, dueAt, text: 'first' },
      { organisationId: w.organisationId, channelId, dueAt, text: 'second' },
    ])
    await w.worker()
    await untilState(w.db, second!, 'published')
    expect(await deliveryOf(w.db, first!)).toMatchObject({ state: 'published', evidence: 'found' })
  })
})

describe('a worker killed with -9 while it sends', () => {
  for (const kind of kinds)
    test(`${kind}: the next worker finds out, and there is one post`, async () => {
      w.fake.keyed = kind === 'keyed'
      let showing: () => void = () => {}
      const shown = new Promise<void>((done) => {
        showing = done
      })
      w.fake.behave = (_request, { show }) => {
        show() // and never an answer
        showing()
      }
      const { id } = await one(kind)
      const first = await w.worker()
      await shown
      first.kill('SIGKILL')
      await first.ended
      w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
      await w.worker()
      const row = await untilState(w.db, id, 'published', 'needs_review', 'failed')
      expect(row.state).toBe(kind === 'blind' ? 'needs_review' : 'published')
      expect(w.fake.posts).toHaveLength(1)
    })

  test('what it had claimed or fetched ahead goes out through another within 30 s', async () => {
    w.fake.behave = (_request, { show, reply }) => void setTimeout(() => reply(200, { id: show() }), 50)
    const first = await w.worker()
    const channelIds = await Promise.all(Array.from({ length: 5 }, () => w.channel('keyed')))
    w.fake.keyed = true
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 50 }, (_, i) => ({
        organisationId: w.organisationId,
        channelId: channelIds[i % 5]!,
        dueAt: soon(),
      })),
    )
    await until(() => w.fake.received.length >= 5)
    first.kill('SIGKILL')
    await w.worker()
    await untilAll(ids)
    expect(w.fake.posts).toHaveLength(50)
  })
})

describe('what a network says', () => {
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

  test('a 429 pauses the channel as long as told and burns no step of patience', async () => {
    let times = 0
    w.fake.behave = (_request, { show, reply }) =>
      times++ === 0 ? reply(429, '', { 'retry-after': '1' }) : reply(200, { id: show() })
    const { id, channelId } = await one('readable')
    await w.worker()
    const row = await untilState(w.db, id, 'published')
    expect(row.backoffStep).toBe(0)
    expect(w.fake.received[1]!.at - w.fake.received[0]!.at).toBeGreaterThanOrEqual(1000)
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel!.pausedUntil).not.toBeNull()
  })

  test('a 401 is answered with one refresh, whatever is due on the channel', async () => {
    w.fake.isTokenGood = (token) => token === 'fresh'
    const channelId = await w.channel('readable', 'stale')
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 5 }, () => ({ organisationId: w.organisationId, channelId, dueAt: soon() })),
    )
    await w.worker({ refreshTo: 'fresh' })
    await untilAll(ids)
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel).toMatchObject({ credentialVersion: 2, status: 'active' })
    expect(w.fake.posts).toHaveLength(5)
  })

  test('a 401 that no refresh mends holds everything due on the channel and asks for a person', async () => {
    w.fake.isTokenGood = () => false
    const channelId = await w.channel('readable')
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 3 }, () => ({ organisationId: w.organisationId, channelId, dueAt: soon() })),
    )
    await w.worker({ refreshTo: 'still bad' })
    await until(async () => (await statesOf(ids)).every((state) => state === 'held'))
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel!.status).toBe('needs_reconnect')
    expect(w.fake.received).toHaveLength(0)
  })

  test('a network that cannot be reached is tried again at its time, by a wake-up of the delivery itself', async () => {
    const { id } = await one('unreachable')
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
    expect((await attemptsOf(id))[0]).toMatchObject({ outcome: 'later' })
  })

  test('what was due more than a day ago and never tried waits for a person', async () => {
    const { id } = await one('readable', soon(-25 * 3_600_000))
    await w.worker()
    expect(await untilState(w.db, id, 'needs_review')).toMatchObject({ error: { code: 'missed' } })
    expect(w.fake.received).toHaveLength(0)
  })
})

describe('a worker that is told to stop', () => {
  test('lets what is being sent end, leaves the rest scheduled, and exits 0', async () => {
    w.fake.behave = async (_request, { show, reply }) => {
      await pause(600)
      reply(200, { id: show() })
    }
    const channelIds = await Promise.all(Array.from({ length: 10 }, () => w.channel('readable')))
    const ids = await someDeliveries(
      w.db,
      Array.from({ length: 30 }, (_, i) => ({
        organisationId: w.organisationId,
        channelId: channelIds[i % 10]!,
        dueAt: soon(),
      })),
    )
    const started = await w.worker()
    await until(() => w.fake.received.length >= 10)
    expect(await started.stop()).toBe(0)
    const states = await statesOf(ids)
    expect(states.filter((state) => state === 'published')).toHaveLength(w.fake.received.length)
    expect(new Set(states)).toEqual(new Set(['published', 'scheduled']))
    expect(await channelsAsleep()).toEqual([]) // so that another worker goes on at once
    await w.worker()
    await untilAll(ids)
    expect(w.fake.posts).toHaveLength(30)
  })
})

test('losing every job of the queue loses no post', async () => {
  const { id } = await one('readable', soon(500))
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  await w.worker()
  await untilState(w.db, id, 'published')
})

/** Channels on which something is due and no job is free to say so. */
async function channelsAsleep(): Promise<string[]> {
  const rows = await w.db.execute<{ id: string }>(sql`
    select distinct d.channel_id as id from deliveries d where d.state = 'scheduled' and d.ready_at <= now()
    except select d.channel_id from deliveries d
    join graphile_worker.jobs j on j.key = d.id::text where j.locked_by is null and d.state = 'scheduled'`)
  return [...rows].map(({ id }) => id)
}

async function statesOf(ids: string[]): Promise<string[]> {
  const rows = await w.db.select({ state: deliveries.state }).from(deliveries).where(inArray(deliveries.id, ids))
  return rows.map(({ state }) => state)
}

function untilAll(ids: string[]) {
  return until(async () => (await statesOf(ids)).every((state) => state === 'published'), 60_000)
}
