import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Db, unbounded } from '../../../db/client.ts'
import { migrate } from '../../../db/migrate.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { resume } from '../../../jobs/ledger/pause.ts'
import { testDatabase } from '../../postgres/database.ts'
import { type Site, type Started, startWeb, startWorker, testSite, until } from '../../processes.ts'
import { type Answer, callApi } from '../../server/web.ts'

// The data of an installation with version 10 of the database (posts in every state, of two organisations) is
// migrated to this version, and to a next one while it is used.

const Fixture = join(import.meta.dirname, '../../db/fixtures/version-10.sql')
const Migrations = join(import.meta.dirname, '../../../db/migrations')
const SecretKeys = Buffer.from('old-version-old-version-old-vers').toString('base64')
const keys = {
  ada: 'pak_live_K4s0WBmhx0T71O6IIeA5Oi4WoXK5vf0QXMwH',
  grace: 'pak_live_RwTfI4WF9tXZkyGhfEALRJQcZdL4bB0FhuIA',
}
type Person = keyof typeof keys
const people = Object.keys(keys) as Person[]

let database: Awaited<ReturnType<typeof testDatabase>>
let url: string
let db: Db
let end: () => Promise<void>
let site: Site
const running: Started[] = []
const folders: string[] = []
beforeAll(async () => {
  database = await testDatabase()
  const name = `${new URL(database.url).pathname.slice(1)}_upgrade`
  await database.db.execute(sql.raw(`create database ${name} template template0`))
  url = `${inject('postgres')}/${name}`
  const loading = connect(url, { connections: 1, name: 'test', bounds: unbounded })
  await loading.db.execute(sql.raw(await readFile(Fixture, 'utf8')))
  await loading.end()
  ;({ db, end } = connect(url, { connections: 2, name: 'test', bounds: unbounded }))
  // Makes the data look like today's: scheduled posts are still due in the future.
  await db.execute(sql`update deliveries set due_at = now() + interval '1 day' where state = 'scheduled'`)
  await migrate(url)
  site = await testSite(url, { SECRET_KEYS: SecretKeys })
  running.push(await startWeb(site), await startWorker(site))
  // A dump brought the data here, so nothing is sent until an operator says so.
  const stopped = () => db.execute(sql`select from installation where restored_at is not null`)
  await until(async () => (await stopped().catch(() => [])).length > 0) // the worker that notices ends all connections
  await db.transaction((tx) => resume(tx, { scope: 'all' }))
})
afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()))
  await end()
  await database.db.execute(sql.raw(`drop database ${new URL(url).pathname.slice(1)} with (force)`))
  await database.end()
  await site.end()
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
})

const call = (person: Person, method: string, path: string, json?: object): Promise<Answer> =>
  callApi(site.appUrl, method, path, { key: keys[person], ...(json ? { json } : {}) })
const postsOf = async (person: Person, query = ''): Promise<Shown[]> =>
  (await call(person, 'GET', `/posts?limit=100${query}`)).json.data
type Shown = { id: string; content: string; status: string; deliveries: { status: string }[] }

const broken = async () => (await db.transaction(checkInvariants)).filter(({ broken }) => broken > 0)

const kept = ['CANCELLED', 'DRAFT', 'HELD', 'NEEDS_REVIEW', 'PUBLISHED', 'PUBLISHING', 'SCHEDULED']

test('the migrated data is whole, and each post is in the list of its status', async () => {
  expect(await broken()).toEqual([])
  for (const person of people) {
    const posts = await postsOf(person)
    expect(posts).toHaveLength(19)
    const byStatus = Map.groupBy(posts, ({ status }) => status)
    expect(byStatus.get('PUBLISHED')).toHaveLength(6)
    expect([...byStatus.keys()].sort()).toEqual(kept)
    for (const [status, some] of byStatus) {
      const listed = await postsOf(person, `&status=${status}`)
      expect(listed.map(({ id }) => id).sort()).toEqual(some.map(({ id }) => id).sort())
    }
  }
})

test('a waiting post follows the decision of its owner, and a new post goes out', async () => {
  const waiting = { failed: 'Later 1 of ada', needs_review: 'Later 2 of ada' }
  const idOf = async (content: string) => (await postsOf('ada')).find((post) => post.content === content)!.id
  const failed = await idOf(waiting.failed)
  expect((await call('ada', 'POST', `/posts/${failed}/retry`)).status).toBe(200)
  const unknown = await idOf(waiting.needs_review)
  const [delivery] = (await call('ada', 'GET', `/posts/${unknown}`)).json.deliveries.filter(
    ({ status }: { status: string }) => status === 'NEEDS_REVIEW',
  )
  const said = { outcome: 'published' }
  const resolved = await call('ada', 'POST', `/posts/${unknown}/deliveries/${delivery.channelId}/resolve`, said)
  expect([resolved.status, resolved.json.detail]).toEqual([200, undefined])
  const { json: made } = await create('grace', 'New here')
  await until(async () => (await postsOf('grace', '&status=PUBLISHED')).some(({ id }) => id === made.id))
  await until(async () => {
    const { deliveries } = (await call('ada', 'GET', `/posts/${failed}`)).json as Shown
    return deliveries.some(({ status }) => status === 'PUBLISHED')
  })
  expect(await broken()).toEqual([])
})

test('a next version is deployed under traffic: nothing is lost, sent twice or sent to the wrong caller', async () => {
  const made: { person: Person; id: string }[] = []
  const strange: string[] = []
  let isOver = false
  const traffic = people.map(async (person) => {
    for (let no = 0; !isOver; no++) {
      const answer = await create(person, `${person} ${no}`).catch(() => null) // this process is stopping
      if (answer?.status === 201) made.push({ person, id: answer.json.id })
      for (const post of await postsBesideMigration(person))
        if (/^(ada|grace) /.test(post.content) && !post.content.startsWith(person)) strange.push(post.content)
    }
  })
  await until(() => made.length > 20)
  await migrate(url, await aNextVersion())
  const old = running.splice(0)
  const besides = await testSite(url, { SECRET_KEYS: SecretKeys })
  running.push(await startWorker(site), await startWeb(besides)) // before the old ones stop
  await Promise.all(old.map((one) => one.stop()))
  running.push(await startWeb(site))
  const soFar = made.length
  await until(() => made.length > soFar + 20)
  isOver = true
  await Promise.all(traffic)

  expect(strange).toEqual([])
  for (const { person, id } of made)
    await until(async () => (await call(person, 'GET', `/posts/${id}`)).json.status === 'PUBLISHED')
  const twice = await db.execute(sql`
    select content from feed_items where content ~ '^(ada|grace) [0-9]+$' group by 1 having count(*) > 1`)
  expect([...twice]).toEqual([])
  expect(await broken()).toEqual([])
  await besides.end()
})

// A call during a migration may get 503 once (docs/operations.md), or meet a process that stops.
async function postsBesideMigration(person: Person): Promise<Shown[]> {
  const answer = await call(person, 'GET', '/posts?limit=100').catch(() => null)
  if (!answer || answer.status === 503) return []
  expect(answer.status).toBe(200)
  return answer.json.data
}

async function create(person: Person, content: string): Promise<Answer> {
  const channelId = (await call(person, 'GET', '/channels')).json.data[0].id
  return call(person, 'POST', '/posts', { type: 'now', content, channelIds: [channelId] })
}

/** Our migrations and one more. It makes only changes that docs/operations.md calls safe while processes run. */
async function aNextVersion(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'punctual-next-'))
  folders.push(folder)
  await cp(Migrations, folder, { recursive: true })
  const file = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(await readFile(file, 'utf8')) as { entries: { idx: number; when: number }[] }
  const last = journal.entries.at(-1)!
  const next = { ...last, idx: last.idx + 1, when: last.when + 1, tag: '9999_next' }
  await writeFile(file, JSON.stringify({ ...journal, entries: [...journal.entries, next] }))
  const columns = ['posts', 'deliveries', 'media'].map(
    (name) => `alter table ${name} add column of_next text default 'new'`,
  )
  const more = ['create table of_next (id uuid primary key)', 'create index posts_of_next on posts (created_at)']
  await writeFile(join(folder, '9999_next.sql'), [...columns, ...more].join(';--> statement-breakpoint\n'))
  return folder
}
