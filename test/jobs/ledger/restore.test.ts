import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import { resume } from '../../../jobs/ledger/pause.ts'
import { until } from '../../processes.ts'
import { deliveryOf, untilState, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.end())

const hour = 3_600_000

test('a backup restored into another database sends nothing until it is resumed, and its overdue posts need review', async () => {
  const first = await w.worker()
  const before = await w.delivery('readable')
  await untilState(w.db, before.id, 'published')
  await first.stop()
  const due = await w.delivery('readable', new Date(Date.now() - 1000))
  const later = await w.delivery('keyed', new Date(Date.now() + hour))
  const source = new URL(w.site.databaseUrl).pathname.slice(1)
  const server = connect(`${inject('postgres')}/postgres`, { connections: 1, name: 'test' })
  await server.db.execute(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${source} and pid <> pg_backend_pid()`,
  )
  await server.db.execute(sql.raw(`create database ${source}_restored template ${source}`))
  const databaseUrl = `${inject('postgres')}/${source}_restored`
  const restored = connect(databaseUrl, { connections: 2, name: 'test' })
  await restored.db.execute(sql`create publication everything for all tables`) // as operators do who replicate it

  const worker = await w.worker({ env: { DATABASE_URL: databaseUrl } })

  expect(await deliveryOf(restored.db, due.id)).toMatchObject({ state: 'needs_review', error: { code: 'restored' } })
  expect(worker.log()).toContain('this database was restored or failed over')
  await restored.db.execute(sql`update deliveries set due_at = now() where id = ${later.id}`)
  await restored.db.execute(
    sql`select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs where key = ${later.id}), run_at => now())`,
  )
  await until(
    async () => (await restored.db.execute(sql`select from graphile_worker.jobs where key = ${later.id}`)).length === 0,
  )
  expect(w.fake.received).toHaveLength(1)
  await resume(restored.db, { scope: 'all' })
  await untilState(restored.db, later.id, 'published')
  await w.rest()

  const again = await w.worker({ env: { DATABASE_URL: databaseUrl } })
  expect(again.log()).not.toContain('this database was restored') // the restore is known now
  await w.rest()
  await restored.end()
  await server.db.execute(sql.raw(`drop database ${source}_restored with (force)`))
  await server.end()
})
