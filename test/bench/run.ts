import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { Command } from 'commander'
import { type Figure, summaryOf, tableOf } from './figures.ts'
import { footprint } from './footprint.ts'
import { growth } from './growth.ts'
import { lateness } from './lateness.ts'
import { lists } from './lists.ts'
import { requests } from './requests.ts'
import { scaling } from './scaling.ts'
import { openStage, type Stage } from './stage.ts'
import { volume } from './volume.ts'

/** How much is measured, and where progress is told. */
export type Settings = {
  runs: number
  idlePosts: number
  deliveries: number
  sizes: number[] // posts scheduled
  listed: number // posts of one organisation
  loadMs: number
  restMs: number
  say: (line: string) => void
}

const whole = {
  runs: 3,
  idlePosts: 300,
  deliveries: 10_000,
  sizes: [10_000, 100_000, 1_000_000],
  listed: 100_000,
  loadMs: 5000,
  restMs: 20_000,
}
const less = {
  runs: 1,
  idlePosts: 50,
  deliveries: 2000,
  sizes: [1000, 10_000, 50_000],
  listed: 20_000,
  loadMs: 2000,
  restMs: 5000,
}

const parts: Record<string, (stage: Stage, settings: Settings) => Promise<Figure[]>> = {
  a: lateness,
  b: volume,
  c: growth,
  d: requests,
  e: footprint,
  f: scaling,
  g: lists,
}

const { only, json, quick } = new Command('bench')
  .option('--only <parts>', 'such as b,e', Object.keys(parts).join())
  .option('--json <file>', 'where to write the figures')
  .option('--quick', 'smaller numbers, one run')
  .parse()
  .opts<{ only: string; json?: string; quick?: true }>()

const wanted = only.split(',').map((part) => {
  const measure = parts[part]
  if (!measure) throw new Error(`There is no part ${part}; there are ${Object.keys(parts).join(', ')}.`)
  return measure
})
const load = loadavg()[0]?.toFixed(1)
const begun = performance.now()
const settings: Settings = {
  ...(quick ? less : whole),
  say: (line) => process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}\n`),
}

process.once('SIGTERM', () => process.exit(1)) // and what was started is stopped
const stage = await openStage()
const figures: Figure[] = []
try {
  for (const measure of wanted) figures.push(...(await measure(stage, settings)))
} finally {
  await stage.end()
}
if (json) writeFileSync(json, `${JSON.stringify(figures.map(summaryOf), null, 2)}\n`)
const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, load ${load} before, medians of ${settings.runs}`
process.stdout.write(`${machine}\n\n${tableOf(figures)}\n`)
