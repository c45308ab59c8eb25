import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { aKeyOfAllScopes, anOrganisation } from '../../builders.ts'
import { type Cluster, startCluster } from '../../postgres/cluster.ts'
import { testDatabase } from '../../postgres/database.ts'
import { type Started, startWeb, testSite, until } from '../../processes.ts'
import { type Answer, callApi } from '../../server/web.ts'
import { type Chance, chanceOf } from '../../storm/chance.ts'
import { untilPublished, type World, world } from '../../world.ts'
import { assertInvariants } from '../invariants.ts'

// I7: two organisations read and publish at the same time, over few connections, while the database changes under
// their processes. ISOLATION_MINUTES sets how long, ISOLATION_SEED the order of events.

const Minutes = Number(process.env.ISOLATION_MINUTES ?? 1)
const Seed = Number(process.env.ISOLATION_SEED ?? 1)
const CallersOfEach = 15
const AnsweredWithinMs = 60_000 // ten times what a frozen database may cost: nothing may hang
const FewConnections = { DATABASE_CONNECTIONS: '3' }

test('every answer belongs to its caller or is an error, and no call hangs, whatever happens to the database', {
  timeout: Minutes * 60_000 + 300_000,
}, async () => {
  const cluster = await startCluster({ fsync: 'off', full_page_writes: 'off', max_connections: '200' })
  const w = await world({ database: await testDatabase({ server: cluster.server }) })
  const sites = await Promise.all([testSite(w.site.databaseUrl, w.site.env), testSite(w.site.databaseUrl, w.site.env)])
  const env = ({ port, appUrl }: (typeof sites)[number]) => ({ PORT: String(port), APP_URL: appUrl, ...FewConnections })
  const webs = await Promise.all(sites.map((site) => startWeb({ ...site, env: { ...site.env, ...env(site) } })))
  const workers = [
    await w.worker({ timesFactor: 1, env: FewConnections }),
    await w.worker({ timesFactor: 1, env: FewConnections }),
  ]
  const askers = await Promise.all([anAsker(w, sites[0]!.appUrl, 'first'), anAsker(w, sites[1]!.appUrl, 'second')])
  const chance = chanceOf(Seed)
  const seen: Seen = { own: 0, errors: 0, foreign: [], slowestMs: 0, posts: [] }
  const blows: Record<string, number> = {}
  try {
    const end = Date.now() + Minutes * 60_000
    const callers = askers.flatMap((asker) =>
      asker.channelIds.map((channelId, i) =>
        goOnAsking({ ...asker, channelId }, sites[i % 2]!.appUrl, chance, end, seen),
      ),
    )
    const callersEnd = Promise.all(callers)
    for (let n = 0; Date.now() < end; n++) {
      const name = await strike(w.db, cluster, chance, n)
      blows[name] = (blows[name] ?? 0) + 1
      await sleep(chance.between(50, 800))
    }
    await callersEnd
    process.stdout.write(`Seed ${Seed}: ${JSON.stringify({ ...seen, posts: seen.posts.length, blows })}\n`)
    expect(seen.foreign).toEqual([])
    expect(seen.own).toBeGreaterThan(100)
    expect(seen.slowestMs).toBeLessThan(AnsweredWithinMs)
    for (const { appUrl } of sites) await until(async () => (await fetch(`${appUrl}/readyz`)).ok)
    const ids = await w.db.execute<{ id: string }>(
      sql`select id from deliveries where post_id = any(${sql.param(seen.posts)}::uuid[])`,
    )
    expect(ids.length).toBe(seen.posts.length)
    await untilPublished(
      w.db,
      [...ids].map(({ id }) => id),
    )
    await assertInvariants(w, { lostAfterMs: 60_000 })
    await expectAlive([...webs, ...workers])
  } catch (error) {
    const states = await w.db
      .execute(sql`select state, count(*)::int, min(error->>'code') as code from deliveries group by state`)
      .catch(String)
    process.stdout.write(`${JSON.stringify(states)}\n${[...webs, ...workers].map(warningsOf).join('')}`)
    throw error
  } finally {
    await Promise.all(webs.map((web) => web.stop()))
    await Promise.all(sites.map((site) => site.end()))
    await w.end()
    await cluster.end()
  }
})

async function expectAlive(processes: Started[]): Promise<void> {
  const ended = processes.map(async ({ ended }) => `ended with ${await ended}`)
  expect(await Promise.race([...ended, sleep(0, null)])).toBe(null)
}

/** The lines of a process's log above the level info. */
function warningsOf({ pid, log }: Started): string {
  const lines = log().split('\n')
  return `Process ${pid}, of ${lines.length} lines:\n${lines.filter((line) => !line.startsWith('{"level":30')).join('\n')}\n`
}

type Asker = { organisationId: string; name: string; key: string; channelIds: string[]; postId: string }

// Each caller has its own channel: a network may accept parallel sends of one channel in another order than their
// dates.
type Caller = Asker & { channelId: string }

async function anAsker(w: World, appUrl: string, name: string): Promise<Asker> {
  const made = await anOrganisation(w.db, name)
  const key = await aKeyOfAllScopes(w.db, made)
  const aChannel = () => w.channel('keyed', `good of ${made.organisationId}`, made.organisationId)
  const channelIds = await Promise.all(Array.from({ length: CallersOfEach }, aChannel))
  const asked = { key, json: { type: 'draft', content: `of ${name}`, channelIds: [channelIds[0]] } }
  const { json } = await callApi(appUrl, 'POST', '/posts', asked)
  return { organisationId: made.organisationId, name, key, channelIds, postId: json.id }
}

type Seen = { own: number; errors: number; foreign: string[]; slowestMs: number; posts: string[] }

async function goOnAsking(asker: Caller, appUrl: string, chance: Chance, end: number, seen: Seen): Promise<void> {
  while (Date.now() < end) {
    const question = chance.of(questions)
    const begun = performance.now()
    const late = sleep(AnsweredWithinMs, `nothing for ${AnsweredWithinMs} ms`, { ref: false })
    const answer = await Promise.race([question.ask(asker, appUrl).catch(String), late])
    seen.slowestMs = Math.max(seen.slowestMs, Math.round(performance.now() - begun))
    if (typeof answer === 'string') return void seen.foreign.push(`${asker.name} ${question.name}: ${answer}`)
    if (answer.status >= 500) seen.errors++
    else if (question.isOwn(asker, answer)) seen.own++
    else seen.foreign.push(`${asker.name} ${question.name} ${answer.status} ${answer.text.slice(0, 300)}`)
    if (answer.status === 201) seen.posts.push(answer.json.id)
  }
}

type Question = {
  name: string
  ask: (asker: Caller, appUrl: string) => Promise<Answer>
  isOwn: (asker: Caller, answer: Answer) => boolean
}

const reading = (name: string, path: (asker: Caller) => string, isOwn: Question['isOwn']): Question => ({
  name,
  ask: (asker, appUrl) => callApi(appUrl, 'GET', path(asker), { key: asker.key }),
  isOwn: (asker, answer) => answer.status === 200 && isOwn(asker, answer),
})

const questions: Question[] = [
  reading(
    'me',
    () => '/me',
    ({ organisationId }, { json }) => json.organisation?.id === organisationId,
  ),
  reading(
    'channels',
    () => '/channels',
    ({ channelIds }, { json }) =>
      json.data.length === channelIds.length && json.data.every(({ id }: { id: string }) => channelIds.includes(id)),
  ),
  reading(
    'post',
    ({ postId }) => `/posts/${postId}`,
    ({ postId, name }, { json }) => json.id === postId && json.content === `of ${name}`,
  ),
  reading(
    'posts',
    () => '/posts?limit=5',
    (asker, { json }) =>
      json.data.every(
        ({ content, channelIds }: { content: string; channelIds: string[] }) =>
          content === `of ${asker.name}` && asker.channelIds.includes(channelIds[0]!),
      ),
  ),
  {
    name: 'create',
    ask: ({ key, name, channelId }, appUrl) =>
      callApi(appUrl, 'POST', '/posts', { key, json: { type: 'now', content: `of ${name}`, channelIds: [channelId] } }),
    isOwn: ({ name, channelId }, { status, json }) =>
      status === 201 && json.content === `of ${name}` && json.channelIds[0] === channelId,
  },
]

/** Makes something happen to the database and returns its name. */
async function strike(db: Db, cluster: Cluster, chance: Chance, n: number): Promise<string> {
  const blow = chance.weighted({ 'a column': 8, 'a type': 8, 'ended backends': 3, restart: 1, freeze: 1 })
  if (blow === 'restart') {
    await cluster.stop(chance.of(['fast', 'immediate']))
    await sleep(chance.between(0, 1000))
    await cluster.start()
  } else if (blow === 'freeze') {
    await cluster.freeze()
    await sleep(chance.between(500, 6000))
    await cluster.thaw()
  } else if (blow === 'ended backends') {
    await change(
      db,
      `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'punctual%' and pid <> pg_backend_pid() and random() < 0.4`,
    )
  } else if (blow === 'a column') {
    for (const table of [chance.of(busiest), ...(await nextTables(db))])
      if (!(await change(db, `alter table ${table} add column if not exists extra_${n} text default 'x'`)))
        return 'a column, not possible'
  } else {
    const { table, column } = chance.of(await instantsOf(db))
    if (!(await change(db, `alter table ${table} alter column ${column} type timestamptz(6)`)))
      return 'a type, not possible'
  }
  return blow
}

const busiest = ['posts', 'channels', 'deliveries', 'api_keys', 'organisations', 'idempotency_keys']

/** The tables with the fewest extra columns. */
async function nextTables(db: Db): Promise<string[]> {
  const rows = await db
    .execute<{ table: string }>(sql`
      select table_name as table from information_schema.columns where table_schema = 'public'
      group by table_name order by count(*) filter (where column_name like 'extra_%'), table_name limit 2`)
    .catch(() => [])
  return rows.map(({ table }) => table)
}

// A statement that reads such a column returns another type after the change, as after a migration that widens a
// column.
async function instantsOf(db: Db): Promise<{ table: string; column: string }[]> {
  const rows = await db
    .execute<{ table: string; column: string }>(sql`
      select table_name as table, column_name as column from information_schema.columns
      where table_schema = 'public' and udt_name = 'timestamptz' and datetime_precision = 3`)
    .catch(() => [])
  return rows.length > 0 ? [...rows] : [{ table: 'posts', column: 'created_at' }]
}

/** Works as a migration does, on its own connection. False: the database was away, locked, or does not allow the
 * change. */
async function change(db: Db, statement: string): Promise<boolean> {
  return db
    .transaction(async (tx) => {
      await tx.execute(sql`set local lock_timeout = '2s'`)
      await tx.execute(sql.raw(statement))
      return true
    })
    .catch(() => false)
}
