import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formOf } from './form.ts'
import { peopleSteps } from './people.ts'
import { kinds, onStage, type Stage } from './stage.ts'
import { engineSteps, rareSteps, type State, type Step } from './steps.ts'
import { comeToAnEnd, firstState, type Seen, take } from './walk.ts'

// To repeat a failure: PROPERTY_SEED=… with the number that the run printed. WALKS=… sets the number of walks.

const Seed = Number(process.env.PROPERTY_SEED ?? 20_260_801)
const Walks = Number(process.env.WALKS ?? 60)
const Minute = 60_000

test.each(kinds)(
  '%s: three workers, two channels and six deliveries: every random walk keeps the invariants',
  {
    timeout: 10 * Minute,
  },
  async (kind) => {
    process.stdout.write(`PROPERTY_SEED=${Seed}\n`)
    let steps = 0
    let walks = 0
    await onStage({ kind, channels: 2, deliveries: 3 }, async (stage) => {
      const first = await firstState(stage, 3)
      const walk = async (choices: number[]) => {
        let here: Seen = { state: first, form: formOf(stage, first), path: [] }
        for (const choice of choices) {
          here = await take(stage, here, chosen(stage, here.state, choice))
          steps++
        }
        await comeToAnEnd(stage, here, new Set())
        walks++
      }
      const choices = fc.array(fc.nat(999_999), { minLength: 20, maxLength: 120, size: 'max' })
      await fc.assert(fc.asyncProperty(choices, walk), { seed: Seed, numRuns: Walks })
    })
    process.stdout.write(`${kind}: ${steps} steps in ${walks} walks\n`)
    expect(walks).toBe(Walks)
  },
)

// Most steps belong to the engine. Otherwise people would undo everything before it is sent.
function chosen(stage: Stage, state: State, choice: number): Step {
  const kindOf = choice % 10
  const people = kindOf === 0 ? peopleSteps(stage, state) : []
  const steps = people.length > 0 ? people : kindOf === 1 ? rareSteps(stage, state) : engineSteps(stage, state)
  return steps[Math.floor(choice / 10) % steps.length]!
}
