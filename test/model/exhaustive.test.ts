import { expect, test } from 'vitest'
import { kinds, onStage } from './stage.ts'
import { type Alphabet, type Walked, walkAll } from './walk.ts'

// How far it is walked is told in transitions, for the same walk on every machine; WALK_TRANSITIONS=… goes further.

const TransitionsAtMost = Number(process.env.WALK_TRANSITIONS ?? 3000)
const Minute = 60_000

const unknown = ['0 claims on 0', '0 intends', '0 sends', '0 knows nothing']

const alphabets: (Alphabet & { deliveries: number })[] = [
  { deliveries: 1, deaths: 0, deeds: 0, days: false },
  { deliveries: 2, deaths: 1, deeds: 0, days: false },
  { deliveries: 2, deaths: 1, deeds: 1, days: true },
  // What comes of a send of which nobody knows, further than a walk from the beginning gets.
  { deliveries: 1, deaths: 0, deeds: 1, days: false, after: unknown },
  {
    deliveries: 1,
    deaths: 0,
    deeds: 0,
    days: false,
    after: [...unknown, 'time passes', 'time passes', '0 looks for 0'],
  },
]

test.each(kinds.flatMap((kind) => alphabets.map((alphabet) => ({ kind, ...alphabet }))))(
  '$kind: two workers, one channel, $deliveries deliveries, deaths $deaths, deeds of people $deeds, after $after: whatever happens, what must hold holds',
  {
    timeout: 60 * Minute,
  },
  async ({ kind, deliveries, ...alphabet }) => {
    await onStage({ kind, channels: 1, deliveries }, async (stage) => {
      const walked = await walkAll(stage, alphabet, TransitionsAtMost)
      process.stdout.write(`${kind}, ${deliveries} deliveries, ${JSON.stringify(alphabet)}: ${told(walked)}\n`)
      expect(walked.states).toBeGreaterThan(20)
    })
  },
)

function told({ states, transitions, depth, isWhole }: Walked): string {
  return `${states} states, ${transitions} transitions, ${depth} steps deep, ${isWhole ? 'nothing left' : 'more was left'}`
}
