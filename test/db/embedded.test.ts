import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../db/client.ts'
import { joinInstallation, NotRunning, startEmbedded } from '../../db/embedded/installation.ts'
import { readEnv } from '../../db/env.ts'

const log = pino({ level: 'silent' })
let home: string
let env: ReturnType<typeof readEnv>
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'punctual embedded '))
  await chmod(home, 0o755)
  env = readEnv({ DATA_DIR: join(home, 'data') })
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await rm(home, { recursive: true })
})

test('stored rows are still there after a stop and a start, and the keys are the same', async () => {
  const first = await start()
  await run(first.installation.databaseUrl, 'create table kept as select 1 as n')
  await first.stop()

  const second = await start()

  expect(second.installation.secretKeys).toEqual(first.installation.secretKeys)
  expect(await run(second.installation.databaseUrl, 'select n from kept')).toEqual([{ n: 1 }])
})

test('only their owner can read the password and the keys', async () => {
  await start()
  for (const name of ['postgres.json', 'secret-keys'])
    expect((await stat(join(env.dataDir, name))).mode & 0o777).toBe(0o600)
})

test('a new process takes over the server that a killed process left running', async () => {
  const killed = await startInChild()
  killed.child.kill('SIGKILL')
  await once(killed.child, 'exit')
  const [before] = await run(killed.url, 'select pg_postmaster_start_time()::text as t')

  const { installation } = await start()

  expect(installation.databaseUrl).toBe(killed.url)
  expect(await run(killed.url, 'select pg_postmaster_start_time()::text as t')).toEqual([before])
})

test('a server that is killed while we run is started again', async () => {
  const { installation } = await start()
  const [before] = await run(installation.databaseUrl, 'select pg_postmaster_start_time()::text as t')
  const kept = JSON.parse(await readFile(join(env.dataDir, 'postgres.json'), 'utf8'))
  const pidFile = join(kept.folder ?? join(env.dataDir, 'postgres'), 'postmaster.pid')
  process.kill(Number((await readFile(pidFile, 'utf8')).split('\n')[0]), 'SIGKILL')

  const answer = () => run(installation.databaseUrl, 'select 1 as n').catch(() => null)
  await expect.poll(answer, { timeout: 100_000 }).toEqual([{ n: 1 }])

  expect(await run(installation.databaseUrl, 'select pg_postmaster_start_time()::text as t')).not.toEqual([before])
})

test('a second start on the same folder is refused, and the first one keeps working', async () => {
  const first = await start()
  await expect(startEmbedded(env, log)).rejects.toThrow('Another process already runs the database')
  expect(await run(first.installation.databaseUrl, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a second stop of an ended server does not stop the server that was started after it', async () => {
  const first = await start()
  await first.stop()
  const second = await start()

  await first.stop()

  expect(await run(second.installation.databaseUrl, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a start without the keys file fails and makes no new keys', async () => {
  const { stop } = await start()
  await stop()
  await rm(join(env.dataDir, 'secret-keys'))

  await expect(start()).rejects.toThrow('secret-keys is missing')
})

test('a process joins the running server; when none runs, the error says what to start', async () => {
  await expect(joinInstallation(env)).rejects.toThrow(NotRunning)
  const { installation, stop } = await start()
  expect(await joinInstallation(env)).toEqual(installation)
  await stop()
  await expect(joinInstallation(env)).rejects.toThrow('Run `npm start` first')
})

test('with DATABASE_URL, keys are required', async () => {
  const elsewhere = readEnv({ DATABASE_URL: 'postgres://u:p@db.example/punctual' })
  await expect(joinInstallation(elsewhere)).rejects.toThrow('DATABASE_URL is set, but SECRET_KEYS is not.')
})

test('when only root can enter the data folder, the database is kept elsewhere', async ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root runs PostgreSQL as another user')
  await chmod(home, 0o700)
  const { installation } = await start()
  const { folder } = JSON.parse(await readFile(join(env.dataDir, 'postgres.json'), 'utf8'))
  ends.push(() => rm(folder, { recursive: true }))

  expect(folder).toMatch('/var/lib/punctual/')
  expect(await run(installation.databaseUrl, 'select 1 as n')).toEqual([{ n: 1 }])
})

async function start(): ReturnType<typeof startEmbedded> {
  const started = await startEmbedded(env, log)
  ends.push(started.stop)
  return started
}

async function startInChild(): Promise<{ child: ChildProcess; url: string }> {
  const script = `
    import { pino } from 'pino'
    import { startEmbedded } from './db/embedded/installation.ts'
    const { installation } = await startEmbedded(${JSON.stringify(env)}, pino({ level: 'silent' }))
    console.log(installation.databaseUrl)`
  const child = spawn('node', ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { child, url: String(line).trim() }
}

async function run(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const { db, end } = connect(url, { connections: 1, name: 'test' })
  try {
    return [...(await db.execute(sql.raw(statement)))]
  } finally {
    await end()
  }
}
