import { join } from 'node:path'
import { afterEach } from 'vitest'

// Processes of the product that tests start read it compiled, from the second on.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/compiled')
delete process.env.BASE_URL // the test runner's own, and no address

const unexpected: unknown[][] = []
console.error = (...args: unknown[]) => unexpected.push(args)

// A test that expects one spies on console.error itself.
afterEach(() => {
  const calls = unexpected.splice(0)
  if (calls.length > 0) throw new Error(`console.error was called: ${calls.map((args) => args.join(' ')).join('\n')}`)
})
