import { eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { aDelivery, someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { type Answer, type Behaviour, type Kind, kinds, type Received } from '../../stand-ins/fake-network.ts'
import { attemptsOf, deliveryOf, untilPublished, untilState } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { endOf, ownWorld, untilEnded } from '../play.ts'

const Hour = 3_600_000
const answers: Record<string, (answer: Answer) => void> = {
  'answers 500': ({ reply }) => reply(500, 'oops'),
  'answers 502': ({ reply }) => reply(502, 'oops'),
  'answers 503': ({ reply }) => reply(503, 'oops'),
  'answers 504': ({ reply }) => reply(504, 'oops'),
  'resets the connection': ({ reset }) => reset(),
  'drips its answer': ({ drip }) => drip(),
  'answers 200 without JSON': ({ reply }) => reply(200, 'thanks'),
  'answers 200 without an id': ({ reply }) => reply(200, {}),
}

describe.concurrent('what a network does', () => {
  for (const isShown of [true, false])
    test(`an unknown outcome, the post ${isShown ? '' : 'not '}there: each kind finds out, none counts as failed, nothing is sent again blindly`, async (context) => {
      const w = await ownWorld(context)
      const seen = new Set<string>()
      w.fake.behave = (request, answer) => {
        const isFirst = !seen.has(request.key)
        seen.add(request.key)
        if (isFirst && isShown) answer.show()
        if (isFirst) answers[request.text]!(answer)
        else answer.reply(200, { id: answer.show() })
      }
      const cases = Object.keys(answers).flatMap((text) => kinds.map((kind) => ({ text, kind })))
      const wanted = await Promise.all(
        cases.map(async ({ text, kind }) => ({
          organisationId: w.organisationId,
          channelId: await w.channel(kind),
          dueAt: new Date(),
          text,
        })),
      )
      const ids = await someDeliveries(w.db, wanted)
      // Few sends at once: each must reach the network in time, even on a busy machine.
      await w.worker({ timesFactor: 0.2, env: { WORKER_CONCURRENCY: '16' } })
      await untilEnded(w, ids)
      const once = { state: 'published', evidence: 'answered', sent: 2, out: 1 }
      const found = { state: 'published', evidence: 'found', sent: 1, out: 1 }
      const asked = { state: 'needs_review', evidence: null, sent: 1, out: isShown ? 1 : 0 }
      const ends: Record<Kind, object> = isShown
        ? { keyed: once, 'two-step': found, readable: found, blind: asked }
        : { keyed: once, 'two-step': once, readable: once, blind: asked }
      for (const [i, { text, kind }] of cases.entries()) {
        expect({ text, kind, ...(await endOf(w, ids[i]!)) }).toEqual({ text, kind, ...ends[kind] })
        expect((await attemptsOf(w.db, ids[i]!)).map(({ outcome }) => outcome)).toContain('unknown')
      }
      await assertInvariants(w)
    })

  const waits: Record<string, [headers: () => Record<string, string>, atLeastMs: number, atMostMs: number]> = {
    'in seconds': [() => ({ 'retry-after': '2' }), 2000, 60_000],
    'as a date': [() => ({ 'retry-after': new Date(Date.now() + 4000).toUTCString() }), 2500, 60_000],
    'not at all': [() => ({}), 2400, 60_000], // the first step of the backoff: 30 s ± 20 %, at a tenth
    absurdly: [() => ({ 'retry-after': '999999999999' }), 6 * Hour, 6 * Hour + 60_000],
    'in the past': [() => ({ 'retry-after': new Date(Date.now() - Hour).toUTCString() }), 2400, 60_000],
  }
  test('429: the channel pauses for the time that the network asks for, at most 6 h; other channels go on, and no backoff step is used', async (context) => {
    const w = await ownWorld(context)
    const told = new Map<string, Date>()
    w.fake.behave = ({ text, account }: Received, { show, reply }) => {
      const headers = waits[text]?.[0]
      if (!headers || told.has(account)) return reply(200, { id: show() })
      told.set(account, new Date())
      reply(429, 'slower', headers())
    }
    const of = async (text: string, channelId: string) =>
      aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date(), text })
    const limited = await Promise.all(
      Object.keys(waits).map(async (text) => {
        const channelId = await w.channel('readable')
        const id = await of(text, channelId)
        return { text, channelId, id, behind: await of('behind', channelId) }
      }),
    )
    await Promise.all([w.worker(), w.worker()])
    await until(() => told.size === limited.length)
    const free = await of('another channel', await w.channel('readable'))
    await untilState(w.db, free, 'published')
    for (const { text, channelId, id, behind } of limited) {
      const [, atLeastMs, atMostMs] = waits[text]!
      const paused = await until(
        async () => (await w.db.select().from(channels).where(eq(channels.id, channelId)))[0]!.pausedUntil,
      )
      const waitMs = paused.getTime() - told.get(channelId)!.getTime()
      expect(waitMs).toBeGreaterThanOrEqual(atLeastMs)
      expect(waitMs).toBeLessThanOrEqual(atMostMs)
      if (text !== 'absurdly') {
        await untilPublished(w.db, [id, behind])
        for (const { at } of w.fake.received.filter(({ account }) => account === channelId).slice(1))
          expect(at).toBeGreaterThanOrEqual(paused.getTime() - 2)
      }
      const others = (await attemptsOf(w.db, id)).filter(({ outcome, status }) => outcome === 'later' && status !== 429)
      expect((await deliveryOf(w.db, id)).backoffStep).toBeLessThanOrEqual(others.length) // a late byte takes a step
    }
    await assertInvariants(w)
  })

  test('a slow network delays no other network', async (context) => {
    const w = await ownWorld(context)
    const answers: (() => void)[] = []
    const atOnce: Behaviour = (_request, { show, reply }) => reply(200, { id: show() })
    w.fake.behave = (request, answer) =>
      request.network === 'other' ? void answers.push(() => atOnce(request, answer)) : atOnce(request, answer)
    await w.worker({ timesFactor: 1 })
    const some = async (network: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => ({
          organisationId: w.organisationId,
          channelId: await w.channel(network),
          dueAt: new Date(),
        })),
      )
    const slow = await someDeliveries(w.db, await some('other', 60))
    await until(() => answers.length >= 25) // the limit of running sends for one network
    const quick = await someDeliveries(w.db, await some('readable', 20))
    const from = Date.now()
    await untilPublished(w.db, quick)
    process.stdout.write(`20 posts beside a slow network: ${Date.now() - from} ms\n`)
    expect(w.fake.received.filter(({ network }) => network === 'other')).toHaveLength(25)
    w.fake.behave = atOnce
    for (const answer of answers) answer()
    await untilPublished(w.db, slow)
    await assertInvariants(w)
  })

  test('a network that refuses the connection while a post is prepared: the next attempt waits for the backoff', async (context) => {
    const w = await ownWorld(context)
    const { id } = await w.delivery('unprepared')
    await w.worker()
    await until(async () => (await attemptsOf(w.db, id)).filter(({ endedAt }) => endedAt).length >= 2)
    const [first, second] = (await attemptsOf(w.db, id)).map(({ startedAt }) => startedAt.getTime())
    expect(second! - first!).toBeGreaterThanOrEqual(2400) // 30 s ± 20 %, at a tenth
    expect(await deliveryOf(w.db, id)).toMatchObject({ error: { code: 'network_connect' } })
    await assertInvariants(w)
  })

  test('a network whose name DNS cannot resolve for two days: its post waits for the backoff, then fails with gave_up, and the posts behind it go on', async (context) => {
    const w = await ownWorld(context)
    const { id, channelId } = await w.delivery('nameless')
    await w.worker()
    const waiting = await until(async () => {
      const row = await deliveryOf(w.db, id)
      return row.state === 'scheduled' && row.backoffStep >= 2 && row
    })
    expect(waiting).toMatchObject({ maybeOut: false, error: { code: 'network_dns' } })
    const starts = (await attemptsOf(w.db, id)).map(({ startedAt }) => startedAt.getTime())
    expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(2400) // 30 s ± 20 %, at a tenth
    const next = await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date() })
    const [tried] = await until(async () => {
      const attempts = await attemptsOf(w.db, next)
      return attempts.length > 0 && attempts
    })
    expect(tried!.startedAt.getTime()).toBeLessThan(waiting.nextAttemptAt!.getTime())
    await w.db.update(deliveries).set({ dueAt: sql`now() - interval '2 days'` }).where(eq(deliveries.id, id))
    expect(await untilState(w.db, id, 'failed')).toMatchObject({ error: { code: 'gave_up' } })
    await assertInvariants(w)
  })
})
