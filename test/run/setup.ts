import { join } from 'node:path'
import { afterEach, vi } from 'vitest'

// Processes of the product that tests start read it compiled, from the second on.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/compiled')
delete process.env.BASE_URL // the test runner's own, and no address

const unexpected: unknown[][] = []
console.error = (...args: unknown[]) => unexpected.push(args)

// Files share a process: no test leaves its clock or its mocks to the next. One that expects an error spies on console.error.
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  const calls = unexpected.splice(0)
  if (calls.length > 0) throw new Error(`console.error was called: ${calls.map((args) => args.join(' ')).join('\n')}`)
})
