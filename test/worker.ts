import { readEnv } from '../db/env.ts'
import type { Point } from '../jobs/deps.ts'
import { failStart, run } from '../jobs/index.ts'
import { type Network, PublishError } from '../jobs/networks/network.ts'
import { networks as realNetworks } from '../jobs/networks/registry.ts'
import { scaledTimes } from '../jobs/timeouts-and-delays.ts'
import { type FakeNetwork, fakeNetwork } from './stand-ins/fake-network.ts'

/** Where a worker kills or freezes itself: the `nth` time that it reaches the point. */
export type DieAt = { point: Point; nth?: number; signal?: 'SIGKILL' | 'SIGSTOP' }

// A real worker process with fake networks beside the real ones, and scaled times. test/processes.ts starts it.
const { networks, timesFactor, dieAt } = JSON.parse(process.argv[2] ?? '{}') as {
  networks: FakeNetwork[]
  timesFactor: number
  dieAt?: DieAt
}
const reached = Promise.withResolvers<void>()
let seen = 0

run({
  env: readEnv(),
  times: scaledTimes(timesFactor),
  at,
  networks: (installed) => ({
    ...realNetworks(installed),
    ...Object.fromEntries(networks.map((network) => [network.name, acted(fakeNetwork(network))])),
  }),
}).catch(failStart)

function at(point: Point): void {
  if (point !== dieAt?.point || ++seen !== (dieAt.nth ?? 1)) return
  process.kill(process.pid, dieAt.signal ?? 'SIGKILL')
  reached.resolve()
}

function acted(network: Network): Network {
  return {
    ...network,
    async prepare(content, key, session) {
      await misbehave(content.text)
      return network.prepare(content, key, session)
    },
    async send(delivery, session) {
      if (dieAt?.point === 'intended') await reached.promise // ends before the first byte
      if ((delivery.prepared as { text: string }).text === 'kills sending') process.kill(process.pid, 'SIGKILL')
      return network.send(delivery, session)
    },
  }
}

/** What a post does to the worker that prepares it, by its text. */
async function misbehave(text: string): Promise<void> {
  if (text === 'kills') process.kill(process.pid, 'SIGKILL')
  if (text === 'meets a full disk') await uncaught(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
  if (text === 'meets a mistake') await uncaught(new Error('a mistake of ours'))
  if (text === 'hangs') await new Promise(() => {})
  if (text === 'throws') throw new Error('a mistake of ours')
  if (text === 'is refused') throw new PublishError('refused', 'This is too long.')
}

function uncaught(error: Error): Promise<never> {
  setImmediate(() => {
    throw error
  })
  return new Promise(() => {})
}
