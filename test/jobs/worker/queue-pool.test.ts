import { expect, test } from 'vitest'
import { queuePool } from '../../../jobs/worker/queue-pool.ts'
import { testDatabase } from '../../postgres/database.ts'

test('a queue connection that is released twice goes back to the pool once', async (context) => {
  const { url, end } = await testDatabase()
  context.onTestFinished(end)
  const pool = queuePool(url, () => {})
  const released = await new Promise<boolean>((done, fail) => {
    pool.connect((error, _client, release) => {
      if (error) return fail(error)
      release()
      try {
        release()
        done(true)
      } catch (error) {
        fail(error as Error)
      }
    })
  })
  expect(released).toBe(true)
  expect(pool.idleCount).toBe(1)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  const client = await pool.connect()
  client.release()
  await pool.end()
})
