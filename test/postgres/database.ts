import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { inject } from 'vitest'
import { connect, type Db, unbounded } from '../../db/client.ts'

/**
 * A database of this test file's own, migrated and empty. Call it in beforeAll, and `end` in afterAll.
 *
 * `url` is for the processes that a test starts; `connections` the size of the pool behind `db`; `server` another
 * PostgreSQL than that of all tests.
 */
export async function testDatabase({ connections = 5, server = inject('postgres') } = {}): Promise<{
  db: Db
  url: string
  end(): Promise<void>
}> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(server, `create database ${name} template migrated`)
  const url = `${server}/${name}`
  const { db, end } = connect(url, { connections, name: 'test' })
  return {
    db,
    url,
    async end() {
      await end()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}

// As long as it takes: a drop waits for every session of the server, and one whose process is frozen while it connects
// hears nothing for up to a minute (authentication_timeout).
async function onServer(server: string, statement: string): Promise<void> {
  const { db, end } = connect(`${server}/postgres`, { connections: 1, name: 'test', bounds: unbounded })
  await db.execute(sql.raw(statement))
  await end()
}

/** How many statements wait for a lock, in this database: other tests use the same server. */
export async function waitingIn(db: Db): Promise<number> {
  const waiting = await db.execute(sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  return waiting.length
}

export async function someoneWaits(db: Db): Promise<boolean> {
  return (await waitingIn(db)) > 0
}
