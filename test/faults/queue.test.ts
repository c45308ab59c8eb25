import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { until } from '../processes.ts'
import { untilState, type World, world } from '../world.ts'

// The queue of a worker fails, or hangs, while the database runs.

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

test('a worker whose queue ends before it notices that its connections were lost goes on under a new owner id, in the same process', async (context) => {
  const worker = await w.worker()
  let code: number | null | undefined
  void worker.ended.then((exit) => (code = exit))
  await w.db.execute(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`)
  await w.db.execute(sql`
    create trigger refuse before delete on graphile_worker._private_jobs for each row execute function refuse()`)
  const allow = () => w.db.execute(sql`drop function if exists refuse cascade`)
  context.onTestFinished(async () => void (await allow()))
  const { id } = await w.delivery('readable')
  await until(() => worker.log().includes('Failed to complete jobs'))
  await w.db.execute(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'punctual queue'`)
  await allow()
  await until(() => code !== undefined || worker.log().split('"worker runs"').length > 2, 110_000) // the queue may hang
  expect(code).toBeUndefined()
  expect(await untilState(w.db, id, 'published')).toMatchObject({ crashCount: 0 })
}, 240_000)

test('a worker whose queue hangs goes on under a new owner id, in the same process', async (context) => {
  const worker = await w.worker()
  let code: number | null | undefined
  void worker.ended.then((exit) => (code = exit))
  await w.db.execute(sql`
    create function hold_back() returns trigger language plpgsql as $$ begin new.run_at := 'infinity'; return new; end $$`)
  await w.db.execute(sql`
    create trigger hold_back before insert or update on graphile_worker._private_jobs for each row
    when (new.key like 'canary-%') execute function hold_back()`)
  const allow = () => w.db.execute(sql`drop function if exists hold_back cascade`)
  context.onTestFinished(async () => void (await allow()))
  await until(() => code !== undefined || worker.log().includes('the queue hangs'), 110_000)
  await allow()
  await until(() => code !== undefined || worker.log().split('"worker runs"').length > 2)
  expect(code).toBeUndefined()
  const { id } = await w.delivery('readable')
  expect(await untilState(w.db, id, 'published')).toMatchObject({ crashCount: 0 })
}, 240_000)

test('a worker that loses all its connections goes on under a new owner id, in the same process, again and again', async () => {
  const worker = await w.worker({ timesFactor: 1 })
  let code: number | null | undefined
  void worker.ended.then((exit) => (code = exit))
  for (let round = 1; round <= 5; round++) {
    await w.db.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'punctual test'`)
    await until(() => code !== undefined || worker.log().split('"worker runs"').length > round + 1)
    expect(code).toBeUndefined()
    const { id } = await w.delivery('readable')
    expect(await untilState(w.db, id, 'published')).toMatchObject({ crashCount: 0, attemptNo: 1 })
  }
})
