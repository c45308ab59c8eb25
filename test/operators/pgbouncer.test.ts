import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { resolve } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect } from '../../db/client.ts'
import { migrate } from '../../db/migrate.ts'
import { assertInvariants } from '../faults/invariants.ts'
import { freePort } from '../port.ts'
import { testDatabase } from '../postgres/database.ts'
import { type Started, startWeb, until } from '../processes.ts'
import { untilPublished, type World, world } from '../world.ts'
import { folderOf, type Running, startProgram, withPrograms } from './program.ts'

// Everything goes through a real pgbouncer, with the lines from the manual.

const programs = withPrograms('pgbouncer')
const manual = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const AlarmLock = 70_037 // jobs/publish/alarm.ts

let w: World
let web: Started
let pgbouncer: Running
let postgres: Awaited<ReturnType<typeof startRelay>> // as pgbouncer sees it
let pooled: string
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  if (!programs.pgbouncer) return
  const database = await testDatabase()
  pooled = await startPooling(database.url)
  w = await world({ database: { ...database, url: pooled } })
  ends.unshift(() => w.end())
  await migrate(pooled)
  web = await startWeb(w.site)
  ends.unshift(() => web.stop())
})
afterAll(async () => {
  for (const end of ends) await end()
})

async function startPooling(url: string): Promise<string> {
  const { username, password, hostname, port, pathname } = new URL(url)
  postgres = await startRelay(Number(port), hostname)
  const listenPort = await freePort()
  const [documented] = /\[pgbouncer\]\n[^`]*/.exec(manual) ?? []
  const { path, end } = await folderOf({
    'pgbouncer.ini': `[databases]\n* = host=127.0.0.1 port=${postgres.port}\n${documented}
listen_addr = 127.0.0.1\nlisten_port = ${listenPort}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = userlist.txt\n`,
    'userlist.txt': `"${username}" "${password}"\n`,
  })
  ends.push(end)
  pgbouncer = await startProgram([programs.pgbouncer, 'pgbouncer.ini'], path, (log) => log.includes('process up'))
  ends.unshift(() => pgbouncer.end())
  return `postgres://${username}:${password}@127.0.0.1:${listenPort}${pathname}`
}

/** Hands all bytes on. While it is stopped, it accepts no connection, like a PostgreSQL that is stopped. */
async function startRelay(port: number, host: string) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const there = connectTo(port, host)
    for (const one of [socket, there]) sockets.add(one.on('error', () => {}))
    socket.pipe(there).pipe(socket)
    socket.on('close', () => there.destroy())
    there.on('close', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const stop = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  ends.push(async () => stop())
  return { port: address.port, stop, start: () => void server.listen(address.port, '127.0.0.1') }
}

/** The lines of a process's log from level warn up. */
function warnings({ log }: { log: () => string }): string[] {
  return log()
    .split('\n')
    .filter((line) => line.startsWith('{') && JSON.parse(line).level >= 40)
}

test('through pgbouncer a post goes out when it is due, woken by the alarm', async () => {
  const worker = await w.worker({ timesFactor: 1 })
  await until(async () => {
    const [row] = await w.db.execute(sql`
      select exists (select from pg_locks where locktype = 'advisory' and classid::bigint = ${AlarmLock}
          and database = (select oid from pg_database where datname = current_database()))
        and exists (select from pg_stat_activity where datname = current_database() and query ilike 'listen "punctual_due"%') as "isUp"`)
    return row?.isUp
  })
  const { id } = await w.delivery('keyed', new Date(Date.now() + 3000))
  await untilPublished(w.db, [id])
  const [sent] = w.fake.received
  const [row] = await w.db.execute<{ dueMs: number }>(
    sql`select extract(epoch from due_at)::float8 * 1000 as "dueMs" from deliveries where id = ${id}`,
  )
  expect(sent!.at - row!.dueMs).toBeLessThan(5000) // within ten times the goal; a poll or the reaper would take longer
  expect(await fetch(`${worker.healthUrl}/livez`).then(({ text }) => text)).toBeTruthy()
  expect([...warnings(worker), ...warnings(web)]).toEqual([])
  await assertInvariants(w)
  await w.rest()
})

test('through pgbouncer a worker takes over the send of a killed worker', async () => {
  w.fake.behave = () => {} // never answers
  const victim = await w.worker()
  const { id } = await w.delivery('keyed')
  await until(() => w.fake.received.length > 0)
  victim.kill('SIGKILL')
  await victim.ended
  w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
  const other = await w.worker()
  await untilPublished(w.db, [id])
  expect(
    warnings(other)
      .map((line) => JSON.parse(line).msg)
      .sort(),
  ).toEqual(['taken from a worker that is gone', 'workers are gone'])
  await w.rest()
})

test('through pgbouncer each pool has the same limits as without', async () => {
  const bounds = { statementMs: 1234, lockMs: 2345, idleInTransactionMs: 3456 }
  const names = sql.raw(
    ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'plan_cache_mode', 'TimeZone']
      .map((name) => `current_setting('${name}') as "${name}"`)
      .join(', '),
  )
  for (const url of [pooled, `${inject('postgres')}${new URL(pooled).pathname}`]) {
    const { db, end } = connect(url, { connections: 2, name: 'test', bounds, plans: 'fresh' })
    const read = () => db.execute(sql`select ${names}, pg_sleep(0.1)`)
    const expected = {
      statement_timeout: '1234ms',
      lock_timeout: '2345ms',
      idle_in_transaction_session_timeout: '3456ms',
      plan_cache_mode: 'force_custom_plan',
      TimeZone: 'UTC',
    }
    for (const [row] of await Promise.all([read(), read()])) expect(row).toMatchObject(expected)
    await end()
  }
})

test('when pgbouncer hangs, web reports it and recovers by itself', async () => {
  const isReady = () => fetch(`${w.site.appUrl}/readyz`).then(({ ok }) => ok)
  const worker = await w.worker()
  pgbouncer.kill('SIGSTOP')
  await until(async () => !(await isReady()))
  pgbouncer.kill('SIGCONT')
  await until(isReady)
  const { id } = await w.delivery('keyed')
  await untilPublished(w.db, [id])
  expect(await worker.stop()).toBe(0)
})

test('when PostgreSQL stops behind pgbouncer, every process says so, asks seldom, and goes on by itself', async () => {
  const isReady = () => fetch(`${w.site.appUrl}/readyz`).then(({ ok }) => ok)
  const worker = await w.worker({ timesFactor: 1 })
  await until(isReady)
  postgres.stop()
  await until(async () => !(await isReady()))
  await until(() => worker.log().includes('the database is away'))
  const asked = await admin('status')
  expect(asked.code).toBe(1)
  expect(asked.error).toMatch(/^The database (cannot be used|did not answer)/)
  const refusals = () => pgbouncer.log().split('pooler error').length
  const before = refusals()
  await new Promise((done) => setTimeout(done, 5000)) // long enough to count
  expect((refusals() - before) / 5).toBeLessThan(60) // a second; 6.8 were measured
  postgres.start()
  await until(isReady)
  await until(() => worker.log().includes('the database is back'))
  const { id } = await w.delivery('keyed')
  await untilPublished(w.db, [id])
  expect(await worker.stop()).toBe(0)
})

/** A command of the operator's. */
async function admin(...command: string[]): Promise<{ code: number; error: string }> {
  const child = spawn(process.execPath, ['build/admin.js', ...command], { env: { ...process.env, ...w.site.env } })
  let error = ''
  child.stderr.on('data', (chunk) => (error += chunk))
  const [code] = await once(child, 'exit')
  return { code, error }
}
