import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { createLog } from '../../../db/log.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { sweep } from '../../../jobs/sweep/rows.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { failureOf, worldWithOwner } from '../web.ts'

// What Undo restores: a deleted draft, and a post that was unscheduled.

const w = worldWithOwner()

const Hour = 3_600_000
const inAnHour = () => new Date(Date.now() + Hour).toISOString()
const log = () => createLog('worker', 'silent')
const broken = async () => (await w.db.transaction(checkInvariants)).filter((one) => one.broken > 0)

async function aFile(): Promise<string> {
  const [row] = await w.db.execute<{ id: string }>(sql`
    insert into media (id, organisation_id, kind, mime, bytes, sha256, file_key)
    values (gen_random_uuid(), ${w.organisationId}, 'image', 'image/png', 1, 'x', 'x') returning id`)
  return row!.id
}

async function aDraft(more: object = {}) {
  const [one, other] = await Promise.all([w.channel('readable'), w.channel('readable')])
  const files = [await aFile(), await aFile(), await aFile()] as [string, string, string]
  const draft = await w.api.posts.create({
    ...{
      type: 'draft',
      date: inAnHour(),
      content: 'An “idea”\n\\',
      channelIds: [other, one],
      mediaIds: files.slice(0, 2),
    },
    overrides: [{ channelId: one, content: 'another', mediaIds: [files[2]] }],
    ...more,
  })
  return { draft, id: draft.id, files }
}

describe('a deleted draft', () => {
  test('is restored as it was, with media, channels and own texts, and can be scheduled', async () => {
    const { draft, id } = await aDraft()
    const media = await w.api.media.ofPost({ postId: id })
    await w.api.posts.cancel({ id })

    const restored = await w.api.posts.restore({ id })

    expect(restored).toEqual({ ...draft, updatedAt: restored.updatedAt })
    expect(await w.api.posts.get({ id })).toEqual(restored)
    expect(await w.api.media.ofPost({ postId: id })).toEqual(media)
    expect((await w.api.posts.list({ status: 'DRAFT' })).data.map((post) => post.id)).toContain(id)
    expect(await broken()).toEqual([])
    const overrides = [{ channelId: draft.channelIds[1]!, content: 'another' }]
    await w.api.posts.update({ id, type: 'now', mediaIds: [], overrides }) // there are no bytes of these files
    await w.worker()
    await until(async () => (await w.api.posts.get({ id })).status === 'PUBLISHED')
    expect(w.fake.posts.map(({ text }) => text).toSorted()).toEqual(['An “idea”\n\\', 'another'])
  })

  // Whatever reads a post reads one of these tables.
  test('is in no table but its own: nothing else can show it, count it or send it', async () => {
    const { id } = await aDraft()
    await w.api.posts.cancel({ id })
    const tables = await w.db.execute<{ name: string }>(sql`
      select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`)
    const naming: string[] = []
    for (const { name } of tables) {
      const rows = await w.db.execute(sql`
        select from ${sql.raw(name)} t where to_jsonb(t)::text like ${`%${id}%`} limit 1`)
      if (rows.length > 0) naming.push(name)
    }
    expect(naming).toEqual(['deleted_drafts'])
  })

  test('is not found by any call: to read, change, delete, retry or resolve it', async () => {
    const { draft, id } = await aDraft()
    const channelId = draft.channelIds[0]!
    await w.api.posts.cancel({ id })
    const calls = [
      () => w.api.posts.get({ id }),
      () => w.api.posts.attempts({ id, limit: 10 }),
      () => w.api.posts.update({ id, content: 'x' }),
      () => w.api.posts.cancel({ id }),
      () => w.api.posts.retry({ id }),
      () => w.api.posts.resolve({ id, channelId, outcome: 'cancelled' }),
      () => w.api.posts.scheduleAgain({ id, channelIds: [channelId] }),
      () => w.api.workingCopies.update({ change: { id, content: 'x' } }),
    ]
    for (const call of calls) expect(await failureOf(call())).toBe('not_found')
    expect(await w.api.media.ofPost({ postId: id })).toEqual([])
    expect(await w.api.workingCopies.isSent({ id })).toBe(false)
    for (const query of [{}, { status: 'DRAFT' }, { channelId }, { updatedSince: draft.createdAt }] as const)
      expect((await w.api.posts.list({ ...query, limit: 100 })).data.map((post) => post.id)).not.toContain(id)
    await w.api.posts.restore({ id })
  })

  test('is restored once, also when Undo is pressed twice at once', async () => {
    const { id } = await aDraft()
    await w.api.posts.cancel({ id })
    const all = await Promise.all([1, 2, 3].map(() => failureOf(w.api.posts.restore({ id }))))
    expect(all.filter((one) => one === 'done').length).toBeGreaterThan(0)
    expect((await w.api.posts.restore({ id })).id).toBe(id)
  })

  test('whose text another tab sends at the same moment is the post of that tab', async () => {
    const { id } = await aDraft()
    await w.api.posts.cancel({ id })
    const { restoring } = await w.db.transaction(async (tx) => {
      await tx.execute(sql`
        insert into posts (id, organisation_id, type, content, told, created_by_kind, created_by_id, created_by_name)
        values (${id}, ${w.organisationId}, 'draft', 'of the other tab', 'DRAFT', 'member', gen_random_uuid(), 'Ada')`)
      const restoring = w.api.posts.restore({ id })
      await until(() => someoneWaits(w.db))
      return { restoring }
    })
    expect(await restoring).toMatchObject({ id, content: 'of the other tab' })
  })

  test('can be deleted again after it was restored, and restored again', async () => {
    const { draft, id } = await aDraft()
    for (const content of ['second', 'third']) {
      await w.api.posts.cancel({ id })
      await w.api.posts.restore({ id })
      await w.api.posts.update({ id, content })
    }
    await w.api.posts.cancel({ id })
    expect(await w.api.posts.restore({ id })).toMatchObject({ content: 'third', version: draft.version + 2 })
  })

  test('is gone after a day, and the hourly sweep removes it', async () => {
    const [old, young] = [await aDraft(), await aDraft()]
    for (const { id } of [old, young]) await w.api.posts.cancel({ id })
    await w.db.execute(sql`
      update deleted_drafts set deleted_at = now() - interval '25 hours' where id = ${old.id}`)
    expect(await failureOf(w.api.posts.restore({ id: old.id }))).toBe('not_found')
    await sweep(w.db, new AbortController().signal, log())
    const kept = await w.db.execute(sql`
      select id from deleted_drafts where id = any(${sql.param([old.id, young.id])}::uuid[])`)
    expect([...kept]).toEqual([{ id: young.id }])
    await w.api.posts.restore({ id: young.id })
  })

  test('keeps the text that was typed into it and not saved', async () => {
    const { draft, id } = await aDraft()
    const typed = { content: 'typed', channelIds: [], mediaIds: [], alts: {}, date: '', time: '' }
    await w.api.workingCopies.save({ id, isNew: false, revision: 0, postVersion: draft.version, ...typed })
    await w.api.posts.cancel({ id })
    await sweep(w.db, new AbortController().signal, log())
    await w.api.posts.restore({ id })
    expect(await w.api.workingCopies.get({ id })).toMatchObject({ content: 'typed' })
  })

  test('whose file was deleted meanwhile is restored without it', async () => {
    const { id, files } = await aDraft()
    await w.api.posts.cancel({ id })
    for (const file of [files[0], files[2]]) await w.api.media.remove({ id: file })
    const restored = await w.api.posts.restore({ id })
    expect(restored).toMatchObject({ mediaIds: [files[1]], overrides: [{ content: 'another', mediaIds: [] }] })
  })
})

describe('an unscheduled post', () => {
  async function scheduled() {
    const [one, other] = await Promise.all([w.channel('readable'), w.channel('readable')])
    const post = await w.api.posts.create({
      ...{ type: 'schedule', date: inAnHour(), content: 'x', channelIds: [one, other] },
    })
    return { post, id: post.id, one, other }
  }

  test('is scheduled again at its old time', async () => {
    const { post, id, one, other } = await scheduled()
    await w.api.posts.cancel({ id })
    const again = await w.api.posts.scheduleAgain({ id, channelIds: [one, other] })
    expect(again).toEqual({ ...post, updatedAt: again.updatedAt })
    expect(await w.api.posts.scheduleAgain({ id, channelIds: [one, other] })).toEqual(again)
    expect(await broken()).toEqual([])
  })

  test('is scheduled again only on the channels that are named', async () => {
    const { id, one, other } = await scheduled()
    await w.api.posts.cancel({ id })
    const again = await w.api.posts.scheduleAgain({ id, channelIds: [other] })
    expect(again.deliveries.map(({ status }) => status)).toEqual(['CANCELLED', 'SCHEDULED'])
    expect(again.channelIds).toEqual([other])
    const elsewhere = w.api.posts.scheduleAgain({ id, channelIds: [one, await w.channel('readable')] })
    expect(await failureOf(elsewhere)).toBe('not_found')
  })

  test('whose time has passed meanwhile stays cancelled, and the refusal says so', async () => {
    const { id, one } = await scheduled()
    await w.api.posts.cancel({ id })
    await w.db.execute(sql`update posts set date = now() - interval '1 second' where id = ${id}`)
    await expect(w.api.posts.scheduleAgain({ id, channelIds: [one] })).rejects.toMatchObject({
      errors: [{ path: 'date', code: 'date_in_past', message: expect.stringContaining('time is in the past') }],
    })
    expect((await w.api.posts.get({ id })).status).toBe('CANCELLED')
  })
})

describe('Undo of a post that was in a queue', () => {
  const everyDay = [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, time: '09:00' }))
  const queued = async () => {
    const channelId = await w.channel('readable')
    const queue = { name: `Queue ${channelId}`, timeZone: 'UTC', times: everyDay, channelIds: [channelId] }
    const { id: queueId } = await w.api.queues.create(queue)
    const add = () => w.api.posts.create({ type: 'queue', queueId, content: 'queued', channelIds: [channelId] })
    const post = await add()
    await w.api.posts.cancel({ id: post.id })
    return { channelId, queueId, post, add }
  }

  test('whose time another post has taken keeps its date and leaves the queue', async () => {
    const { channelId, post, add, queueId } = await queued()
    const other = await add()
    expect(other.date).toBe(post.date)

    const again = await w.api.posts.scheduleAgain({ id: post.id, channelIds: [channelId] })

    expect(again).toMatchObject({ status: 'SCHEDULED', date: post.date, queueId: null })
    expect(await w.api.posts.get({ id: other.id })).toMatchObject({ queueId })
    expect(await broken()).toEqual([])
  })

  test('that is paused leaves the queue, so that it is not scheduled in a paused queue', async () => {
    const { channelId, post, queueId } = await queued()
    await w.api.queues.update({ id: queueId, paused: true })

    const again = await w.api.posts.scheduleAgain({ id: post.id, channelIds: [channelId] })

    expect(again).toMatchObject({ status: 'SCHEDULED', queueId: null })
    expect(await broken()).toEqual([])
  })
})
