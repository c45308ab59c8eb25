import { expect, test } from 'vitest'
import { type Kind, kinds, onStage } from './stage.ts'
import { type Alphabet, told, walkAll } from './walk.ts'

// How far it is walked is told in transitions, for the same walk on every machine; WALK_TRANSITIONS=… goes further.

const TransitionsAtMost = Number(process.env.WALK_TRANSITIONS ?? 2000)
const Minute = 60_000

const unknown = ['0 claims on 0', '0 intends', '0 sends', '0 knows nothing']

// The first waits for a person since its account cannot be read, and then the channel has lost its access.
const lost = [
  ...unknown,
  'time passes',
  'time passes',
  '0 looks for 0',
  '0 can never know',
  '0 claims on 0',
  '0 is unauthorised',
]

const alphabets: (Alphabet & { name: string; deliveries: number; kinds?: Kind[] })[] = [
  { name: 'one delivery', deliveries: 1, deaths: 0, deeds: 0, days: false },
  { name: 'two deliveries and a death', deliveries: 2, deaths: 1, deeds: 0, days: false },
  { name: 'two deliveries, a death, a deed and days', deliveries: 2, deaths: 1, deeds: 1, days: true },
  // Every delivery has the same text: what the network shows of one could be another's.
  { name: 'two deliveries, the first not known of', deliveries: 2, deaths: 0, deeds: 0, days: false, after: unknown },
  {
    name: 'the same with one worker',
    workers: 1,
    deliveries: 2,
    deaths: 0,
    deeds: 0,
    days: false,
    after: unknown,
  },
  {
    name: 'four deliveries, three not known of',
    deliveries: 4,
    deaths: 0,
    deeds: 0,
    days: false,
    after: [...unknown, ...unknown, ...unknown],
  },
  {
    name: 'two deliveries not known of, and a deed',
    deliveries: 2,
    deaths: 0,
    deeds: 1,
    days: false,
    after: [...unknown, ...unknown],
  },
  {
    name: 'one that waits for a person, and a deed',
    deliveries: 2,
    deaths: 1,
    deeds: 1,
    days: false,
    kinds: ['readable'],
    after: lost,
  },
  // What comes of a send of which nobody knows, further than a walk from the beginning gets.
  { name: 'a deed after a send that is not known of', deliveries: 1, deaths: 0, deeds: 1, days: false, after: unknown },
  {
    name: 'a look for a send that is not known of',
    deliveries: 1,
    deaths: 0,
    deeds: 0,
    days: false,
    after: [...unknown, 'time passes', 'time passes', '0 looks for 0'],
  },
]

const walks = kinds.flatMap((kind) =>
  alphabets.filter((alphabet) => alphabet.kinds?.includes(kind) ?? true).map((alphabet) => ({ ...alphabet, kind })),
)

test.each(walks)(
  '$kind, one channel, $name: whatever happens, what must hold holds',
  {
    timeout: 60 * Minute,
  },
  async ({ kind, name, deliveries, ...alphabet }) => {
    await onStage({ kind, channels: 1, deliveries }, async (stage) => {
      const walked = await walkAll(stage, alphabet, TransitionsAtMost)
      process.stdout.write(`${kind}, ${name}: ${told(walked)}\n`)
      expect(walked.states).toBeGreaterThan(20)
    })
  },
)
