import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { kinds } from '../../stand-ins/fake-network.ts'
import { attemptsOf, statesOf, untilPublished, untilState, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
const soon = (ms = 0) => new Date(Date.now() + ms)

describe('a delivery without faults', () => {
  test('is published at its due time, never before, with the answer as evidence and one attempt', async () => {
    const started = await w.worker({ timesFactor: 1 })
    const dueAt = soon(700)
    const { id } = await w.delivery('readable', dueAt)
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
    expect(w.fake.received[0]!.at - dueAt.getTime()).toBeLessThan(5000) // 20 times the usual delay beside other tests
    expect(await fetch(`${started.healthUrl}/livez`).then(({ status }) => status)).toBe(200)
    expect(await attemptsOf(w.db, id)).toMatchObject([{ no: 1, outcome: 'published', status: 200 }])
  })

  test('20 posts due at once on one channel go out one at a time, in order, once each', async () => {
    w.fake.behave = async (_request, { show, reply }) => {
      await pause(20)
      reply(200, { id: show() })
    }
    await Promise.all([w.worker({ timesFactor: 1 }), w.worker({ timesFactor: 1 })])
    const channelId = await w.channel('readable')
    const dueAt = soon(300)
    const wanted = Array.from({ length: 20 }, (_, i) => ({
      organisationId: w.organisationId,
      channelId,
      dueAt,
      text: `no ${i}`,
    }))
    const ids = await someDeliveries(w.db, wanted)
    await untilPublished(w.db, ids)
    expect(w.fake.received.map(({ key }) => key)).toEqual(ids)
    for (const [i, { at }] of w.fake.received.entries())
      if (i > 0) expect(at).toBeGreaterThanOrEqual(w.fake.received[i - 1]!.endedAt)
  })

  test('500 posts on 20 channels of two networks with 200 ms per answer go out in order, near the ideal of 5 s', async () => {
    w.fake.behave = async (_request, { show, reply }) => {
      await pause(200)
      reply(200, { id: show() })
    }
    await w.worker({ timesFactor: 1, env: { WORKER_CONCURRENCY: '20' } })
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
    await untilPublished(w.db, ids)
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

describe('a worker killed with -9 while it sends', () => {
  for (const kind of kinds)
    test(`${kind}: the next worker finds the outcome, and there is one post`, async () => {
      let showing: () => void = () => {}
      const shown = new Promise<void>((done) => {
        showing = done
      })
      w.fake.behave = (_request, { show }) => {
        show() // but never answers
        showing()
      }
      const { id } = await w.delivery(kind)
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

  test('the deliveries it had claimed or fetched ahead go out through another worker within 30 s', async () => {
    w.fake.behave = (_request, { show, reply }) => void setTimeout(() => reply(200, { id: show() }), 50)
    const first = await w.worker()
    const channelIds = await Promise.all(Array.from({ length: 5 }, () => w.channel('keyed')))
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
    await untilPublished(w.db, ids)
    expect(w.fake.posts).toHaveLength(50)
  })
})

describe('a worker that gets a stop signal', () => {
  test('lets running sends end, leaves the rest scheduled, and exits with 0', async () => {
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
    const started = await w.worker({ timesFactor: 1 })
    await until(() => w.fake.received.length >= 10)
    expect(await started.stop()).toBe(0)
    const states = await statesOf(w.db, ids)
    expect(states.filter((state) => state === 'published')).toHaveLength(w.fake.received.length)
    expect(new Set(states)).toEqual(new Set(['published', 'scheduled']))
    expect(await channelsAsleep()).toEqual([]) // so that another worker goes on at once
    await w.worker({ timesFactor: 1 })
    await untilPublished(w.db, ids)
    expect(w.fake.posts).toHaveLength(30)
  })
})

test('losing every job of the queue loses no post', async () => {
  const { id } = await w.delivery('readable', soon(500))
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  await w.worker()
  await untilState(w.db, id, 'published')
})

/** Channels with a due delivery and no free job for it. */
async function channelsAsleep(): Promise<string[]> {
  const rows = await w.db.execute<{ id: string }>(sql`
    select distinct d.channel_id as id from deliveries d where d.state = 'scheduled' and d.ready_at <= now()
    except select d.channel_id from deliveries d
    join graphile_worker.jobs j on j.key = d.id::text where j.locked_by is null and d.state = 'scheduled'`)
  return [...rows].map(({ id }) => id)
}
