import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { testDatabase } from '../database.ts'

// A process that cannot start says why in one line, whichever it is.

let database: Awaited<ReturnType<typeof testDatabase>>
let dataDir: string
let taken: Server
beforeAll(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'punctual-explained-'))
  taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
})
afterAll(async () => {
  await database.end()
  taken.close()
  await rm(dataDir, { recursive: true })
})

/** What a process says whose start fails. */
async function saidBy(script: string, settings: Record<string, string>, args: string[] = []): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: {
      ...{ PATH: process.env.PATH ?? '', NODE_ENV: 'production', LOG_LEVEL: 'silent', DATA_DIR: dataDir },
      ...{ DATABASE_URL: database.url, SECRET_KEYS: Buffer.alloc(32).toString('base64') },
      ...{ APP_URL: 'http://localhost:1', PORT: '0', ...settings },
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  return said
}

test.each(['server/index.ts', 'jobs/index.ts', 'server/start.ts'])(
  '%s refuses a driver that was installed without its patch',
  async (script) => {
    const without = join(import.meta.dirname, '../without-patch.js')
    expect(await saidBy('--import', {}, [without, script])).toMatch(/^The database driver .*npx patch-package.*\n$/)
  },
)

const commands: [string, string, string[]][] = [
  ['worker', 'jobs/index.ts', []],
  ['admin', 'server/admin.ts', ['overdue']],
]

// Web waits for its database and says so on /readyz.
test.each([...commands, ['web', 'server/index.ts', []]] as typeof commands)(
  '%s says in one line which setting is wrong',
  async (_name, script, args) => {
    expect(await saidBy(script, { DATABASE_URL: 'mysql://x' }, args)).toMatch(/^DATABASE_URL must look like .*\n$/)
  },
)

test.each(commands)('%s says in one line that its database is out of reach', async (_name, script, args) => {
  const url = 'postgres://postgres@127.0.0.1:1/punctual'
  expect(await saidBy(script, { DATABASE_URL: url }, args)).toMatch(/^The database cannot be used: .*ECONNREFUSED.*\n$/)
})

test.each(commands)('%s says in one line that there is no such database', async (_name, script, args) => {
  const url = `${inject('postgres')}/nobody_made_it`
  expect(await saidBy(script, { DATABASE_URL: url }, args)).toBe(
    'The database cannot be used: database "nobody_made_it" does not exist\n',
  )
})

test.each([
  ['the worker’s health', 'jobs/index.ts', 'WORKER_PORT'],
  ['pages', 'server/index.ts', 'PORT'],
  ['web’s metrics', 'server/index.ts', 'METRICS_PORT'],
])('a port that is taken is named: %s', async (_name, script, variable) => {
  const { port } = taken.address() as { port: number }
  expect(await saidBy(script, { HOST: '127.0.0.1', [variable]: String(port) })).toBe(
    `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
  )
})
