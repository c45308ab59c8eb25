import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import { installation } from '../../../db/schema/installation.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { afterRestore, markRestored } from '../../../jobs/ledger/restore.ts'
import { atCommandLine } from '../../../server/access/audit.ts'
import { goOnSending } from '../../../server/operations/pauses.ts'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { attemptsOf, deliveryOf, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
beforeEach(() => w.db.execute(sql`delete from deliveries`))
afterAll(() => w.end())

async function aRow(change: Partial<typeof deliveries.$inferInsert>, inMs = -60_000, at = w.organisationId) {
  const channelId = await aChannel(w.db, w.site.secretKey, { organisationId: at, network: 'readable' })
  const id = await aDelivery(w.db, { organisationId: at, channelId, dueAt: new Date(Date.now() + inMs) })
  await w.db.update(deliveries).set(change).where(eq(deliveries.id, id))
  return id
}

const restore = () => w.db.transaction(markRestored)

test('overdue posts in a restored backup need review, in every organisation, and events report it', async () => {
  const other = await anOrganisation(w.db)
  const lease = { leaseToken: uuidv7(), leaseOwner: 'gone', leaseUntil: new Date(), attemptNo: 1 }
  const scheduled = await aRow({ nextAttemptAt: new Date(Date.now() + 60_000), prepared: '{}' })
  const claimed = await aRow({ state: 'claimed', ...lease }, -60_000, other.organisationId)
  await w.db.execute(sql`
    insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at)
    values (gen_random_uuid(), ${other.organisationId}, ${claimed}, 1, 'gone', 1, now())`)
  const held = await aRow({ state: 'held' })
  const maybeOut = await aRow({ maybeOut: true, prepared: '{"text":"hello"}' })

  expect(await restore()).toEqual({ restoredAt: expect.any(Date), needsReview: 4, organisations: 2 })

  for (const id of [scheduled, claimed, held, maybeOut]) {
    const row = await deliveryOf(w.db, id)
    expect(row).toMatchObject({ state: 'needs_review', error: { code: 'restored' }, leaseToken: null })
    expect(row).toMatchObject({ nextAttemptAt: null, prepared: id === maybeOut ? '{"text":"hello"}' : null })
    expect(row.maybeOut).toBe(id === maybeOut)
    const [post] = await w.db.select().from(posts).where(eq(posts.id, row.postId))
    expect(post!.status).toBe('NEEDS_REVIEW')
  }
  expect(await attemptsOf(w.db, claimed)).toMatchObject([{ outcome: 'lost', endedAt: expect.any(Date) }])
  expect(await w.db.select().from(installation)).toMatchObject([{ restoredAt: expect.any(Date) }])
})

test('posts that are not due yet, have ended or are looked for do not change', async () => {
  const later = await aRow({ attemptNo: 0 }, 3_600_000)
  const failed = await aRow({ state: 'failed' })
  const sent = { maybeOut: true, prepared: '{}' }
  const uncertain = await aRow({ state: 'uncertain', lookAt: new Date(), ...sent })
  const draft = await aRow({ state: 'draft' })
  expect(await restore()).toMatchObject({ needsReview: 0, organisations: 0 })
  for (const [id, state] of [
    [later, 'scheduled'],
    [failed, 'failed'],
    [uncertain, 'uncertain'],
    [draft, 'draft'],
  ] as const)
    expect((await deliveryOf(w.db, id)).state).toBe(state)
})

test('one call puts thousands of posts in review, and a second call finds none', async () => {
  const { organisationId } = await anOrganisation(w.db)
  const channelId = await aChannel(w.db, w.site.secretKey, { organisationId, network: 'readable' })
  await w.db.execute(sql`
    with post as (
      insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name)
      select gen_random_uuid(), ${organisationId}, 'schedule', now() - interval '1 hour', 'x', 'SCHEDULED', 'member', gen_random_uuid(), 'x'
      from generate_series(1, 2500) returning id
    )
    insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
    select gen_random_uuid(), ${organisationId}, id, ${channelId}, 0, 'scheduled', now() - interval '1 hour', id::text from post`)
  expect(await restore()).toMatchObject({ needsReview: 2500, organisations: 1 })
  expect(await restore()).toMatchObject({ needsReview: 0, organisations: 0 })
})

test('list rows that were not written while the triggers were missing are written when sending is resumed', async () => {
  const resume = () => goOnSending({ db: w.db, networks: {} }, atCommandLine, { scope: 'all' })
  await resume() // ends the restores of earlier tests
  const id = await aRow({ attemptNo: 0 }, 3_600_000)
  const { postId } = await deliveryOf(w.db, id)
  const listed = async () => [
    ...(await w.db.execute(sql`select status, is_alone as "isAlone" from channel_posts where post_id = ${postId}`)),
  ]
  const right = await listed()
  await w.db.execute(sql`delete from channel_posts where post_id = ${postId}`)
  const other = await deliveryOf(w.db, await aRow({ attemptNo: 0 }, 3_600_000))
  await w.db.execute(sql`update channel_posts set status = 'DRAFT', is_alone = false where post_id = ${other.postId}`)
  const moved = await deliveryOf(w.db, await aRow({ attemptNo: 0 }, 3_600_000)) // its row moves to the other's channel
  await w.db.execute(sql`
    insert into channel_posts (organisation_id, channel_id, post_id, is_alone, status, updated_at)
    select organisation_id, ${other.channelId}, id, true, told, now() from posts where id = ${moved.postId}`)
  await resume()
  expect(await listed()).toEqual([]) // nothing was restored, so it reads no posts
  await restore()
  await resume()
  expect(await listed()).toEqual(right)
  const rules = await w.db.transaction(checkInvariants)
  expect(rules.find(({ name }) => name === 'a channel lists its posts')).toMatchObject({ broken: 0 })
})

test('a text that is edited while sending is resumed after a restore is found by its new words', async () => {
  const { postId } = await deliveryOf(w.db, await aRow({ attemptNo: 0 }, 3_600_000))
  const search = async () => [...(await w.db.execute(sql`select texts from post_search where post_id = ${postId}`))]
  await w.db.execute(sql`update post_search set texts = 'missed' where post_id = ${postId}`)
  await restore()
  const { resuming } = await w.db.transaction(async (tx) => {
    await tx.execute(sql`update posts set content = 'New words' where id = ${postId}`)
    const resuming = goOnSending({ db: w.db, networks: {} }, atCommandLine, { scope: 'all' })
    await until(() => someoneWaits(w.db))
    return { resuming }
  })
  await resuming
  expect(await search()).toEqual([{ texts: 'new words' }])
})

test('a resume before a restore was noticed is refused, and the error says what to do first', async () => {
  await w.db.execute(sql`update database_mark set written_in = 0`) // as in a restored dump
  const resume = () => goOnSending({ db: w.db, networks: {} }, atCommandLine, { scope: 'all' })
  await expect(resume()).rejects.toMatchObject({ detail: expect.stringContaining('after-restore') })
  await restore()
  await expect(resume()).resolves.toMatchObject({ stillPaused: { all: false } })
})

test('when the role may not end the connections of the processes, sending stops anyway and the connections are counted', async (context) => {
  const role = `other_${uuidv7().replaceAll('-', '')}`
  const { pathname, host } = new URL(w.site.databaseUrl)
  await w.db.execute(sql.raw(`create role ${role} login password 'x'`))
  await w.db.execute(sql.raw(`grant all on all tables in schema public to ${role}`))
  await w.db.execute(sql.raw('grant execute on function pg_control_system() to public'))
  const web = connect(w.site.databaseUrl, { connections: 1, name: 'web' })
  await web.db.execute(sql`select 1`)
  const other = connect(`postgres://${role}:x@${host}${pathname}`, { connections: 1, name: 'admin' })
  context.onTestFinished(async () => {
    await Promise.all([web.end(), other.end()])
    await w.db.execute(sql.raw(`drop owned by ${role}`))
    await w.db.execute(sql.raw(`drop role ${role}`))
  })
  const restored = await other.db.transaction(afterRestore)
  expect(restored.connectionsEnded).toBe(0)
  expect(restored.connectionsLeft).toBeGreaterThan(0)
  const [row] = await w.db.select().from(installation)
  expect(row!.restoredAt).not.toBeNull()
})
