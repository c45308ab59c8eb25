import { expect, test } from 'vitest'
import { onStage } from './stage.ts'
import { told, walkAll } from './walk.ts'

// Two deliveries with the same text, and the first is uncertain: what the network shows may belong to either. The walk
// goes on until nothing is left, which takes about 16,900 transitions.

const TransitionsAtMost = 100_000
const Hour = 60 * 60_000

// With these steps (a network that refuses or postpones, a send that begins too late, a reading that fails or can
// never know), the walk takes more than an hour. exhaustive.test.ts and random.test.ts cover them.
const without = [
  'is refused',
  'is unauthorised',
  'is told to wait',
  'is limited',
  'is too late',
  'cannot read',
  'can never know',
]

test('readable, a sibling with the same text, the first uncertain: every reachable state keeps the invariants', {
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
    expect(walked.leftOut).toEqual(new Set(without)) // each of these steps exists
    expect(walked.isWhole).toBe(true)
  })
})
