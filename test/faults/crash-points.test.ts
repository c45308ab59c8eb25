import { describe, expect, test } from 'vitest'
import type { Point } from '../../jobs/deps.ts'
import { type Started, until, type WorkerWay } from '../processes.ts'
import { type Kind, kinds } from '../stand-ins/fake-network.ts'
import type { World } from '../world.ts'
import { hold, makeHoldable, type Step } from './database/hold.ts'
import { assertInvariants } from './invariants.ts'
import { endOf, leasesOf, oneOfEach, ownWorld, untilEnded, untilFrozen, untilTakenUp } from './play.ts'

/** How a delivery ends: its state and evidence, how often it was sent, and how many posts are visible. */
type End = { state: string; evidence: string | null; sent: number; out: number }

type CrashPoint = {
  name: string
  /** Where the process kills itself. `sent`: the test kills it when the network has the post and has not answered. */
  at: Point | 'sent'
  /** A step that the test holds back until the process has ended, so that all kinds reach the same point. */
  hold?: Step
  becomes: Record<Kind, End>
  isFrozen?: true
  /** A first worker ends before the first byte of each, so there is something to take over and to look for. */
  isSecond?: true
}

const once: End = { state: 'published', evidence: 'answered', sent: 1, out: 1 }
const found: End = { ...once, evidence: 'found' }
const asked = (sent: number): End => ({ state: 'needs_review', evidence: null, sent, out: sent })
const all = { keyed: once, 'two-step': once, readable: once, blind: once }
const unsent = { ...all, blind: asked(0) }
const sent = { keyed: { ...once, sent: 2 }, 'two-step': found, readable: found, blind: asked(1) }

const crashPoints: CrashPoint[] = [
  { name: 'K2 woken, not claimed', at: 'woken', hold: 'scheduled>claimed', becomes: all },
  { name: 'K3 claimed, nothing prepared', at: 'claimed', hold: 'claimed>sending', becomes: all },
  { name: 'K3 claimed, its media uploaded', at: 'prepared', hold: 'claimed>sending', becomes: all },
  { name: 'K4 intended, no byte sent', at: 'intended', becomes: unsent },
  { name: 'K5 sent, no answer', at: 'sent', becomes: sent },
  { name: 'K6 answered, not recorded', at: 'answered', hold: 'sending>published', becomes: sent },
  { name: 'K7 recorded, its job not deleted', at: 'settled', becomes: all },
  {
    name: 'K8 frozen before the first byte, resumed after the takeover',
    at: 'intended',
    becomes: unsent,
    isFrozen: true,
  },
  { name: 'K9 a worker, while it takes over', at: 'reaping', becomes: unsent, isSecond: true },
  { name: 'K9 a worker, while it looks for a post', at: 'looking', hold: 'looked', becomes: unsent, isSecond: true },
]

// At these points a send has the time limits of production. On a slow machine, a tenth is over before all kinds are
// there.
const atSends = new Set<CrashPoint['at']>(['intended', 'sent', 'answered'])

const TakenUpWithinMs = 30_000 // ten times the 3 s for a killed process
const TakenUpFromFrozenWithinMs = 35_000 // ten times the 35 s for a frozen process, at a tenth of the times

for (const workers of [1, 2] as const)
  describe.concurrent(`${workers === 1 ? 'one worker that is restarted' : 'two workers, one of which fails'}: nothing is lost and nothing is sent twice`, () => {
    for (const point of crashPoints)
      test(point.name, async (context) => {
        const w = await ownWorld(context)
        await makeHoldable(w.db)
        const other = workers === 2 ? await w.worker() : null
        other?.kill('SIGSTOP') // alive, but claims nothing yet
        const { ids, victim } = await crash(w, point)
        w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
        await goOn(w, other, point.isFrozen ? victim : null)
        await untilEnded(w, Object.values(ids))
        for (const kind of kinds)
          expect({ kind, ...(await endOf(w, ids[kind])) }).toEqual({ kind, ...point.becomes[kind] })
        await assertInvariants(w)
      })
  })

/** Brings a delivery of each kind to the point, and lets their worker end or freeze there. */
async function crash(w: World, point: CrashPoint): Promise<{ ids: Record<Kind, string>; victim: Started }> {
  const nth = kinds.length
  const first = point.isSecond ? await w.worker(wayOf({ at: 'intended' }, nth)) : null
  const before = first && (await oneOfEach(w))
  await first?.ended
  const held = point.hold ? await hold(w.site.databaseUrl, point.hold) : null
  if (point.at === 'sent') w.fake.behave = (_request, { show }) => void show()
  const victim = await w.worker(wayOf(point, nth))
  const ids = before ?? (await oneOfEach(w))
  if (point.at === 'sent') {
    await until(() => w.fake.posts.length >= kinds.length)
    victim.kill('SIGKILL')
  }
  await (point.isFrozen ? untilFrozen(victim.pid) : victim.ended)
  await held?.release()
  return { ids, victim }
}

function wayOf({ at, isFrozen }: Pick<CrashPoint, 'at' | 'isFrozen'>, nth: number): WorkerWay {
  const way = { timesFactor: isFrozen || !atSends.has(at) ? 0.1 : 1 }
  if (at === 'sent') return way
  return { ...way, dieAt: { point: at, nth: at === 'reaping' ? 1 : nth, signal: isFrozen ? 'SIGSTOP' : 'SIGKILL' } }
}

/** Lets a worker take over what was left: the other one, a new one, or the frozen one itself when it resumes. */
async function goOn(w: World, other: Started | null, frozen: Started | null): Promise<void> {
  const left = await leasesOf(w.db)
  other?.kill('SIGCONT')
  if (!other && !frozen) await w.worker()
  if (frozen && !other) await until(async () => (await leasesOf(w.db)).every(({ isOver }) => isOver))
  if (!frozen || other) await untilTakenUp(w.db, left, frozen ? TakenUpFromFrozenWithinMs : TakenUpWithinMs)
  if (!frozen) return
  frozen.kill('SIGCONT')
  await until(() => frozen.log().split('"attempt ended"').length > kinds.length) // it has tried each of them
}
