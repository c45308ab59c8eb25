import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../db/client.ts'
import { isMigrated, migrate } from '../../db/migrate.ts'
import { testDatabase } from '../postgres/database.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
let empty: ReturnType<typeof connect>
let emptyUrl: string

beforeAll(async () => {
  database = await testDatabase()
  const name = `${new URL(database.url).pathname.slice(1)}_empty`
  await database.db.execute(sql.raw(`create database ${name} template template0`))
  emptyUrl = `${database.url}_empty`
  empty = connect(emptyUrl, { connections: 1, name: 'test' })
})
afterAll(async () => {
  await empty.end()
  await database.db.execute(sql.raw(`drop database ${new URL(emptyUrl).pathname.slice(1)}`))
  await database.end()
})

test('when two processes migrate an empty database at once, both succeed and each migration is applied once', async () => {
  expect(await isMigrated(empty.db)).toBe(false)

  await Promise.all([migrate(emptyUrl), migrate(emptyUrl)])

  expect(await isMigrated(empty.db)).toBe(true)
  const applied = await empty.db.execute(sql`select hash from drizzle.__drizzle_migrations`)
  expect(new Set(applied.map(({ hash }) => hash)).size).toBe(applied.length)
  expect(await empty.db.execute(sql`select 1 from graphile_worker.jobs`)).toHaveLength(0)
})

test('a database that lacks our newest migration does not count as migrated', async () => {
  expect(await isMigrated(database.db)).toBe(true)

  await database.db.execute(sql`delete from drizzle.__drizzle_migrations`)

  expect(await isMigrated(database.db)).toBe(false)
})
