import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { migrate as applyOurs } from 'drizzle-orm/postgres-js/migrator'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Db, unbounded } from '../../db/client.ts'
import { migrate } from '../../db/migrate.ts'
import { checkInvariants } from '../../jobs/ledger/invariants.ts'
import { someoneWaits, testDatabase } from '../postgres/database.ts'
import { fillOrganisation } from '../postgres/many-posts.ts'
import { until } from '../processes.ts'

// Migration 0015 on a database that the version before it has filled. The output has the time. POSTS=100000 sets the
// number of posts.

const Posts = Number(process.env.POSTS ?? 3000)
const Migrations = join(import.meta.dirname, '../../db/migrations')

let database: Awaited<ReturnType<typeof testDatabase>>
let older: string
let url: string
let db: Db
let end: () => Promise<void>
beforeAll(async () => {
  database = await testDatabase()
  const name = `${new URL(database.url).pathname.slice(1)}_older`
  await database.db.execute(sql.raw(`create database ${name} template template0`))
  url = `${inject('postgres')}/${name}`
  older = await mkdtemp(join(tmpdir(), 'punctual-older-'))
  await cp(Migrations, older, { recursive: true })
  const journal = JSON.parse(await readFile(join(Migrations, 'meta/_journal.json'), 'utf8')) as {
    entries: { idx: number }[]
  }
  const before = { ...journal, entries: journal.entries.filter(({ idx }) => idx < 15) }
  await writeFile(join(older, 'meta/_journal.json'), JSON.stringify(before))
  ;({ db, end } = connect(url, { connections: 2, name: 'test', bounds: unbounded }))
  await applyOurs(db, { migrationsFolder: older })
})
afterAll(async () => {
  await end()
  await database.db.execute(sql.raw(`drop database ${new URL(url).pathname.slice(1)} with (force)`))
  await database.end()
  await rm(older, { recursive: true })
})

test('posts of the version before get the status of their deliveries, and are in the lists of their channels', async () => {
  const [organisationId, accountId] = [uuidv7(), uuidv7()]
  await db.execute(sql`insert into organisations (id, name) values (${organisationId}, 'Works')`) // columns of that version
  await db.execute(sql`
    insert into accounts (id, name, email, password_hash) values (${accountId}, 'Ada', 'ada@example.org', '')`)
  await fillOrganisation(db, { organisationId, count: Posts, channelCount: 20 })
  await db.execute(sql`update posts set told = null where told = 'DRAFT'`) // no event was ever sent
  await db.execute(sql`update posts set told = 'PUBLISHING' where told = 'SCHEDULED'`) // an event said PUBLISHING
  const begun = performance.now()
  // What a worker that settles does at the same time: it locks the post first, then writes its delivery.
  const settling = db.transaction(async (tx) => {
    const [one] = await tx.execute<{ id: string }>(sql`
      select p.id from posts p join deliveries d on d.post_id = p.id limit 1 for no key update of p`)
    await until(() => someoneWaits(db))
    await tx.execute(sql`update deliveries set created_at = created_at where post_id = ${one!.id}`)
  })
  await Promise.all([settling, migrate(url)])
  process.stdout.write(`migrated ${Posts} posts in ${Math.round(performance.now() - begun)} ms\n`)
  const broken = (await db.transaction(checkInvariants)).filter(({ name }) =>
    /status is kept|lists its posts/.test(name),
  )
  expect(broken.map(({ broken }) => broken)).toEqual([0, 0])
  const [row] = await db.execute(sql`
    select (select count(*) from deliveries) = (select count(*) from channel_posts) as "isWhole", count(*)::int as posts,
      count(*) filter (where told = 'DRAFT')::int as drafts from posts`)
  expect(row).toEqual({ isWhole: true, posts: Posts, drafts: Posts / 50 })
})

test('what a process of the version before writes is in the lists too', async () => {
  const [post] = await db.execute<{ id: string }>(sql`
    select post_id as id from channel_posts where is_alone and status = 'SCHEDULED' order by post_id limit 1`)
  const listed = async () => {
    const rows = await db.execute(sql`
      select status, date = '2030-01-01' as "isMoved", updated_at > now() - interval '1 minute' as "isRecent", is_alone as "isAlone" from channel_posts where post_id = ${post!.id}`)
    return [...rows]
  }
  await db.execute(sql`update posts set told = 'FAILED', date = '2030-01-01' where id = ${post!.id}`)
  expect(await listed()).toEqual([{ status: 'FAILED', isMoved: true, isRecent: true, isAlone: true }])
  await db.execute(sql`
    insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
    select gen_random_uuid(), d.organisation_id, d.post_id, c.id, 1, 'scheduled', now(), 'k' from deliveries d, channels c
    where d.post_id = ${post!.id} and c.id <> d.channel_id limit 1`)
  expect((await listed()).map(({ isAlone }) => isAlone)).toEqual([false, false])
  await db.execute(sql`delete from deliveries where publish_key = 'k'`)
  expect((await listed()).map(({ isAlone }) => isAlone)).toEqual([true])
  await db.execute(sql`delete from posts where id = ${post!.id}`)
  expect(await listed()).toEqual([])
})
