import { writeFileSync } from 'node:fs'
import { readEnv } from '../../db/env.ts'
import { failStart, run } from '../../jobs/index.ts'
import { benchNetwork, networkNames } from './networks.ts'

// A worker as production runs it, but for its networks. `record`: a file for the instant of each send.
const { delayMs, record } = JSON.parse(process.argv[2] ?? '{}') as { delayMs: number; record: string | null }

const sends: [publishKey: string, atMs: number][] = []
const note = (publishKey: string) => void sends.push([publishKey, performance.timeOrigin + performance.now()])

// Only at the end: writing meanwhile would be part of what is measured.
process.on('exit', () => record && writeFileSync(record, JSON.stringify(sends)))

run({
  env: readEnv(),
  networks: () =>
    Object.fromEntries(networkNames.map((name) => [name, benchNetwork(name, delayMs, record ? note : () => {})])),
}).catch(failStart)
