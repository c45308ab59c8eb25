import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { connect } from '../../db/client.ts'
import { testDatabase } from '../database.ts'
import { until } from '../processes.ts'

test('a connection is kept for good, and with it the locks of its session', async () => {
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
