import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Figure, quantile } from './figures.ts'
import { bareLateness } from './floors/queue.ts'
import { type Published, publish } from './publishing.ts'
import type { Settings } from './run.ts'
import type { Site, Stage } from './stage.ts'

const Workers = 2
const PollMs = 1000 // jobs/worker/worker.ts

/** Part a: how late posts at random instants go out while nothing else happens, at the send and as recorded. */
export async function lateness(stage: Stage, { runs, idlePosts: count, say }: Settings): Promise<Figure[]> {
  const sent: number[][] = []
  const recorded: number[][] = []
  const bare: number[][] = []
  const spreadMs = count * 100
  for (let run = 1; run <= runs; run++) {
    const wanted = { count, spreadMs, atRandom: true, workers: Workers, delayMs: 0, record: recordOf }
    const late = await publish(stage, wanted, lateOf)
    sent.push(late.sent)
    recorded.push(late.recorded)
    say(`a ${run}: sent p99 ${quantile(late.sent, 0.99).toFixed(1)} ms late`)
    bare.push(await bareLateness(stage, count, spreadMs))
    say(`a ${run}: bare graphile-worker p99 ${quantile(bare.at(-1)!, 0.99).toFixed(1)} ms late`)
  }
  const at = (all: number[][], q: number) => all.map((late) => quantile(late, q))
  const quantiles = [0.5, 0.95, 0.99]
  return [
    ...quantiles.map((q): Figure => {
      const beside = { name: 'bare graphile-worker, pollInterval 100', runs: at(bare, q) }
      const figure = { part: 'a', name: `${count} at random, ${Workers} workers, sent late: p${q * 100}`, unit: 'ms' }
      return { ...figure, runs: at(sent, q), beside, ...(q === 0.99 ? { goal: { of: 'figure', atMost: 25 } } : {}) }
    }),
    ...quantiles.map(
      (q): Figure => ({
        ...{ part: 'a', name: `recorded as published: p${q * 100}`, unit: 'ms', runs: at(recorded, q) },
        beside: { name: 'poll interval', runs: [PollMs] },
      }),
    ),
  ]
}

function recordOf(worker: number, site: Site): string {
  return join(site.dataDir, `sends-${worker}.json`)
}

function lateOf(published: Published[], site: Site): { sent: number[]; recorded: number[] } {
  const workers = Array.from({ length: Workers }, (_, worker) => recordOf(worker, site))
  const sends = new Map<string, number>(workers.flatMap((file) => JSON.parse(readFileSync(file, 'utf8'))))
  return {
    sent: published.map(({ publishKey, dueAt }) => sends.get(publishKey)! - dueAt),
    recorded: published.map(({ recordedAt, dueAt }) => recordedAt - dueAt),
  }
}
