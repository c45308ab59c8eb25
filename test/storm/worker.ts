import { readEnv } from '../../db/env.ts'
import { failStart, run } from '../../jobs/index.ts'
import type { Network } from '../../jobs/networks/network.ts'
import { scaledTimes } from '../../jobs/timeouts-and-delays.ts'
import { type FakeNetwork, fakeNetwork } from '../stand-ins/fake-network.ts'

// A worker in the storm: all times a tenth, and no patience longer than the storm.
const networks = JSON.parse(process.argv[2]!) as FakeNetwork[]

run({
  env: readEnv(),
  times: { ...scaledTimes(0.1), backoffMs: [500, 1000, 2000] },
  networks: () => Object.fromEntries(networks.map((one) => [one.name, poisonable(fakeNetwork(one))])),
}).catch(failStart)

// Some posts end the process that prepares them.
function poisonable(network: Network): Network {
  return {
    ...network,
    prepare(content, key, session) {
      if (content.text.includes('poison')) process.kill(process.pid, 'SIGKILL')
      return network.prepare(content, key, session)
    },
  }
}
