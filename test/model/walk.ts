import { registerWorker } from '../../jobs/monitoring/presence.ts'
import { formOf } from './form.ts'
import { peopleSteps } from './people.ts'
import { checkUpdated, readShown } from './shown.ts'
import { type Stage, times, Unit } from './stage.ts'
import { aliveIn, engineSteps, isSought, passing, type State, type Step } from './steps.ts'
import { Broken, checkState } from './truth.ts'

/**
 * What a walk may include, besides the steps of each worker. `after`: steps to take first. `without`: endings of the
 * names of steps to leave out.
 */
export type Alphabet = {
  deaths: number
  deeds: number
  days: boolean
  workers?: number
  after?: readonly string[]
  without?: readonly string[]
}

/** The result of a walk. `isWhole`: every state was looked at, except behind steps that end as in `leftOut`. */
export type Walked = { states: number; transitions: number; depth: number; isWhole: boolean; leftOut: Set<string> }

export type Seen = { state: State; form: string; path: string[] }

export async function firstState(stage: Stage, workers: number): Promise<State> {
  const minds = Array.from({ length: workers }, (_, w) => ({ owner: `${w}.0`, isAlive: true, work: null, look: null }))
  for (const { owner } of minds) await registerWorker(stage.tx, owner, 1)
  await stage.present(minds.map(({ owner }) => owner))
  const asked = Object.fromEntries(stage.deliveryIds.map((id) => [id, 'a']))
  return {
    rows: await stage.read(),
    shown: await readShown(stage),
    minds,
    truth: { flights: [], asked },
    deaths: 0,
    deeds: 0,
  }
}

/**
 * Walks all reachable states, nearest first, and takes each step from each, until none is left or `transitionsAtMost`
 * were taken. From each state the engine alone must come to an end. Throws with the steps that led to a broken
 * invariant.
 */
export async function walkAll(stage: Stage, alphabet: Alphabet, transitionsAtMost: number): Promise<Walked> {
  const first = await firstState(stage, alphabet.workers ?? 2)
  let start: Seen = { state: first, form: formOf(stage, first), path: [] }
  for (const name of alphabet.after ?? [])
    start = await take(stage, start, engineSteps(stage, start.state).find((step) => step.name === name)!)
  const seen = new Set([start.form])
  const safe = new Set<string>()
  const walked: Walked = { states: 1, transitions: 0, depth: 0, isWhole: true, leftOut: new Set() }
  for (let layer = [start]; layer.length > 0; ) {
    const next: Seen[] = []
    for (const from of layer) {
      if (walked.transitions >= transitionsAtMost) return { ...walked, isWhole: false }
      await comeToAnEnd(stage, from, safe)
      for (const step of stepsOf(stage, from.state, alphabet)) {
        const left = alphabet.without?.find((end) => step.name.endsWith(end))
        if (left) {
          walked.leftOut.add(left)
          continue
        }
        const to = await take(stage, from, step)
        walked.transitions++
        if (seen.has(to.form)) continue
        seen.add(to.form)
        walked.states++
        next.push(to)
      }
    }
    if (next.length > 0) walked.depth++
    layer = next
  }
  return walked
}

/** A summary of a walk in one line. */
export function told({ states, transitions, depth, isWhole }: Walked): string {
  return `${states} states, ${transitions} transitions, ${depth} steps deep, ${isWhole ? 'nothing left' : 'more was left'}`
}

function stepsOf(stage: Stage, state: State, { deaths, deeds, days }: Alphabet): Step[] {
  const steps = engineSteps(stage, state).filter(({ name }) => state.deaths < deaths || !name.endsWith('dies'))
  if (days) steps.push(passing(stage, 'a day passes', times.giveUpMs + Unit))
  return state.deeds < deeds ? [...steps, ...peopleSteps(stage, state)] : steps
}

/** The state after `step`, from any state of the stage. */
export async function take(stage: Stage, { state, path }: Pick<Seen, 'state' | 'path'>, step: Step): Promise<Seen> {
  if (!step.leavesRows) {
    await stage.put(state.rows)
    await stage.present(aliveIn(state))
  }
  const { rows, shown, ...rest } = state
  const next: State = { ...structuredClone(rest), rows, shown }
  const way = [...path, step.name]
  try {
    await step.run(next)
    if (!step.leavesRows) {
      next.rows = await stage.read()
      next.shown = await readShown(stage)
      checkUpdated(stage, state.shown, next.shown)
    }
    checkState(stage, next.truth, rows, next.rows)
  } catch (error) {
    throw new Broken(
      `${(error as Error).message}\n  after: ${way.join(', ')}\n${JSON.stringify(state.rows.deliveries, null, 1)}`,
      { cause: error },
    )
  }
  return { state: next, form: formOf(stage, next), path: way }
}

const StepsToAnEndAtMost = 400

/** Goes on as a working installation does, until only posts are left that wait for a person. `safe`: forms that are
 * known to end. */
export async function comeToAnEnd(stage: Stage, from: Seen, safe: Set<string>): Promise<Seen> {
  const forms: string[] = []
  let here = from
  while (!safe.has(here.form) && !isAtRest(here.state)) {
    if (forms.length > StepsToAnEndAtMost) throw new Broken(`It comes to no end\n  after: ${here.path.join(', ')}`)
    forms.push(here.form)
    here = await onward(stage, here)
  }
  for (const form of forms) safe.add(form)
  return here
}

const rank = [
  / finds it as/,
  /not find it/,
  /may repeat/,
  /never know/,
  /sends/,
  /answered/,
  /too late/,
  /gives up/,
  /knows nothing/,
  /intends/,
  /is refused/,
  /reaper/,
  /looks for/,
  /claims/,
  /starts anew/,
  /time passes/,
]

// The first step that changes anything, in the order of `rank`.
async function onward(stage: Stage, here: Seen): Promise<Seen> {
  const steps = engineSteps(stage, here.state)
  for (const wanted of rank)
    for (const step of steps.filter(({ name }) => wanted.test(name))) {
      const there = await take(stage, here, step)
      if (there.form !== here.form) return there
    }
  throw new Broken(`Nothing goes on\n  after: ${here.path.join(', ')}`)
}

const resting = ['published', 'failed', 'cancelled', 'held', 'needs_review', 'draft']

function isAtRest({ rows }: State): boolean {
  const isPaused = (id: unknown) => rows.channels.some((row) => row.id === id && row.paused_at !== null)
  return rows.deliveries.every(
    (row) =>
      (resting.includes(row.state as string) && !isSought(row)) ||
      (row.state === 'scheduled' && isPaused(row.channel_id)),
  )
}
