import { expect, test } from 'vitest'
import { onStage } from './stage.ts'
import { told, walkAll } from './walk.ts'

// Two deliveries of the same text, and nobody knows what became of the first: what the network shows may be either's. `npm run
// test:model` walks it until nothing is left; among the other tests it goes as far as exhaustive.test.ts.

const Shallow = 2000
const TransitionsAtMost = Number(process.env.WALK_TRANSITIONS ?? Shallow)
const Hour = 60 * 60_000

// With what a network refuses or postpones, a send begun too late, and a reading that fails or can never know, the walk comes to
// no end in an hour: exhaustive.test.ts and random.test.ts take those.
const without = [
  'is refused',
  'is unauthorised',
  'is told to wait',
  'is limited',
  'is too late',
  'cannot read',
  'can never know',
]

test('readable, a sibling of the same text, the first not known of: whatever happens, what must hold holds', {
  timeout: Hour,
}, async () => {
  await onStage({ kind: 'readable', channels: 1, deliveries: 2 }, async (stage) => {
    const after = ['0 claims on 0', '0 intends', '0 sends', '0 knows nothing']
    const walked = await walkAll(
      stage,
      { workers: 1, deaths: 0, deeds: 0, days: false, after, without },
      TransitionsAtMost,
    )
    process.stdout.write(`a sibling of the same text: ${told(walked)}\n`)
    expect(walked.leftOut).toEqual(new Set(without)) // each of these is a step that there is
    expect(walked.isWhole || TransitionsAtMost === Shallow).toBe(true)
  })
})
