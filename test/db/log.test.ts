import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { withoutParameters } from '../../db/log.ts'
import { testDatabase } from '../database.ts'

test('a query that fails is logged without what it was called with', async () => {
  const { db, end } = await testDatabase()
  const secret = '$argon2id$secret\nof two lines'
  const failed = await db
    .execute(sql`insert into accounts (password_hash) values (${secret})`)
    .catch((error: Error) => error)
  const logged = JSON.stringify(withoutParameters(failed))
  expect(String((failed as Error).message)).toContain(secret) // what would have been logged
  expect(logged).toContain('Failed query')
  expect(logged).not.toContain('argon2id')
  expect(logged).not.toContain('of two lines')
  await end()
})
