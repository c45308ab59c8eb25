import { readEnv } from '../db/env.ts'
import { failStart, run } from '../jobs/index.ts'
import { networks as realNetworks } from '../jobs/networks/registry.ts'
import { scaledTimes } from '../jobs/times.ts'
import { type FakeNetwork, fakeNetwork } from './fake-network.ts'

// A real worker process with fake networks beside the real ones, its times scaled. Started by test/processes.ts.
const { networks, timesFactor } = JSON.parse(process.argv[2] ?? '{}') as {
  networks: FakeNetwork[]
  timesFactor: number
}

run({
  env: readEnv(),
  times: scaledTimes(timesFactor),
  networks: (installed) => ({
    ...realNetworks(installed),
    ...Object.fromEntries(networks.map((network) => [network.name, fakeNetwork(network)])),
  }),
}).catch(failStart)
