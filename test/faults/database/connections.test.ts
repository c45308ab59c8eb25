import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { describe, expect, inject, test } from 'vitest'
import { connect as connectDb } from '../../../db/client.ts'
import { until } from '../../processes.ts'
import { aDoor } from '../../stand-ins/door.ts'
import { kinds } from '../../stand-ins/fake-network.ts'
import { deliveryOf, untilPublished, type World } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'
import { endOf, oneOfEach, ownWorld, untilEnded } from '../play.ts'

/** Lets a delivery of each kind be sent. `answer` makes the network answer; it answers later sends at once. */
async function underWay(w: World) {
  const answers: (() => void)[] = []
  w.fake.behave = (_request, { show, reply }) => {
    const id = show()
    answers.push(() => reply(200, { id }))
  }
  const ids = await oneOfEach(w)
  await until(() => answers.length >= kinds.length) // older deliveries that waited may be under way as well
  const answer = () => {
    w.fake.behave = (_request, { show, reply }) => reply(200, { id: show() })
    for (const one of answers) one()
  }
  return { ids, answer }
}

describe.concurrent('a worker that loses its connections', () => {
  test('when the database ends them, it records what it sent, takes a new owner id, does not count as crashed, and works again', async (context) => {
    const role = `cut_${randomBytes(4).toString('hex')}`
    const server = connectDb(`${inject('postgres')}/postgres`, { connections: 1, name: 'test' })
    context.onTestFinished(async () => {
      await server.db.execute(sql.raw(`drop role if exists ${role}`)) // all tests share the server
      await server.end()
    })
    const w = await ownWorld(context)
    await w.db.execute(sql.raw(`create role ${role} superuser login password 'cut'`))
    const url = new URL(w.site.databaseUrl)
    Object.assign(url, { username: role, password: 'cut' })
    const cut = await w.worker({ timesFactor: 1, env: { DATABASE_URL: url.href } })
    const other = await w.worker({ timesFactor: 1 })
    other.kill('SIGSTOP') // alive, but claims nothing yet
    const { ids, answer } = await underWay(w)
    await w.db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`)
    other.kill('SIGCONT')
    answer()
    await untilPublished(w.db, Object.values(ids))
    for (const kind of kinds) {
      expect(await endOf(w, ids[kind])).toEqual({ state: 'published', evidence: 'answered', sent: 1, out: 1 })
      expect(await deliveryOf(w.db, ids[kind])).toMatchObject({ crashCount: 0 })
    }
    const owners = await until(() => {
      const seen = [...cut.log().matchAll(/"owner":"(pool-\w+)","pid"/g)].map(([, owner]) => owner)
      return seen.length >= 2 && seen
    })
    expect(new Set(owners).size).toBe(owners.length)
    other.kill('SIGSTOP')
    await untilPublished(w.db, Object.values(await oneOfEach(w)))
    await assertInvariants(w, { lostAfterMs: 60_000 })
  })

  test('when they are cut without a reset, another worker takes over, nothing is sent twice, and its health page reports it', async (context) => {
    const w = await ownWorld(context)
    const way = await aDoor(w.site.databaseUrl)
    context.onTestFinished(way.shut)
    const cut = await w.worker({ env: { DATABASE_URL: way.url } })
    const { ids, answer } = await underWay(w)
    way.silence()
    answer()
    await w.worker()
    await untilEnded(w, Object.values(ids))
    const found = { state: 'published', evidence: 'found', sent: 1, out: 1 }
    expect(await Promise.all(kinds.map((kind) => endOf(w, ids[kind])))).toEqual([
      { state: 'published', evidence: 'answered', sent: 2, out: 1 }, // keyed: the same key again is the same post
      found,
      found,
      { state: 'needs_review', evidence: null, sent: 1, out: 1 },
    ])
    const health = await fetch(`${cut.healthUrl}/readyz`)
    expect([health.status, await health.text()]).toEqual([503, 'readyz: the database does not answer\n'])
    await assertInvariants(w)
    cut.kill('SIGKILL') // stopping would wait 50 s for the database
  })

  // A trigger raises these errors. A freeze that is longer than a statement may take causes the second, a migration's
  // lock the third.
  test.for([
    ['a full disk', '53100'],
    ['a statement that took too long', '57014'],
    ['a lock that was not granted', '55P03'],
  ])('%s (%s): nothing is sent without an intent, and nothing is sent twice', async ([, code], context) => {
    const w = await ownWorld(context)
    await w.db.execute(
      sql.raw(`
      create function full_disk() returns trigger language plpgsql as $$ begin
        raise exception 'could not extend file: No space left on device' using errcode = '${code}';
      end $$;
      create trigger full_disk before update on deliveries for each row when (new.state = 'sending') execute function full_disk();`),
    )
    const worker = await w.worker()
    const ids = await oneOfEach(w)
    for (const kind of kinds)
      await until(async () => (await deliveryOf(w.db, ids[kind])).error?.code === 'database_away')
    expect(w.fake.received).toHaveLength(0)
    await w.db.execute(sql.raw('drop trigger full_disk on deliveries'))
    const { answer, ids: sent } = await underWay(w)
    await w.db.execute(
      sql.raw(`
      create trigger full_disk before update on deliveries for each row when (new.state = 'published') execute function full_disk()`),
    )
    answer()
    await until(() => worker.log().includes('we could not record what happened'))
    await w.db.execute(sql.raw('drop trigger full_disk on deliveries'))
    await untilEnded(w, [...Object.values(ids), ...Object.values(sent)])
    expect(w.fake.posts).toHaveLength(kinds.length * 2)
    await assertInvariants(w)
  })
})
