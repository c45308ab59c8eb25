import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Connection, connect } from '../../db/client.ts'
import { type Prober, startProber } from '../../db/prober.ts'
import { testDatabase } from '../postgres/database.ts'
import { until } from '../processes.ts'
import { aDoor } from '../stand-ins/door.ts'

const times = { everyMs: 50, answerMs: 1500, replaceMs: 2500, stuckMs: 4000 }

let database: Awaited<ReturnType<typeof testDatabase>>
let way: Awaited<ReturnType<typeof aDoor>>
let pool: Connection
let prober: Prober
const onStuck = vi.fn()

beforeEach(async () => {
  onStuck.mockClear()
  database = await testDatabase()
  way = await aDoor(database.url)
  pool = connect(way.url, { connections: 1, name: 'test' })
  prober = startProber(way.url, { stuckForMs: pool.stuckForMs, onStuck, times })
  await pool.db.execute(sql`select 1`)
})
afterEach(async () => {
  await way.shut()
  await Promise.all([prober.end(), pool.end()])
  await database.end()
})

test('the prober asks the database at every interval, on one connection', async () => {
  const asked = sql`
    select count(*)::int as connections, max(query_start) as at from pg_stat_activity
    where datname = current_database() and application_name = 'punctual probe'`
  const [first] = await database.db.execute<{ at: string }>(asked)
  await until(async () => {
    const [now] = await database.db.execute<{ at: string; connections: number }>(asked)
    return now!.at !== first!.at && now!.connections > 0
  })
  const [now] = await database.db.execute<{ connections: number }>(asked)
  expect(now!.connections).toBe(1)
})

test('a pool is stuck when its connections are dead and a fresh one answers', async () => {
  way.deafen()
  const hangs = pool.db.execute(sql`select 1`).catch(() => {})
  await until(() => onStuck.mock.calls.length > 0)
  expect(prober.answers()).toBe('yes')
  await way.shut()
  await hangs
})

test('a database that answers no connection is reported as silent, and no pool counts as stuck', async () => {
  way.silence()
  const hangs = pool.db.execute(sql`select 1`).catch(() => {})
  await until(() => prober.answers() === 'silent')
  await expect(prober.ask((db) => db.execute(sql`select 1`))).rejects.toThrow('did not answer within 1500 ms')
  await until(() => pool.stuckForMs() > 2 * times.stuckMs)
  expect(onStuck).not.toHaveBeenCalled()
  await way.shut()
  await hangs
})

test('a question that its connection does not carry fails, and the next one is asked on a new connection', async () => {
  const ask = () => prober.ask((db) => db.execute(sql`select 1`))
  await ask()
  way.deafen()
  await expect(ask()).rejects.toThrow('did not answer within 1500 ms')
  await expect(ask()).resolves.toHaveLength(1)
})

test('a database that refuses connections is reported as unreachable, and answers again once it is back', async () => {
  await way.shut()
  await until(() => prober.answers() === 'unreachable')
  await way.open()
  await until(() => prober.answers() === 'yes')
})

test('a query that takes too long is ended, and the database still counts as answering', async () => {
  const slow = () => prober.ask((db) => db.execute(sql`select pg_sleep(60)`))
  for (let i = 0; i < 5; i++) {
    await expect(slow()).rejects.toThrow()
    expect(prober.answers()).toBe('yes')
  }
  await expect(prober.ask((db) => db.execute(sql`select 1`))).resolves.toHaveLength(1)
})

test('slow statements, also one after another, make neither the database silent nor the pool stuck', async () => {
  const slow = pool.db.transaction(async (tx) => {
    for (let i = 0; i < 6; i++) {
      await tx.execute(sql`select pg_sleep(1.5)`)
      expect(prober.answers()).toBe('yes')
    }
  })
  await slow
  expect(onStuck).not.toHaveBeenCalled()
})
