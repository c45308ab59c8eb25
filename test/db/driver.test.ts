import { once } from 'node:events'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { type SQL, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect, type Db, listen, sqlStateOf } from '../../db/client.ts'
import { testDatabase } from '../postgres/database.ts'
import { until } from '../processes.ts'

// What the driver does when a prepared statement no longer fits the database (docs/decisions/023). With the unpatched
// driver, each of these tests fails or hangs: we tried each one.

const Rows = 30

let database: Awaited<ReturnType<typeof testDatabase>>
let db: Db // 3 connections, the smallest number that an installation may have
let end: () => Promise<void>

beforeAll(async () => {
  database = await testDatabase()
})
beforeEach(async () => {
  ;({ db, end } = connect(database.url, { connections: 3, name: 'test' }))
  await change(sql`create table notes (id integer primary key, label text not null, seen boolean, secret bytea)`)
  await change(
    sql`insert into notes select n, 'row ' || n, true, '\\xc0ffee' from generate_series(1, ${sql.raw(String(Rows))}) n`,
  )
})
afterEach(async () => {
  await end()
  await change(sql`drop table notes`)
})
afterAll(() => database.end())

describe('when the result of a prepared statement changes its type (RevalidateCachedQuery)', () => {
  const read = (id: number) => db.execute<{ id: number; label: string }>(sql`select n.* from notes n where id = ${id}`)

  test('30 parallel callers each get their own row, in every round', async () => {
    for (let round = 0; round < 5; round++) {
      const rows = await all(read)
      expect(rows.map(([row]) => [row?.id, row?.label])).toEqual(ids.map((id) => [id, `row ${id}`]))
      await change(sql.raw(`alter table notes add column extra_${round} text default 'x'`))
    }
  })

  test('a transaction begins and ends among them, and no other caller’s statement runs in it', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        ids.flatMap((id) => [
          read(id).then(([row]) => row?.id === id),
          db.transaction(async (tx) => {
            const name = `note ${round} ${id}`
            await tx.execute(sql`select set_config('punctual.caller', ${name}, true)`)
            const [row] = await tx.execute<{ caller: string }>(sql`select current_setting('punctual.caller') as caller`)
            return row?.caller === name
          }),
        ]),
      )
      expect(answers.every(Boolean)).toBe(true)
      await change(sql.raw(`alter table notes add column extra_${round} text`))
    }
    const [open] = await database.db.execute<{ count: number }>(
      sql`select count(*)::int from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
    )
    expect(open?.count).toBe(0)
  })

  test('a transaction that meets the change fails as a whole, and the next one works', async () => {
    const within = () => db.transaction((tx) => tx.execute(sql`select n.* from notes n where id = ${1}`))
    await Promise.all(ids.map(within))
    await change(sql`alter table notes add column extra text`)
    const first = await Promise.allSettled(ids.map(within))
    expect(first.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(3) // one per connection
    const rows = await Promise.all(ids.map(within))
    expect(rows.every(([row]) => row?.id === 1)).toBe(true)
  })

  test('a statement that is sent again keeps its parameters: true stays true, and bytes stay the same', async () => {
    const secret = Buffer.from('c0ffee', 'hex')
    const find = (id: number) =>
      db.execute(sql`select n.* from notes n where id = ${id} and seen = ${true} and secret = ${secret}`)
    expect((await all(find)).map(({ length }) => length)).toEqual(ids.map(() => 1))
    await change(sql`alter table notes add column extra text`)
    expect((await all(find)).map(({ length }) => length)).toEqual(ids.map(() => 1))
  })
})

test('a prepared statement that the server has forgotten is prepared again (FetchPreparedStatement)', async () => {
  const read = (id: number) => db.execute<{ id: number }>(sql`select id from notes where id = ${id} and seen = ${true}`)
  await all(read)
  await Promise.all(ids.map(() => db.execute(sql`deallocate all`)))
  expect((await all(read)).map(([row]) => row?.id)).toEqual(ids)
})

test('a column that gets another type can still be written (transformAssignedExpr)', async () => {
  await change(sql`alter table notes add column extra integer`)
  const write = (id: number) =>
    db.execute(sql`update notes set extra = ${String(id)}, seen = ${true} where id = ${id} returning id, seen`)
  await all(write)
  await change(sql`alter table notes alter column extra type jsonb using to_jsonb(extra)`)
  const written = await all(write)
  expect(written.map((rows) => [...rows])).toEqual(ids.map((id) => [{ id, seen: true }]))
})

test('a statement that no longer fits for another reason fails once per connection, then is prepared again', async () => {
  const read = () => db.execute(sql`select id from notes where label = ${'row 1'}`)
  await Promise.all(ids.map(read))
  await change(sql`alter table notes alter column label type uuid using gen_random_uuid()`)
  await Promise.allSettled(ids.map(read)) // PostgreSQL has no operator that compares uuid and text
  const again = await Promise.allSettled(ids.map(read))
  const states = again.map((result) => result.status === 'rejected' && sqlStateOf(result.reason))
  expect(new Set(states)).toEqual(new Set(['22P02'])) // parsed again: 'row 1' is not a uuid
})

test('a connection runs one statement at a time: the next ones wait their turn', async () => {
  const only = connect(database.url, { connections: 1, name: 'one at a time' })
  const running = sql`select count(*)::int as count from pg_stat_activity where application_name = 'punctual one at a time'`
  const order: string[] = []
  const note = (name: string) => () => void order.push(name)
  await Promise.all([
    only.db.execute(sql`select pg_sleep(0.05), ${1}::int`).then(note('statement')),
    only.db.transaction((tx) => tx.execute(running)).then(note('transaction')),
    only.db.execute(sql`select ${2}::int`).then(note('last')),
  ])
  expect(order).toEqual(['statement', 'transaction', 'last'])
  await only.end()
})

test('when the first connection ends while the driver reads the array types, a new connection reads them', async () => {
  await using way = await aBrokenStart()
  const only = connect(way.url, { connections: 1, name: 'test' })
  const read = () =>
    only.db.execute<{ id: number }>(sql`select id from notes where id = any(${sql.param([1, 2])}) order by id`)
  expect((await read()).map(({ id }) => id)).toEqual([1, 2])
  expect(way.connections()).toBe(2)
  await only.end()
})

// As a pgbouncer does, or another proxy, while PostgreSQL is away.
test.each([
  { how: 'with the reason', isClosedAtOnce: false, code: '57P01' },
  { how: 'without a word', isClosedAtOnce: true, code: 'CONNECTION_CLOSED' },
])('when each new connection is ended $how, all who wait are told, and the next ones too', async (ways) => {
  await using way = await aBrokenStart({ connections: Number.POSITIVE_INFINITY, ...ways })
  const pool = connect(way.url, { connections: 2, name: 'test' })
  const codeOf = (asked: Promise<unknown>) =>
    asked.then(
      () => 'answered',
      (error: { code?: string; cause?: { code?: string } }) => error.cause?.code ?? error.code,
    )
  for (let round = 0; round < 2; round++) {
    const codes = await all((id) =>
      id > 6
        ? Promise.resolve(ways.code)
        : codeOf(id % 2 ? pool.db.execute(sql`select 1`) : pool.db.transaction((tx) => tx.execute(sql`select 1`))),
    )
    expect(new Set(codes)).toEqual(new Set([ways.code]))
  }
  await pool.end()
})

// As a pgbouncer does once it knows that PostgreSQL is away.
test('a pool whose server refuses each login asks once a second at most', async () => {
  await using way = await aBrokenStart({ connections: Number.POSITIVE_INFINITY, refused: '' })
  const pool = connect(way.url, { connections: 1, name: 'test' })
  let isOver = false
  const asking = (async () => {
    while (!isOver) await pool.db.execute(sql`select 1`).catch(() => {})
  })()
  await new Promise((done) => setTimeout(done, 5000)) // long enough to count
  expect(way.connections()).toBeLessThan(50) // ten were measured
  isOver = true
  await asking
  await pool.end()
})

test.each([
  ['login', ''],
  ['first statement', 'listen "'],
])('a listener whose server refuses each %s asks once a second at most', async (_at, statement) => {
  await using way = await aBrokenStart()
  const heard = await listen(way.url, 'driver', () => {})
  const before = way.connections()
  way.refuse(statement)
  await new Promise((done) => setTimeout(done, 5000)) // long enough to count
  expect(way.connections() - before).toBeLessThan(50) // ten were measured
  await heard.end()
})

test('a pool that is closed while it waits to reconnect opens no more connections', async () => {
  await using way = await aBrokenStart({ connections: Number.POSITIVE_INFINITY, isClosedAtOnce: true })
  const only = connect(way.url, { connections: 1, name: 'test' })
  const asked = ids.map(() => only.db.execute(sql`select 1`).catch(() => 'refused'))
  await until(() => way.connections() > 6, 20_000)
  await only.end()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['refused']))
  await new Promise((done) => setTimeout(done, 500)) // a connection that had begun may be accepted only now
  const opened = way.connections()
  await new Promise((done) => setTimeout(done, 1500)) // longer than the pool waits between two tries
  expect(way.connections()).toBe(opened)
})

/** A proxy to the database. It ends the first connections at their first query, as when PostgreSQL restarts. */
async function aBrokenStart({ connections = 1, isClosedAtOnce = false, refused = null as string | null } = {}) {
  const { hostname, port } = new URL(database.url)
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer((socket) => {
    const isBroken = ++count <= connections
    const there = connectTo(Number(port), hostname)
    for (const one of [socket, there]) sockets.add(one.on('error', () => {}))
    there.on('data', (bytes) => socket.write(bytes)).on('close', () => socket.destroy())
    socket.on('close', () => there.destroy())
    socket.on('data', (bytes) => {
      if (isClosedAtOnce) socket.end()
      else if (refused !== null && bytes.includes(refused)) socket.end(Terminated)
      else if (isBroken && bytes.includes('pg_catalog.pg_type')) socket.end(Terminated)
      else there.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(database.url)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    connections: () => count,
    /** From now on, end what is open and refuse what contains `text`. */
    refuse(text: string) {
      refused = text
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

// An ErrorResponse (https://www.postgresql.org/docs/current/protocol-message-formats.html), as a stopping server
// sends it.
const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0')
const Terminated = Buffer.concat([Buffer.from([69, 0, 0, 0, fields.length + 4]), fields])

const ids = Array.from({ length: Rows }, (_, i) => i + 1)

/** Asks for all `ids` at once; the test fails if one hangs. */
function all<T>(ask: (id: number) => PromiseLike<T>): Promise<T[]> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error('Some were never answered.')), 20_000).unref(),
  )
  return Promise.race([Promise.all(ids.map(ask)), late])
}

async function change(statement: SQL): Promise<void> {
  await database.db.execute(statement)
}
