import { defineConfig } from 'vitest/config'
import { Counts } from './reporter.ts'

export default defineConfig({
  root: `${import.meta.dirname}/..`,
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: ['test/peers/**', 'test/clients/**'], // commands of their own
    globalSetup: 'test/postgres/setup.ts',
    setupFiles: 'test/setup.ts',
    reporters: [new Counts()],
    maxWorkers: 2, // each file has a database of its own and real processes beside it
    expect: { poll: { timeout: 20_000, interval: 20 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
