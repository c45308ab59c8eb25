import { defineConfig } from 'vitest/config'
import { Counts } from './run/reporter.ts'
import { WaitingFirst } from './run/sequencer.ts'

// Commands of their own, since they take long: `npm run test:browser`, `test:faults`, `test:model`, `test:operators`. The last
// starts whole installations too.
const installations = ['test/main-job.test.ts', 'test/db/embedded.test.ts', 'test/server/run/start.test.ts']
const long = ['test/app/**', 'test/faults/**', 'test/model/**', 'test/operators/**', ...installations]
const isNamed = process.argv.slice(2).some((argument) => /^test\/.*(?<!config\.ts)$/.test(argument)) // `npm test -- test/app/…`

export default defineConfig({
  root: `${import.meta.dirname}/..`,
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: ['test/peers/**', 'test/clients/**', ...(isNamed ? [] : long)],
    globalSetup: 'test/postgres/setup.ts',
    setupFiles: 'test/run/setup.ts',
    reporters: [new Counts()],
    sequence: { sequencer: WaitingFirst },
    isolate: false, // each worker loads the product once, not again for each file
    maxWorkers: 6, // more than the cores: each file has its own database and processes, and mostly waits for them
    expect: { poll: { timeout: 20_000, interval: 20 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
