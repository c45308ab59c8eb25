import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { aChannel, anOrganisation } from '../builders.ts'
import { testDatabase } from '../postgres/database.ts'
import { runtime } from '../processes.ts'
import { aDoor } from '../stand-ins/door.ts'
import { startS3 } from '../stand-ins/s3.ts'

// Each kind of process that cannot start says why in one line.

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

/** What a process prints when its start fails. */
async function saidBy(script: string, settings: Record<string, string>, args: string[] = []): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: {
      ...runtime,
      NODE_ENV: 'production',
      LOG_LEVEL: 'silent',
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      SECRET_KEYS: Buffer.alloc(32).toString('base64'),
      APP_URL: 'http://localhost:1',
      PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000, // for a process that starts by mistake
  })
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  return said
}

test.each(['server/index.ts', 'jobs/index.ts', 'server/run/start.ts'])(
  '%s refuses a driver that was installed without its patch',
  async (script) => {
    const without = join(import.meta.dirname, 'without-patch.js')
    expect(await saidBy('--import', {}, [without, script])).toMatch(/^The database driver .*npx patch-package.*\n$/)
  },
)

// The built programs, which start in half the time.
const commands: [string, string, string[]][] = [
  ['worker', 'build/worker.js', []],
  ['admin', 'build/admin.js', ['overdue']],
]

test.each([...commands, ['web', 'build/web.js', []]] as typeof commands)(
  '%s says in one line which setting is wrong',
  async (_name, script, args) => {
    expect(await saidBy(script, { DATABASE_URL: 'mysql://x' }, args)).toMatch(/^DATABASE_URL must look like .*\n$/)
  },
)

// Web is not here: it waits for its database and says so on /readyz.
const starters: typeof commands = [...commands, ['npm start', 'build/start.js', []]]

test.each(starters)('%s says in one line that its database is out of reach', async (_name, script, args) => {
  const url = 'postgres://postgres@127.0.0.1:1/punctual'
  expect(await saidBy(script, { DATABASE_URL: url }, args)).toBe(
    'The database cannot be used (connect ECONNREFUSED 127.0.0.1:1): start PostgreSQL, or correct DATABASE_URL.\n',
  )
})

const all: typeof commands = [...starters, ['web', 'build/web.js', []]]

test.each(all)('%s says in one line that its database does not exist', async (_name, script, args) => {
  const url = `${inject('postgres')}/nobody_made_it`
  expect(await saidBy(script, { DATABASE_URL: url }, args)).toBe(
    'The database cannot be used (database "nobody_made_it" does not exist): create it with `createdb`, or correct the name in DATABASE_URL.\n',
  )
})

test.each(all)('%s says in one line that the database refuses its user', async (_name, script, args) => {
  const url = new URL(database.url)
  Object.assign(url, { username: 'nobody', password: 'wrong' })
  expect(await saidBy(script, { DATABASE_URL: url.href }, args)).toMatch(
    /^The database cannot be used \(.*"nobody".*\): correct the user and the password in DATABASE_URL\.\n$/,
  )
})

const processes: typeof commands = all.filter(([name]) => name !== 'admin')

test.each(processes)('%s says in one line that PostgreSQL is too old', async (_name, script, args) => {
  const [row] = await database.db.execute<{ n: string }>(sql`select current_setting('server_version_num') as n`)
  const number = row!.n
  const older = (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replaceAll(number, '130020'), 'latin1')
  const door = await aDoor(database.url, older)
  expect(await saidBy(script, { DATABASE_URL: door.url }, args)).toMatch(
    /^PostgreSQL \d+\.\d.* is too old\. Upgrade it to 14 or newer, or set DATABASE_URL to another server\.\n$/,
  )
  await door.shut()
})

test.each(processes)('%s says in one line that its key opens none of the credentials', async (_name, script, args) => {
  const other = await testDatabase()
  const { organisationId } = await anOrganisation(other.db)
  await aChannel(other.db, randomBytes(32), { organisationId, network: 'feed' })
  expect(await saidBy(script, { DATABASE_URL: other.url }, args)).toBe(
    'SECRET_KEYS opens none of the 1 credentials in this database: set the key that sealed them, the same for every process.\n',
  )
  await other.end()
})

test.each(processes)('%s says in one line that it cannot write files', async (_name, script, args) => {
  const occupied = await mkdtemp(join(dataDir, 'occupied-'))
  await writeFile(join(occupied, 'files'), 'no folder')
  const said = await saidBy(script, { DATA_DIR: occupied }, args)
  expect(said).toMatch(/^Files cannot be written in .*\/files \(.*\): let this user write there, or set DATA_DIR\.\n$/)
})

test.each(processes)('%s says in one line that the bucket refuses it', async (_name, script, args) => {
  const s3 = await startS3()
  expect(await saidBy(script, { ...s3.variables, S3_BUCKET: 'nobody-made-it' }, args)).toBe(
    'The bucket nobody-made-it takes no files (NoSuchBucket): check S3_BUCKET, S3_ENDPOINT, S3_REGION and the S3 keys.\n',
  )
  await s3.end()
})

test.each([
  ['the worker’s health', 'build/worker.js', 'WORKER_PORT'],
  ['pages', 'build/web.js', 'PORT'],
  ['web’s metrics', 'build/web.js', 'METRICS_PORT'],
])('a port that is in use is named: %s', async (_name, script, variable) => {
  const { port } = taken.address() as { port: number }
  expect(await saidBy(script, { HOST: '127.0.0.1', [variable]: String(port) })).toBe(
    `Port ${port} is taken by another program: stop that one, or set ${variable}.\n`,
  )
})

test('the error for an address that the machine does not have names HOST', async () => {
  expect(await saidBy('build/web.js', { HOST: '192.0.2.1' })).toBe(
    'This machine has no address 192.0.2.1: set HOST to one that it has.\n',
  )
})
