import type { Figure } from './figures.ts'
import { publish, secondsOf } from './publishing.ts'
import type { Settings } from './run.ts'
import type { Stage } from './stage.ts'

const Workers = [1, 2, 4]
const DelayMs = 200

/** Part f: how much sooner more workers publish the same posts, on a network that takes 200 ms. */
export async function scaling(stage: Stage, { runs, deliveries: count, say }: Settings): Promise<Figure[]> {
  const rates = Workers.map((): number[] => [])
  for (let run = 1; run <= runs; run++)
    for (const [i, workers] of Workers.entries()) {
      const seconds = await publish(stage, { count, spreadMs: 1000, workers, delayMs: DelayMs }, secondsOf)
      rates[i]!.push(count / seconds)
      say(`f ${run}: ${workers} workers ${(count / seconds).toFixed(0)}/s`)
    }
  return rates.map((runs, i): Figure => {
    const workers = Workers[i]!
    const name = `${count} due in a second, network of 200 ms, ${workers} worker${workers > 1 ? 's' : ''}`
    const figure = { part: 'f', name, unit: 'per s', runs }
    if (workers === 1) return figure
    const beside = { name: '1 worker', runs: rates[0]! }
    return { ...figure, beside, ...(workers === 2 ? { goal: { of: 'ratio', atLeast: 1.8 } } : {}) }
  })
}
