import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { isPastGrace } from '../../../jobs/monitoring/presence.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { type Answer, type Behaviour, kinds } from '../../stand-ins/fake-network.ts'
import { statesOf, untilPublished, untilState, type World } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { ownWorld, untilEnded } from '../play.ts'

const Second = 1000
const OnTimeMs = 3 * Second // for a worker that is otherwise idle, on a busy machine

/** Posts on one channel: the first is due now, each next one `everyMs` later. Each text is the post's position. */
async function inARow(w: World, network: string, count: number, everyMs: number) {
  const channelId = await w.channel(network)
  const from = Date.now()
  const wanted = Array.from({ length: count }, (_, i) => ({
    ...{ organisationId: w.organisationId, channelId, text: String(i) },
    dueAt: new Date(from + i * everyMs),
  }))
  return { channelId, wanted, ids: await someDeliveries(w.db, wanted) }
}

/** The first `count` posts of each channel have an unknown outcome at their first attempt; all others are published. */
function unknownAtFirst(count: number, lose: (answer: Answer) => void): Behaviour {
  const seen = new Set<string>()
  return ({ key, text }, answer) => {
    const isFirst = !seen.has(key)
    seen.add(key)
    if (isFirst && Number(text) < count) return lose(answer)
    answer.reply(200, { id: answer.show() })
  }
}

describe.concurrent('an unknown outcome at the head of a channel', () => {
  const losses: [what: string, lose: (answer: Answer) => void, takesMs: number][] = [
    ['is reset', ({ reset }) => reset(), 0],
    ['is never answered', () => {}, times.sendMs],
  ]
  for (const [what, lose, takesMs] of losses)
    test(`the ten posts behind one that ${what}, a second apart, are sent on time, counted from the end of that send`, {
      timeout: 300_000,
    }, async (context) => {
      const w = await ownWorld(context)
      w.fake.behave = unknownAtFirst(1, lose)
      await w.worker({ timesFactor: 1 })
      const rows = await Promise.all(kinds.map((kind) => inARow(w, kind, 11, Second)))
      await untilPublished(
        w.db,
        rows.flatMap(({ ids }) => ids.slice(1)),
      )
      for (const { channelId, wanted } of rows) {
        const received = w.fake.received.filter(({ account }) => account === channelId)
        const endOfFirst = received[0]!.at + takesMs
        for (const [i, { dueAt }] of wanted.entries()) {
          const { at } = received.find(({ text }) => text === String(i))!
          expect(at - Math.max(dueAt.getTime(), i > 0 ? endOfFirst : 0)).toBeLessThan(OnTimeMs)
        }
      }
      await assertInvariants(w, { lostAfterMs: 60_000 })
    })

  test('a channel waits while three of its outcomes are unknown, and goes on when one of them is known', async (context) => {
    const w = await ownWorld(context)
    w.fake.behave = unknownAtFirst(4, ({ reset }) => reset())
    await w.worker({ timesFactor: 0.3 })
    const { channelId, ids } = await inARow(w, 'readable', 6, 0)
    const ofChannel = () => w.fake.received.filter(({ account }) => account === channelId)
    const states = async () => (await statesOf(w.db, ids)).toSorted()
    await until(async () => (await states()).filter((state) => state === 'uncertain').length === 3)
    const { id: elsewhere } = await w.delivery('readable')
    await untilPublished(w.db, [elsewhere]) // the worker has free places
    expect(ofChannel()).toHaveLength(3)
    expect(await states()).toEqual([...Array(3).fill('scheduled'), ...Array(3).fill('uncertain')])
    await until(async () => {
      const uncertain = (await states()).filter((state) => state === 'uncertain').length
      expect(uncertain).toBeLessThanOrEqual(3)
      return ofChannel().length > 3
    })
    await untilEnded(w, ids)
    expect(await states()).toEqual(Array(6).fill('published'))
    await assertInvariants(w)
  })

  test('the post behind the send of a killed worker goes out when another worker takes that send over', {
    timeout: 300_000,
  }, async (context) => {
    const w = await ownWorld(context)
    w.fake.behave = unknownAtFirst(1, () => {})
    await until(async () => (await w.db.execute(sql`select where ${isPastGrace(times)}`)).length === 1)
    const other = await w.worker({ timesFactor: 1 })
    other.kill('SIGSTOP') // alive, but claims nothing yet
    const victim = await w.worker({ timesFactor: 1 })
    const { ids } = await inARow(w, 'readable', 2, 0)
    await until(() => w.fake.received.length === 1)
    victim.kill('SIGKILL')
    other.kill('SIGCONT')
    await untilState(w.db, ids[0]!, 'uncertain')
    const from = Date.now()
    await untilPublished(w.db, [ids[1]!])
    expect(Date.now() - from).toBeLessThan(OnTimeMs)
    expect(await statesOf(w.db, [ids[0]!])).toEqual(['uncertain'])
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })
})
