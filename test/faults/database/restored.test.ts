import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type SQL, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest'
import { connect, type Tx } from '../../../db/client.ts'
import { startServer } from '../../../db/embedded/postgres.ts'
import { isMarkWhole } from '../../../jobs/ledger/database-identity.ts'
import { anOrganisation, someDeliveries } from '../../builders.ts'
import { freePort } from '../../port.ts'
import { type Cluster, startCluster } from '../../postgres/cluster.ts'
import { testDatabase } from '../../postgres/database.ts'
import { withDebianPostgres } from '../../postgres/debian.ts'
import { startWeb, until } from '../../processes.ts'
import { callApi } from '../../server/web.ts'
import { kinds } from '../../stand-ins/fake-network.ts'
import { statesOf, untilPublished, type World, world } from '../../world.ts'

const run = promisify(execFile)
const debian = await withDebianPostgres()
const hour = 3_600_000
const stopped = sql`select from installation where restored_at is not null`
vi.setConfig({ testTimeout: 300_000 }) // PostgreSQL’s tools, and three workers one after another

let cluster: Cluster
beforeAll(async () => {
  if (debian.bin) cluster = await startCluster({ fsync: 'off', full_page_writes: 'off' }, debian)
})
afterAll(() => cluster?.end())

const tool = (name: string, ...args: string[]) => run(join(debian.bin, name), args, { ...debian.user, cwd: '/' })

for (const [how, ...args] of [
  ['with --clean', '--clean', '--if-exists'],
  ['with --clean in one transaction', '--clean', '--if-exists', '--single-transaction'],
  ['with --clean by four processes', '--clean', '--if-exists', '--jobs=4'],
] as const)
  test(`a dump restored into the same database ${how} while a worker runs sends nothing again`, async (context) => {
    const scene = await sent(context)
    await asOftenAsNeeded(() => tool('pg_restore', ...args, '-d', scene.url, scene.dump))
    await expectStopped(scene, scene.url)
  })

for (const [how, isMarkKept] of [
  ['after all tables were emptied', false],
  ['after all tables but the mark were emptied', true],
] as const)
  test(`data alone restored ${how} while a worker runs sends nothing again`, async (context) => {
    const scene = await sent(context)
    await asOftenAsNeeded(() => onDatabase(scene.url, (db) => empty(db, isMarkKept)))
    await tool('pg_restore', '--data-only', '--disable-triggers', '-d', scene.url, scene.dump)
    await expectStopped(scene, scene.url)
  })

for (const [how, stop, ...args] of [
  ['a worker notices it', untilNoticed],
  ['the operator reports it', sayRestored, '--single-transaction'], // as docs/operations.md says
] as const)
  test(`after a dump is restored into the same database and ${how}, running processes publish again without a restart`, async (context) => {
    const scene = await sent(context)
    const { w, url, worker, callers } = scene
    const web = await startWeb(w.site)
    context.onTestFinished(async () => void (await web.stop()))
    const frozen = await w.worker({ timesFactor: 1 })
    const api = (method: string, path: string, json?: object) =>
      callApi(w.site.appUrl, method, path, { key: callers.key, ...(json ? { json } : {}) })
    const publishEach = async () => {
      const answers = await Promise.all(
        callers.channelIds.map((id) => api('POST', '/posts', { type: 'now', content: 'hello', channelIds: [id] })),
      )
      expect(answers.map(({ status }) => status)).toEqual(callers.channelIds.map(() => 201))
      for (const { json } of answers)
        await until(async () => (await api('GET', `/posts/${json.id}`)).json.status === 'PUBLISHED')
    }
    await publishEach() // every connection has prepared statements and types from before the restore

    await asOftenAsNeeded(() => tool('pg_restore', '--clean', '--if-exists', ...args, '-d', url, scene.dump))
    frozen.kill('SIGSTOP') // it notices nothing until sending goes on
    await stop(scene)
    await admin(w, url, 'resume')
    const logs = [worker, web].map(({ log }) => log().length)
    frozen.kill('SIGCONT')

    await publishEach()
    expect(w.fake.received).toHaveLength(12 + 2 * callers.channelIds.length)
    for (const list of ['/posts', '/posts?status=PUBLISHED', '/channels'])
      expect((await api('GET', list)).status).toBe(200)
    const { stdout } = await admin(w, url, 'verify').catch((error: { stdout: string }) => error) // exits 1 if one is broken
    expect(JSON.parse(stdout).invariants.filter(({ broken }: { broken: number }) => broken > 0)).toEqual([])
    const since = [worker, web].map(({ log }, i) => log().slice(logs[i])).join('')
    expect(since).not.toMatch(/malformed array literal|cache lookup failed/)
  })

test('a dump restored into a new database sends nothing again', async (context) => {
  const scene = await sent(context)
  const url = `${scene.url}_new`
  await onDatabase(scene.url, (db) => db.execute(sql.raw(`create database "${new URL(url).pathname.slice(1)}"`)))
  await tool('pg_restore', '-d', url, scene.dump)
  await expectStopped(scene, url)
})

test('a standby that became the primary sends nothing until resume, because it may not know all posts that went out', async (context) => {
  const scene = await sent(context)
  const url = await promotedStandby(context, scene)
  await expectStopped(scene, url, [])
})

test('where failovers are allowed, a standby that became the primary goes on sending', async (context) => {
  const scene = await sent(context)
  await admin(scene.w, scene.url, 'failover', 'go-on')
  const url = await promotedStandby(context, scene)
  await onDatabase(url, (db) => db.execute(sql`update deliveries set due_at = now() where id = ${scene.later}`))
  await scene.w.worker({ env: { DATABASE_URL: url } })
  await onDatabase(url, (db) => untilPublished(db as World['db'], [scene.later]))
  expect(scene.w.fake.received).toHaveLength(13)
})

test('maintenance by PostgreSQL or an operator leaves the database mark valid', async (context) => {
  for (const server of [cluster.server, undefined]) {
    const { db, end } = await testDatabase(server ? { server } : {})
    context.onTestFinished(end)
    for (const upkeep of ['vacuum freeze', 'vacuum full', 'analyze', 'checkpoint']) await db.execute(sql.raw(upkeep))
    expect(await db.execute(sql`select ${isMarkWhole} as is`)).toMatchObject([{ is: true }])
  }
})

/**
 * A dump was made, then twelve posts went out, and a worker still runs; `later` is due in an hour. `callers` has the
 * key and the channels of another organisation.
 */
async function sent(context: TestContext) {
  const database = await testDatabase({ server: cluster.server })
  const w = await world({ database })
  context.onTestFinished(w.end)
  await (await w.worker()).stop() // from here on the database has its mark
  const aPost = async (dueAt: Date) => {
    const channelId = await w.channel('blind')
    return { organisationId: w.organisationId, channelId, dueAt }
  }
  const ids = await someDeliveries(w.db, await Promise.all(Array.from({ length: 12 }, () => aPost(new Date()))))
  const [later] = await someDeliveries(w.db, [await aPost(new Date(Date.now() + hour))])
  const { organisationId, key } = await anOrganisation(w.db)
  const channelIds = await Promise.all(kinds.map((kind) => w.channel(kind, undefined, organisationId)))
  const dump = join(cluster.home, `${new URL(database.url).pathname.slice(1)}.dump`)
  await tool('pg_dump', '--format=custom', '--file', dump, database.url)
  const first = await w.worker({ timesFactor: 1 }) // one attempt each, even on a slow machine
  await untilPublished(w.db, ids)
  await first.stop()
  const worker = await w.worker()
  return { w, worker, ids, later: later!, url: database.url, dump, callers: { key, channelIds } }
}

type Scene = Awaited<ReturnType<typeof sent>>

/** Nothing goes out again from the database at `url`: overdue posts need review, and the rest goes out after `resume`. */
async function expectStopped({ w, ids, later }: Scene, url: string, restored = ids): Promise<void> {
  const inReview = sql`select from deliveries where state = 'needs_review' and error->>'code' = 'restored'`
  const count = (rows: SQL) => onDatabase(url, async (db) => (await db.execute(rows)).length)
  if (url !== w.site.databaseUrl) await w.worker({ env: { DATABASE_URL: url } })
  await until(async () => (await count(stopped).catch(() => 0)) === 1)
  await until(async () => (await count(inReview).catch(() => 0)) === restored.length)
  await w.stopWorkers()
  await w.worker({ env: { DATABASE_URL: url } })
  await onDatabase(url, (db) => db.execute(sql`update deliveries set due_at = now() where id = ${later}`))
  const beats = sql`select from workers where gone_at is null and seen_at > started_at + interval '2 s'`
  await until(async () => (await count(beats)) > 0)
  expect(w.fake.received).toHaveLength(12)
  await admin(w, url, 'resume')
  await onDatabase(url, (db) => until(async () => (await statesOf(db as World['db'], [later]))[0] === 'published'))
  expect(w.fake.received).toHaveLength(13)
  expect(await count(inReview)).toBe(restored.length)
}

function untilNoticed({ url }: Scene): Promise<unknown> {
  const isNoticed = () => onDatabase(url, async (db) => (await db.execute(stopped)).length === 1)
  return until(() => isNoticed().catch(() => false)) // the process that notices it ends this connection too
}

async function sayRestored({ w, url }: Scene): Promise<void> {
  await admin(w, url, 'after-restore')
}

async function promotedStandby({ onTestFinished }: TestContext, { url }: Scene): Promise<string> {
  const port = await freePort()
  const folder = join(cluster.home, `standby-${port}`)
  await tool('pg_basebackup', '-D', folder, '-R', '--checkpoint=fast', '-d', `${cluster.server}/postgres`)
  await startServer(debian, folder, { port })
  onTestFinished(async () => void (await tool('pg_ctl', 'stop', '-m', 'immediate', '-D', folder)))
  const standby = Object.assign(new URL(url), { port }).href
  await onDatabase(standby, (db) => db.execute(sql`select pg_promote()`))
  return standby
}

function admin(w: World, url: string, ...args: string[]) {
  return run(process.execPath, ['server/run/admin.ts', ...args], {
    env: { ...process.env, ...w.site.env, DATABASE_URL: url },
  })
}

/** The worker and a restore lock tables in different orders. The operator tries again after a deadlock. */
async function asOftenAsNeeded(work: () => Promise<unknown>): Promise<unknown> {
  return work().catch((error: Error) => {
    if (!`${error} ${error.cause}`.includes('deadlock detected')) throw error
    return asOftenAsNeeded(work)
  })
}

async function empty(db: Tx, isMarkKept: boolean): Promise<void> {
  const tables = await db.execute<{ name: string }>(sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('public', 'graphile_worker', 'drizzle') and not (tablename = 'database_mark' and ${isMarkKept})`)
  await db.execute(sql.raw(`set session_replication_role = replica; truncate ${[...tables].map(({ name }) => name)}`))
}

async function onDatabase<T>(url: string, work: (db: Tx) => Promise<T>): Promise<T> {
  const { db, end } = connect(url, { connections: 1, name: 'test' }) // new: the old one has statements for old tables
  return work(db).finally(end)
}
