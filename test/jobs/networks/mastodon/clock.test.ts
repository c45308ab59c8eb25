import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Recorded } from '../../../../jobs/networks/network.ts'
import { networkClock } from '../../../../jobs/networks/network-clock.ts'
import { lost, type MastodonStand, reading, type Sought, stand } from './mastodon.stand.ts'

// Times of a network are compared only with other times of that network.

const Minute = 60_000
const Text = 'Is it out?'
const errors = [
  ['4 min behind', -4 * Minute],
  ['6 min behind', -6 * Minute],
  ['3 h behind', -180 * Minute],
  ['6 min ahead', 6 * Minute],
  ['3 h ahead', 180 * Minute],
] as const

let it: MastodonStand
beforeEach(async () => {
  it = await stand()
})
afterEach(() => it.close())

/** A status from `agoMs` ago, dated by the server's clock. */
function show(content: string, agoMs = 0) {
  const at = Date.now() - agoMs + it.server.aheadMs
  return it.server.show({ content, created_at: new Date(at).toISOString() })
}

/** Ten statuses posted by hand, and one recorded post of ours, which was sent and recorded `agoMs` ago. */
function history(agoMs: number): Pick<Sought, 'recorded'> {
  for (let n = 0; n < 10; n++) show(`By hand ${n}`, agoMs + Minute)
  const { id } = show('Ours before', agoMs)
  const at = new Date(Date.now() - agoMs)
  return { recorded: async () => new Map<string, Recorded>([[id, { sentAt: at, recordedAt: at }]]) }
}

/** Sets how wrong the clock was when the channel was connected. */
function connected(clockAheadMs: number): void {
  Object.assign(it.session.credential, { clockAheadMs })
}

describe.each(errors)('a server whose clock is %s', (_, aheadMs) => {
  beforeEach(() => {
    it.server.aheadMs = aheadMs
  })

  test('shows the first post of a channel, with the clock as it was at the connect', async () => {
    connected(aheadMs)
    const sought = lost(Text)
    expect(await reading(it, sought)).toBe('absent')
    const { id } = show(Text)
    expect(await reading(it, sought)).toBe(id)
  })

  test('shows a post behind recorded ones, whatever the clock was at the connect', async () => {
    connected(0)
    const sought = lost(Text, history(60 * Minute))
    expect(await reading(it, sought)).toBe('absent')
    const { id } = show(Text)
    expect(await reading(it, sought)).toBe(id)
  })

  test('an equal status older than a recorded post is not taken for the post', async () => {
    connected(aheadMs)
    show(Text, 60 * Minute)
    const sought = lost(Text, history(30 * Minute))
    expect(await reading(it, sought)).toBe('absent')
  })
})

describe('a clock that jumps between the send and the reading', () => {
  test.each([
    ['back to right', -180 * Minute, 0],
    ['back', 0, -180 * Minute],
    ['ahead', 0, 180 * Minute],
    ['back from ahead', 180 * Minute, 0],
  ])('%s: a post that is there is not called absent', async (_, whenSent, whenRead) => {
    it.server.aheadMs = whenSent
    connected(whenSent)
    const known = history(60 * Minute)
    const sought = lost(Text, known)
    const { id } = show(Text)
    it.server.aheadMs = whenRead
    expect([id, 'unclear']).toContain(await reading(it, sought))
    expect([id, 'unclear']).toContain(await reading(it, { ...sought, recorded: async () => new Map() }))
  })

  test('and jumps before the send, behind one that was recorded earlier: the reading is unclear', async () => {
    const known = history(60 * Minute)
    const sought = lost(Text, known)
    it.server.aheadMs = -180 * Minute
    show(Text)
    expect(await reading(it, sought)).toBe('unclear')
  })
})

describe('a clock that is set back by less than 5 minutes between two posts', () => {
  const Second = 1000

  /** One of our posts was sent `gapMs` ago and recorded; then the clock was ahead by `stepMs`. Now it is right. */
  function setBack(stepMs: number, gapMs: number): Pick<Sought, 'recorded'> {
    connected(0)
    it.server.aheadMs = stepMs
    const known = history(gapMs)
    it.server.aheadMs = 0
    return known
  }

  test.each([
    [2, 1],
    [90, 30],
    [240, 60],
    [290, 5],
    [60, 90],
  ])('by %d s, %d s after a recorded post: the next post is found', async (step, gap) => {
    const sought = lost(Text, setBack(step * Second, gap * Second))
    expect(await reading(it, sought)).toBe('absent')
    const { id } = show(Text)
    expect(await reading(it, sought)).toBe(id)
  })

  test('pages beyond one that ends with a recorded post are read', async () => {
    const known = setBack(200 * Second, 30 * Second)
    const sought = lost(Text, known)
    const { id } = show(Text)
    it.server.aheadMs = 200 * Second
    for (let n = 0; n < 39; n++) show(`By hand and newer ${n}`, 10 * Second)
    it.server.aheadMs = 0
    expect(await reading(it, sought)).toBe(id)
  })

  test('and is ahead again before the reading: the reading is unclear', async () => {
    const sought = lost(Text, setBack(90 * Second, 30 * Second))
    show(Text)
    it.server.aheadMs = 90 * Second
    expect(await reading(it, sought)).toBe('unclear')
  })

  test('a similar post is not called absent', async () => {
    const sought = lost('The shop opens at ten today', setBack(90 * Second, 30 * Second))
    show('The shop opens at ten today, says the shop')
    expect(await reading(it, sought)).toBe('unclear')
  })

  test('an equal text from before, behind a recorded post, is unclear', async () => {
    connected(0)
    show(Text, 2 * Minute)
    expect(await reading(it, lost(Text, history(Minute)))).toBe('unclear')
  })
})

describe('a clock that we know nothing about before the send', () => {
  const unknownBefore = () => {
    Reflect.deleteProperty(it.session.credential, 'clockAheadMs')
    for (let n = 0; n < 5000; n++) show(`By hand ${n}`, 60 * Minute)
  }

  test('makes the reading unclear, unless the whole account can be read', async () => {
    unknownBefore()
    expect(await reading(it, lost(Text))).toBe('unclear')
    it.server.statuses.length = 100
    expect(await reading(it, lost(Text))).toBe('absent')
  })

  test('does not matter when a post is recorded', async () => {
    unknownBefore()
    expect(await reading(it, lost(Text, history(Minute)))).toBe('absent')
  })
})

test('a proxy’s clock says nothing about the server’s clock: an equal text that looks older is unclear', async () => {
  connected(0)
  const at = new Date(Date.now() - 180 * Minute).toISOString()
  it.server.show({ content: Text, created_at: at })
  expect(await reading(it, lost(Text))).toBe('unclear')
})

test('on a server that never says its time, only a status dated between the send and now is surely newer', () => {
  const since = new Date()
  const after = (ms: number) => new Date(since.getTime() + ms)
  const clock = networkClock(since, null)
  clock.sawDate(null, after(5000))
  const isDoubtful = [-60_000, -5000, 1000, 4000, 60_000].map((ms) => clock.isDoubtful(after(ms)))
  expect(isDoubtful).toEqual([true, false, false, false, true])
})
