import { UnclearCode } from '../../jobs/delivery-errors.ts'
import { claimHeads, putAside } from '../../jobs/ledger/claim.ts'
import { type ClaimedDelivery, intend, releaseClaims, renewLeases } from '../../jobs/ledger/ledger.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { fail, hold, markUncertain, postpone, recordPublished } from '../../jobs/ledger/settle.ts'
import { registerWorker } from '../../jobs/monitoring/presence.ts'
import { type Finding, recordFinding, type SoughtDelivery } from '../../jobs/publish/findings.ts'
import { beginSomeLooks } from '../../jobs/publish/looks.ts'
import { reap } from '../../jobs/publish/reaper.ts'
import type { Row, Rows } from './rows.ts'
import { type Stage, times, Unit } from './stage.ts'
import {
  Broken,
  checkOrder,
  checkSend,
  type Flight,
  isTaken,
  msOf,
  remoteIdOf,
  type Truth,
  unrecorded,
} from './truth.ts'

// Every single step that workers, the network and time can take. Each runs the product's own statements.

/** What a worker keeps in memory: its claim, the phase of it, and its current reading. */
export type Mind = { owner: string; isAlive: boolean; work: Work | null; look: Look | null }
export type Work = {
  claimed: ClaimedDelivery
  phase: 'claimed' | 'lost' | 'intended' | 'sent'
  bytes: string
  canBegin: boolean // its deadline for the first byte has not passed
  flight: number // its index in the flights
}
export type Look = { looking: SoughtDelivery; wasShown: number[] } // the flights shown when the look began

export type State = { rows: Rows; shown: Post[]; minds: Mind[]; truth: Truth; deaths: number; deeds: number }

/** `by` a person: the engine may not need this step to keep its promises. */
export type Step = { name: string; by: 'engine' | 'person'; leavesRows?: true; run: (state: State) => Promise<void> }

const unknown = { code: 'outcome_unknown', message: '', nextStep: '' }

/** Every step of workers, network and time that `state` allows. */
export function engineSteps(stage: Stage, state: State): Step[] {
  const { minds, truth } = state
  const steps = minds.flatMap((mind, w) => {
    if (minds.findIndex((other) => isAlike(mind, other)) < w) return [] // its steps are the same as the other's
    return mind.isAlive ? mindSteps(stage, state, w) : [restart(stage, w)]
  })
  if (minds.some(({ isAlive }) => isAlive) && isAnythingLeft(stage, state)) steps.push(reaping(stage))
  for (const [i, { fate }] of truth.flights.entries())
    if (fate === 'flying')
      steps.push({ ...engine(`the network shows ${i}`, async (next) => setShown(next, i)), leavesRows: true })
  steps.push(passing(stage, 'time passes', Unit))
  return steps
}

const isIdle = ({ work, look }: Mind) => !work && !look
const isAlike = (one: Mind, other: Mind) =>
  one === other || (isIdle(one) && isIdle(other) && one.isAlive === other.isAlive)

// Without these, a reaper only wakes channels.
function isAnythingLeft({ nowMs }: Stage, { rows, minds }: State): boolean {
  const isDead = (owner: unknown) => !minds.some((mind) => mind.isAlive && mind.owner === owner)
  return (
    rows.workers.some(({ owner }) => isDead(owner)) ||
    rows.deliveries.some(({ lease_until }) => lease_until !== null && msOf(lease_until) < nowMs) ||
    rows.channels.some(({ status, credential }) => status === 'disconnected' && credential !== null)
  )
}

function setShown({ truth }: State, i: number): void {
  truth.flights[i]!.fate = 'shown'
}

const engine = (name: string, run: Step['run']): Step => ({ name, by: 'engine', run })

function mindSteps(stage: Stage, state: State, w: number): Step[] {
  const { work, look } = state.minds[w]!
  const steps = [
    ...(work ? workSteps(stage, state, w, work) : claims(stage, state, w)),
    ...(look ? lookSteps(stage, state, w, look) : looks(stage, state, w)),
  ]
  if (work || look) steps.push(death(w))
  return steps
}

function claims(stage: Stage, { rows }: State, w: number): Step[] {
  const { nowMs, channelIds, tx } = stage
  const ready = rows.deliveries.filter(({ state, ready_at }) => state === 'scheduled' && msOf(ready_at) <= nowMs)
  return channelIds
    .filter((id) => ready.some(({ channel_id }) => channel_id === id))
    .map((id) =>
      engine(`${w} claims on ${channelIds.indexOf(id)}`, async (next) => {
        const mind = next.minds[w]!
        const claim = (await claimHeads(tx, times, mind.owner, [id])).get(id)!
        if (typeof claim !== 'object') return checkNothingWaits(stage, next.rows, id)
        if ('lateOn' in claim) return putAside(tx, times, claim.lateOn)
        checkOrder(nowMs, next.rows, claim.id)
        const fresh = JSON.stringify({ text: claim.text, by: claim.leaseToken })
        const bytes = claim.maybeOut && claim.prepared ? claim.prepared : fresh // as jobs/publish/publish.ts does
        mind.work = { claimed: claim, phase: 'claimed', bytes, canBegin: false, flight: -1 }
      }),
    )
}

// I4: a channel leaves a due delivery only for a running one, three unknown outcomes, a pause or a suspect elsewhere.
function checkNothingWaits({ nowMs }: Stage, rows: Rows, id: string): void {
  const channel = rows.channels.find((row) => row.id === id)!
  const isPaused = channel.paused_at !== null || (channel.paused_until !== null && msOf(channel.paused_until) > nowMs)
  const isSuspect = rows.deliveries.some(({ crash_count }) => (crash_count as number) > 0)
  if (channel.status === 'active' && !isPaused && !isSuspect && !isTaken(rows, id))
    throw new Broken('I4: what is due waits, and nothing is in its way')
}

function workSteps(stage: Stage, state: State, w: number, work: Work): Step[] {
  const { tx } = stage
  const { claimed, phase } = work
  const ended = (name: string, run: (next: State) => Promise<void>) =>
    engine(`${w} ${name}`, async (next) => {
      await run(next)
      next.minds[w]!.work = null
    })
  const refused = [
    ended('is refused', () => fail(tx, claimed, unknown, { outcome: 'refused' })),
    ended('is unauthorised', () => hold(tx, claimed, unknown, { outcome: 'reconnect' })),
    ended('is told to wait', () => postpone(tx, times, claimed, waiting, { outcome: 'later' })),
  ]
  if (phase === 'claimed') return [intention(stage, w), ...refused]
  if (phase === 'lost')
    return [ended('gives up', () => postpone(tx, times, claimed, { ...waiting, waitMs: 0 }, { outcome: 'lost' }))]
  if (phase === 'intended')
    return [
      ...(work.canBegin ? [sending(stage, w)] : []),
      ended('is too late', () => postpone(tx, times, claimed, waiting, { outcome: 'later' })),
    ]
  const flight = state.truth.flights[work.flight]!
  const steps = [
    ended('knows nothing', () => markUncertain(tx, claimed, lookAfterMs(stage), unknown, { outcome: 'unknown' })),
  ]
  if (flight.fate !== 'lost')
    steps.push(
      ended('is answered', async (next) => {
        next.truth.flights[work.flight]!.fate = 'shown'
        await recordPublished(tx, [{ ...claimed, publication: publicationOf(flight), evidence: 'answered' }])
      }),
    )
  if (flight.fate === 'flying')
    for (const step of [
      ...refused,
      ended('is limited', () => postpone(tx, times, claimed, limited, { outcome: 'later' })),
    ])
      steps.push({ ...step, run: (next) => unsent(next, work.flight).then(() => step.run(next)) })
  return steps
}

const unclear = { ...unknown, code: UnclearCode }
const waiting = { waitMs: Unit, countsAsStep: true, pausesChannel: false, error: unknown }
const limited = { waitMs: Unit, countsAsStep: false, pausesChannel: true, error: unknown }

// The network itself said that it did not accept the post.
async function unsent(next: State, flight: number): Promise<void> {
  next.truth.flights[flight] = { ...next.truth.flights[flight]!, fate: 'lost', isExcused: true }
}

function intention({ tx }: Stage, w: number): Step {
  return engine(`${w} intends`, async (next) => {
    const work = next.minds[w]!.work!
    const [isIntended] = await intend(tx, times, [{ delivery: work.claimed, prepared: work.bytes }])
    work.phase = isIntended ? 'intended' : 'lost'
    work.canBegin = isIntended!
  })
}

function sending(stage: Stage, w: number): Step {
  const step = engine(`${w} sends`, async (next) => {
    const work = next.minds[w]!.work!
    const { id } = work.claimed
    checkSend(stage, next.truth, next.rows, id, work.bytes)
    const until = stage.nowMs + times.sendMs + times.settlesWithinMs
    const no = next.truth.flights.filter(({ deliveryId }) => deliveryId === id).length
    work.flight =
      next.truth.flights.push({ deliveryId: id, no, bytes: work.bytes, fate: 'flying', until, isExcused: false }) - 1
    work.phase = 'sent'
  })
  return { ...step, leavesRows: true }
}

const lookAfterMs = ({ kind }: Stage) => (kind === 'blind' ? 0 : times.sendMs + times.firstLookMs) // as in publish.ts

const publicationOf = (flight: Flight) => ({ remoteId: remoteIdOf(flight), url: null })

function looks(stage: Stage, { rows }: State, w: number): Step[] {
  const open = rows.deliveries.filter((row) => isSought(row) && msOf(row.look_at) <= stage.nowMs)
  return open.map((row) =>
    engine(`${w} looks for ${stage.deliveryIds.indexOf(row.id as string)}`, async (next) => {
      const mind = next.minds[w]!
      const id = row.id as string
      const looking = (await beginSomeLooks(stage.depsOf(mind.owner), [id])).get(id)
      if (typeof looking === 'object') mind.look = { looking, wasShown: likeOurs(next, looking) }
    }),
  )
}

/** The outcome is unknown, or we look once more after the channel was reconnected. */
export const isSought = ({ state, look_at }: Row): boolean =>
  state === 'uncertain' || (state === 'needs_review' && look_at !== null)

const likeOurs = ({ rows, truth }: State, { channelId, prepared }: SoughtDelivery): number[] =>
  unrecorded(truth, rows, channelId, prepared)

// A similar post may belong to another delivery of the channel: one that may be out, or one that a person resolved
// without its id at the network.
function hasUnrecordedSibling({ rows }: State, { id, channelId }: SoughtDelivery): boolean {
  const mayBeOut = ['sending', 'uncertain', 'needs_review', 'published', 'cancelled']
  return rows.deliveries.some(
    (row) =>
      row.id !== id &&
      row.channel_id === channelId &&
      row.first_sent_at !== null &&
      row.remote_id === null &&
      mayBeOut.includes(row.state as string),
  )
}

function lookSteps(stage: Stage, state: State, w: number, { looking, wasShown }: Look): Step[] {
  const finding = (name: string, found: Finding) =>
    engine(`${w} ${name}`, async (next) => {
      await recordFinding(stage.depsOf(next.minds[w]!.owner), looking, found)
      next.minds[w]!.look = null
    })
  if (stage.kind === 'keyed') return [finding('may repeat', { kind: 'repeat' })]
  const never = finding('can never know', { kind: 'unknowable', error: unknown })
  if (stage.kind === 'blind') return [never]
  const shown = likeOurs(state, looking)
  const steps = [never, finding('cannot read', { kind: 'unreadable', error: new Error('not now') })]
  if (hasUnrecordedSibling(state, looking)) {
    if (stage.kind === 'readable' && shown.length > 0)
      steps.push(finding('cannot tell it from another', { kind: 'unclear', error: unclear }))
  } else
    for (const i of shown) {
      const publication = publicationOf(state.truth.flights[i]!)
      steps.push(finding(`finds it as ${i}`, { kind: 'found', publication }))
    }
  if (!wasShown.some((i) => shown.includes(i))) steps.push(finding('does not find it', { kind: 'absent' }))
  return steps
}

function death(w: number): Step {
  const step = engine(`${w} dies`, async (next) => {
    Object.assign(next.minds[w]!, { isAlive: false, work: null, look: null })
    next.deaths++
  })
  return { ...step, leavesRows: true }
}

function restart(stage: Stage, w: number): Step {
  return engine(`${w} starts anew`, async (next) => {
    const [name, life] = next.minds[w]!.owner.split('.')
    Object.assign(next.minds[w]!, { isAlive: true, owner: `${name}.${Number(life) + 1}` })
    await stage.present(aliveIn(next))
    await registerWorker(stage.tx, next.minds[w]!.owner, 1)
  })
}

export const aliveIn = ({ minds }: State): string[] => minds.flatMap(({ isAlive, owner }) => (isAlive ? [owner] : []))

function reaping(stage: Stage): Step {
  return engine('a reaper passes', async () => void (await reap(stage.depsOf('a reaper'), stage.tx)))
}

/** Time passes: a flying send ends as lost, and a send that has not begun never begins. */
export function passing(stage: Stage, name: string, ms: number): Step {
  return engine(name, async ({ minds, truth }) => {
    await stage.pass(ms)
    for (const flight of truth.flights) {
      flight.until -= ms
      if (flight.fate === 'flying' && flight.until < stage.nowMs) flight.fate = 'lost'
    }
    for (const { work } of minds) if (work) work.canBegin = false
  })
}

/** Steps that change no more than time and death do. Only the random walks take them: heartbeats, a worker that stops,
 * a day. */
export function rareSteps(stage: Stage, { minds }: State): Step[] {
  const { tx } = stage
  const alive = minds.flatMap(({ isAlive, owner, work }, w) => (isAlive ? [{ owner, w, work }] : []))
  return [
    ...alive.map(({ owner, w, work }) =>
      engine(`${w} renews`, () => renewLeases(tx, times, owner, work ? [work.claimed.id] : [])),
    ),
    ...alive.map(({ owner, w }) => engine(`${w} releases`, async () => void (await releaseClaims(tx, owner)))),
    passing(stage, 'a day passes', times.giveUpMs + Unit),
  ]
}
