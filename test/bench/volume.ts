import type { Figure } from './figures.ts'
import { bareQueue } from './floors/queue.ts'
import { bareStatements } from './floors/statements.ts'
import { publish, secondsOf } from './publishing.ts'
import type { Settings } from './run.ts'
import type { Stage } from './stage.ts'

const Concurrency = 50
const DelayMs = 200
const SpreadMs = 1000

/** Part b: very many posts due within one second, on a network that answers at once and on one that takes 200 ms. */
export async function volume(stage: Stage, { runs, deliveries: count, say }: Settings): Promise<Figure[]> {
  const statements: number[] = []
  const queue: number[] = []
  const rates: number[] = []
  const slow: number[] = []
  for (let run = 1; run <= runs; run++) {
    statements.push(await bareStatements(stage, count))
    say(`b ${run}: bare statements ${statements.at(-1)?.toFixed(0)}/s`)
    queue.push(await bareQueue(stage, count))
    say(`b ${run}: bare graphile-worker ${queue.at(-1)?.toFixed(0)}/s`)
    rates.push(count / (await publish(stage, { count, spreadMs: SpreadMs, workers: 1, delayMs: 0 }, secondsOf)))
    say(`b ${run}: published ${rates.at(-1)?.toFixed(0)}/s`)
    slow.push(await publish(stage, { count, spreadMs: SpreadMs, workers: 1, delayMs: DelayMs }, secondsOf))
    say(`b ${run}: at 200 ms ${slow.at(-1)?.toFixed(1)} s`)
  }
  const ideal = [idealSeconds(count)]
  return [
    {
      ...{ part: 'b', name: `${count} due in a second, network without delay`, unit: 'per s', runs: rates },
      beside: { name: 'three bare statements', runs: statements },
      goal: { of: 'ratio', atLeast: 0.9 },
    },
    {
      ...{ part: 'b', name: 'the same', unit: 'per s', runs: rates },
      beside: { name: 'bare graphile-worker, no-op', runs: queue },
    },
    {
      ...{ part: 'b', name: 'network of 200 ms: until the last is out', unit: 's', runs: slow },
      beside: { name: `ideal for ${Concurrency} at once`, runs: ideal },
      goal: { of: 'ratio', atMost: 1.25 },
    },
  ]
}

function idealSeconds(count: number): number {
  return (SpreadMs + (count * DelayMs) / Concurrency) / 1000
}
