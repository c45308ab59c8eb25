import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Connection, connect } from '../../db/client.ts'
import { type Prober, startProber } from '../../db/prober.ts'
import { testDatabase } from '../postgres/database.ts'
import { until } from '../processes.ts'
import { aDoor } from '../stand-ins/door.ts'

const times = { everyMs: 50, answerMs: 300, replaceMs: 500, stuckMs: 1000 }

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

test('the database is asked once a time, on one connection', async () => {
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

test('a pool whose connections are dead while a fresh one answers is stuck', async () => {
  way.deafen()
  const hangs = pool.db.execute(sql`select 1`).catch(() => {})
  await until(() => onStuck.mock.calls.length > 0)
  expect(prober.answers()).toBe('yes')
  await way.shut()
  await hangs
})

test('a database that is silent to all is said to be, and no pool is stuck by it', async () => {
  way.silence()
  const hangs = pool.db.execute(sql`select 1`).catch(() => {})
  await until(() => prober.answers() === 'silent')
  await expect(prober.ask((db) => db.execute(sql`select 1`))).rejects.toThrow('did not answer within 300 ms')
  await until(() => pool.stuckForMs() > 2 * times.stuckMs)
  expect(onStuck).not.toHaveBeenCalled()
  await way.shut()
  await hangs
})

test('a database that refuses is away, and answers again once it is back', async () => {
  await way.shut()
  await until(() => prober.answers() === 'unreachable')
  await way.open()
  await until(() => prober.answers() === 'yes')
})

test('questions that take too long end by themselves, and say nothing of the database', async () => {
  const slow = () => prober.ask((db) => db.execute(sql`select pg_sleep(60)`))
  for (let i = 0; i < 5; i++) {
    await expect(slow()).rejects.toThrow()
    expect(prober.answers()).toBe('yes')
  }
  await expect(prober.ask((db) => db.execute(sql`select 1`))).resolves.toHaveLength(1)
})

test('a slow statement says nothing of the database, and one after another is no standstill', async () => {
  const slow = pool.db.transaction(async (tx) => {
    for (let i = 0; i < 8; i++) {
      await tx.execute(sql`select pg_sleep(0.3)`)
      expect(prober.answers()).toBe('yes')
    }
  })
  await slow
  expect(onStuck).not.toHaveBeenCalled()
})
