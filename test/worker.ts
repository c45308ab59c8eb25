import { readEnv } from '../db/env.ts'
import { failStart, run } from '../jobs/index.ts'
import type { Network } from '../jobs/networks/network.ts'
import { networks as realNetworks } from '../jobs/networks/registry.ts'
import type { Point } from '../jobs/session.ts'
import { scaledTimes } from '../jobs/times.ts'
import { type FakeNetwork, fakeNetwork } from './fake-network.ts'

/** Where a worker ends, or is frozen, by its own hand: the `nth` time that it comes to the point. */
export type DieAt = { point: Point; nth?: number; signal?: 'SIGKILL' | 'SIGSTOP' }

// A real worker process with fake networks beside the real ones, its times scaled. Started by test/processes.ts.
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
    ...Object.fromEntries(networks.map((network) => [network.name, held(fakeNetwork(network))])),
  }),
}).catch(failStart)

function at(point: Point): void {
  if (point !== dieAt?.point || ++seen !== (dieAt.nth ?? 1)) return
  process.kill(process.pid, dieAt.signal ?? 'SIGKILL')
  reached.resolve()
}

// Who is to end between the intent and the first byte sends nothing before.
function held(network: Network): Network {
  if (dieAt?.point !== 'intended') return network
  return {
    ...network,
    async send(delivery, session) {
      await reached.promise
      return network.send(delivery, session)
    },
  }
}
