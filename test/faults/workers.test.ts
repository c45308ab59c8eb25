import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { someDeliveries } from '../builders.ts'
import { startWeb, until } from '../processes.ts'
import { attemptsOf, deliveryOf, statesOf, untilPublished, untilState, type World } from '../world.ts'
import { assertInvariants } from './invariants.ts'
import { ownWorld } from './play.ts'

const soon = (ms = 0) => new Date(Date.now() + ms)

/** Posts on `channels` channels of a network, in turn, all due at `dueAt`. */
async function many(
  w: World,
  count: number,
  { channels = count, network = 'keyed', dueAt = soon(), text = '' } = {},
): Promise<string[]> {
  const channelIds = await Promise.all(Array.from({ length: channels }, () => w.channel(network)))
  const { organisationId } = w
  const wanted = Array.from({ length: count }, (_, i) => ({
    organisationId,
    channelId: channelIds[i % channels]!,
    dueAt,
    text: text || `post ${i}`, // a reading finds a post by its text
  }))
  return someDeliveries(w.db, wanted)
}

/** Starts a worker, and another whenever it ends and its leases have expired, until `isOver`. Returns how often one
 * ended. */
async function keepOneRunning(w: World, isOver: () => Promise<boolean>): Promise<number> {
  let deaths = 0
  for (;;) {
    const worker = await w.worker({ mayEnd: true })
    let hasEnded = false
    void worker.ended.then(() => {
      hasEnded = true
    })
    await until(async () => hasEnded || (await isOver()), 240_000)
    if (!hasEnded) return deaths
    deaths++
    await until(async () => (await w.db.execute(sql`select from deliveries where lease_until > now()`)).length === 0)
  }
}

describe('1,000 posts at once', () => {
  for (const count of [1, 2, 8])
    test(`on ${count} workers go out once each, in the order of each channel`, {
      timeout: 300_000,
    }, async (context) => {
      const w = await ownWorld(context)
      await Promise.all(Array.from({ length: count }, () => w.worker()))
      const dueAt = soon(3000)
      const ids = await many(w, 1000, { channels: 50, network: 'readable', dueAt })
      await until(async () => (await statesOf(w.db, ids)).every((state) => state === 'published'), 240_000)
      process.stdout.write(
        `1,000 posts on ${count} workers: ${Math.max(...w.fake.received.map(({ endedAt }) => endedAt)) - dueAt.getTime()} ms\n`,
      )
      expect(w.fake.received).toHaveLength(1000)
      expect(new Set(w.fake.posts.map(({ key }) => key)).size).toBe(1000)
      await assertInvariants(w)
    })
})

describe.concurrent('faults of a worker', () => {
  for (const [text, state, code] of [
    ['kills', 'failed', 'crashed_worker'],
    ['kills sending', 'needs_review', 'crashed_worker'],
  ] as const)
    test(`a post that ${text} each time it is ${text === 'kills' ? 'prepared' : 'sent'} ends after 3 crashes, and 20 others beside it go out`, {
      timeout: 300_000,
    }, async (context) => {
      const w = await ownWorld(context)
      const [poison] = await many(w, 1, { text })
      const others = await many(w, 20)
      const deaths = await keepOneRunning(w, async () =>
        (await statesOf(w.db, [poison!, ...others])).every((one) =>
          ['published', 'failed', 'needs_review'].includes(one),
        ),
      )
      expect(deaths).toBe(3)
      expect(await deliveryOf(w.db, poison!)).toMatchObject({ state, error: { code } })
      expect(new Set(await statesOf(w.db, others))).toEqual(new Set(['published']))
      await assertInvariants(w)
    })

  test('SIGTERM with 20 sends under way: the worker claims no more, all 20 end, none is uncertain, and it exits with 0', async (context) => {
    const w = await ownWorld(context)
    const answers: (() => void)[] = []
    w.fake.behave = (_request, { show, reply }) => void answers.push(() => reply(200, { id: show() }))
    const worker = await w.worker({ timesFactor: 1 })
    const ids = await many(w, 60, { channels: 20, network: 'blind' })
    await until(() => answers.length >= 20)
    const stopped = worker.stop()
    await until(() => worker.log().includes('"worker stops"'))
    for (const answer of answers) answer()
    expect(await stopped).toBe(0)
    const states = await statesOf(w.db, ids)
    expect([
      states.filter((state) => state === 'published').length,
      states.filter((state) => state === 'scheduled').length,
    ]).toEqual([20, 40])
    expect(w.fake.received).toHaveLength(20)
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })

  test('a Ctrl-C that npm passes on too stops a worker once: the running send ends and is recorded, and it exits with 0', async (context) => {
    const w = await ownWorld(context)
    const answers: (() => void)[] = []
    w.fake.behave = (_request, { show, reply }) => void answers.push(() => reply(200, { id: show() }))
    const worker = await w.worker({ timesFactor: 1 })
    const ids = await many(w, 1, { network: 'blind' })
    await until(() => answers.length === 1)
    worker.kill('SIGINT')
    await until(() => worker.log().includes('"worker stops"'))
    worker.kill('SIGINT')
    for (const answer of answers) answer()
    expect(await worker.ended).toBe(0)
    expect(await statesOf(w.db, ids)).toEqual(['published'])
  })

  test('no worker for an hour: all due posts go out, oldest first, and web is ready and says since when nothing was published', async (context) => {
    const w = await ownWorld(context)
    const web = await startWeb(w.site)
    context.onTestFinished(async () => void (await web.stop()))
    const ready = async () => {
      const res = await fetch(`${w.site.appUrl}/readyz`)
      return [res.status, await res.text()]
    }
    expect(await ready()).toEqual([200, 'ready\n'])
    const channelId = await w.channel('readable')
    const wanted = [10, 50, 20, 60, 30].map((minutes) => ({
      organisationId: w.organisationId,
      channelId,
      dueAt: soon(-minutes * 60_000),
    }))
    const ids = await someDeliveries(w.db, wanted)
    const since = wanted[3]!.dueAt.toISOString()
    const standstill = `not publishing: posts due since ${since} have not gone out; workers alive: 0`
    expect(await ready()).toEqual([200, `ready\n${standstill}\n`])
    await w.worker()
    await untilPublished(w.db, ids)
    expect(w.fake.received.map(({ key }) => key)).toEqual([3, 1, 4, 2, 0].map((i) => ids[i]))
    expect(await ready()).toEqual([200, 'ready\n'])
    await assertInvariants(w)
  })

  test('preparing that hangs, throws or is refused: the channel goes on, and the post is tried later, fails after five attempts, or fails with the reason', async (context) => {
    const w = await ownWorld(context)
    const [hangs, throws, refused] = await Promise.all(
      ['hangs', 'throws', 'is refused'].map(async (text) => {
        const channelId = await w.channel('readable')
        const wanted = { organisationId: w.organisationId, channelId, dueAt: soon() }
        return someDeliveries(w.db, [
          { ...wanted, text },
          { ...wanted, text: 'behind' },
        ])
      }),
    )
    await w.worker({ timesFactor: 0.05 })
    await untilPublished(w.db, [hangs![1]!, throws![1]!, refused![1]!])
    expect(await untilState(w.db, refused![0]!, 'failed')).toMatchObject({
      error: { code: 'network_refused', message: 'This is too long.' },
    })
    expect(await untilState(w.db, throws![0]!, 'failed')).toMatchObject({ error: { code: 'internal' } })
    const outcomes = (await attemptsOf(w.db, throws![0]!)).map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome === 'internal')).toHaveLength(5)
    expect((await attemptsOf(w.db, hangs![0]!))[0]).toMatchObject({ outcome: 'later' })
    await assertInvariants(w)
  })
})

test('a worker understands wake-ups of an older version, which name no channel', async (context) => {
  const w = await ownWorld(context)
  const worker = await w.worker({ timesFactor: 1 }) // so that the reaper does not find them first
  const ids = await many(w, 3, { channels: 1, dueAt: soon(10_000) })
  const older = await w.db.execute(sql`
    update graphile_worker._private_jobs set payload = json_build_object('deliveryId', key)
    where key = any(${sql.param(ids)}::text[]) and locked_by is null returning key`)
  expect(older).toHaveLength(3)
  await untilPublished(w.db, ids)
  expect(worker.log()).not.toContain('lost its wake-up')
  await assertInvariants(w, { lostAfterMs: 60_000 })
})

test('clocks an hour ahead and an hour behind: nothing is early or late', async (context) => {
  const w = await ownWorld(context)
  await Promise.all([1, -1].map((hours) => w.worker({ node: ['--import', shifted(hours * 3_600_000)] })))
  const dueAt = soon(4000)
  const ids = await many(w, 40, { dueAt })
  await untilPublished(w.db, ids)
  for (const { at } of w.fake.received) expect(at - dueAt.getTime()).toBeLessThan(10_000)
  await assertInvariants(w) // checks that none is early
})

/** A module that makes the wall clock of a process wrong by `ms`; its monotonic clock stays right. */
function shifted(ms: number): string {
  return `data:text/javascript,${encodeURIComponent(`
    const Real = Date
    globalThis.Date = class extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() + ${ms}) : super(...given) }
      static now() { return Real.now() + ${ms} }
    }`)}`
}
