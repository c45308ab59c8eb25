import { expect, test } from 'vitest'
import { type Kind, kinds, onStage } from './stage.ts'
import { type Alphabet, told, walkAll } from './walk.ts'

// The limit counts transitions, so the walk is the same on every machine. WALK_TRANSITIONS=… goes further.

const TransitionsAtMost = Number(process.env.WALK_TRANSITIONS ?? 2000)
const Minute = 60_000

const unknown = ['0 claims on 0', '0 intends', '0 sends', '0 knows nothing']

// The first delivery is in review because its account cannot be read; then the channel loses its access.
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
  { name: 'two deliveries, a death, an action and days', deliveries: 2, deaths: 1, deeds: 1, days: true },
  // Every delivery has the same text, so what the network shows for one could belong to another.
  { name: 'two deliveries, the first uncertain', deliveries: 2, deaths: 0, deeds: 0, days: false, after: unknown },
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
    name: 'four deliveries, three uncertain',
    deliveries: 4,
    deaths: 0,
    deeds: 0,
    days: false,
    after: [...unknown, ...unknown, ...unknown],
  },
  {
    name: 'two uncertain deliveries and an action',
    deliveries: 2,
    deaths: 0,
    deeds: 1,
    days: false,
    after: [...unknown, ...unknown],
  },
  {
    name: 'one in review, and an action',
    deliveries: 2,
    deaths: 1,
    deeds: 1,
    days: false,
    kinds: ['readable'],
    after: lost,
  },
  // The states after a send with an unknown outcome, further than a walk from the start gets.
  { name: 'an action after an uncertain send', deliveries: 1, deaths: 0, deeds: 1, days: false, after: unknown },
  {
    name: 'a look for an uncertain send',
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

// Side by side: while one waits for its database, another goes on.
test.concurrent.each(walks)(
  '$kind, one channel, $name: every reachable state keeps the invariants',
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
