import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Db, isDatabaseAway, sqlStateOf, type Tx, unbounded } from '../../db/client.ts'
import { testDatabase } from '../postgres/database.ts'
import { until } from '../processes.ts'

test('a connection stays open without end and keeps the locks of its session', async () => {
  const database = await testDatabase()
  const { db, end } = connect(`${database.url}?max_lifetime=1`, { connections: 1, name: 'test' })
  const session = async () => (await db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
  const first = await session()
  const begun = performance.now()
  await until(async () => {
    expect(await session()).toBe(first)
    return performance.now() - begun > 1500
  })
  await end()
  await database.end()
})

test('a pool counts its running statements and transactions, and drops to 0 when they end or fail', async () => {
  const database = await testDatabase()
  const { db, underWay, end } = connect(database.url, { connections: 2, name: 'test' })
  expect(underWay()).toBe(0)
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = database.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(1)`)
    held.resolve()
    await over.promise
  })
  await held.promise
  const wait = () => db.execute(sql`select pg_advisory_xact_lock_shared(1)`)
  const fails = db.transaction((tx) => tx.execute(sql`select 1 / (select 0 from pg_advisory_xact_lock_shared(1))`))
  const all = Promise.allSettled([wait(), wait(), wait(), fails])
  await until(() => underWay() === 4)
  over.resolve()
  await Promise.all([holding, all])
  expect(underWay()).toBe(0)
  await end()
  await database.end()
})

test('a pool whose limits PostgreSQL refuses gives no connection, not one without limits', async () => {
  const database = await testDatabase()
  const bounds = { statementMs: -5, lockMs: 0, idleInTransactionMs: 0 }
  const { db, end } = connect(database.url, { connections: 1, name: 'test', bounds })
  const codes = await Promise.all([1, 2, 3].map(() => db.execute(sql`select 1`).then(() => null, sqlStateOf)))
  expect(codes).toEqual(['22023', '22023', '22023'])
  await end()
  await database.end()
})

test('a pool without limits ignores the limits that the role sets', async () => {
  const database = await testDatabase()
  const name = sql.raw(new URL(database.url).pathname.slice(1))
  await database.db.execute(sql`alter database ${name} set statement_timeout = '1s'`)
  const { db, end } = connect(database.url, { connections: 1, name: 'test', bounds: unbounded })
  const [row] = await db.execute(sql`select current_setting('statement_timeout') as "of"`)
  expect(row).toEqual({ of: '0' })
  await end()
  await database.end()
})

describe('a connection that the server ends in the middle of a transaction', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>
  let only: { db: Db; end: () => Promise<void> } // one connection: the next user has the same slot

  beforeAll(async () => {
    database = await testDatabase()
    only = connect(database.url, { connections: 1, name: 'test' })
    await database.db.execute(sql`create table notes (text text)`)
  })
  afterAll(async () => {
    await only.end()
    await database.end()
  })

  test('during a statement: the caller gets the error that the database is away, and the pool works again', async () => {
    const cut = only.db.transaction(async (tx) => {
      const pid = await pidOf(tx)
      await Promise.all([tx.execute(sql`select pg_sleep(30)`), endConnection(pid)])
    })

    await expect(cut).rejects.toSatisfy(isDatabaseAway)
    await expect(only.db.execute(sql`select 1 as one`)).resolves.toEqual([{ one: 1 }])
  })

  test('between two statements: the next statement is refused and does not run in another caller’s transaction', async () => {
    let goOn = () => {}
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let after: Promise<unknown> = Promise.resolve()
    const cut = only.db.transaction(async (tx) => {
      await endConnection(await pidOf(tx))
      await waiting
      after = tx.execute(sql`insert into notes values ('too late')`)
      await after
    })
    await expect(cut).rejects.toSatisfy(isDatabaseAway)

    await only.db.transaction(async (tx) => {
      await tx.execute(sql`insert into notes values ('first')`)
      goOn()
      await until(async () => (await settled(after)) === 'rejected')
      await tx.execute(sql`insert into notes values ('second')`)
    })
    const notes = await only.db.execute(sql`select text from notes order by text`)
    expect([...notes]).toEqual([{ text: 'first' }, { text: 'second' }])
    await expect(after).rejects.toSatisfy(isDatabaseAway)
  })

  test('inside a savepoint: the outer transaction fails too', async () => {
    const cut = only.db.transaction(async (tx) => {
      const pid = await pidOf(tx)
      await tx.transaction((inner) => Promise.all([inner.execute(sql`select pg_sleep(30)`), endConnection(pid)]))
    })

    await expect(cut).rejects.toSatisfy(isDatabaseAway)
    await expect(only.db.execute(sql`select 1 as one`)).resolves.toEqual([{ one: 1 }])
  })

  test('a transaction that ignores the error does not count as committed', async () => {
    const cut = only.db.transaction(async (tx) => {
      const pid = await pidOf(tx)
      await Promise.allSettled([tx.execute(sql`select pg_sleep(30)`), endConnection(pid)])
      return 'done'
    })

    await expect(cut).rejects.toSatisfy(isDatabaseAway)
  })

  async function pidOf(tx: Tx): Promise<number> {
    const [row] = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    return row!.pid
  }

  async function endConnection(pid: number): Promise<void> {
    await database.db.execute(sql`select pg_terminate_backend(${pid})`)
    await until(async () => {
      const [row] = await database.db.execute(sql`select from pg_stat_activity where pid = ${pid}`)
      return row === undefined
    })
  }
})

async function settled(promise: Promise<unknown>): Promise<'fulfilled' | 'rejected'> {
  const [result] = await Promise.allSettled([promise])
  return result!.status
}
