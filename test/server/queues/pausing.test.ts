import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { faultsOf, webWithChannel } from '../web.ts'
import { aQueue, queuePost } from './queue-calls.ts'

const w = webWithChannel()
beforeEach(() => w.db.execute(sql`delete from posts`) as Promise<unknown>)
beforeEach(() => w.db.execute(sql`delete from queues`) as Promise<unknown>)

const change = (id: string, json: object) => w.call('PATCH', `/queues/${id}`, { json })
const read = async (id: string) => (await w.call('GET', `/posts/${id}`)).json

async function queued(count: number) {
  const posts = []
  for (let i = 0; i < count; i++) posts.push((await queuePost(w, { content: `post ${i}` })).json)
  return posts
}

/** As if `hours` had passed. */
async function pass(hours: number): Promise<void> {
  const back = sql`interval '1 hour' * ${hours}`
  await w.db.execute(sql`update posts set queue_date = null, date = date - ${back} where queue_id is not null`)
  await w.db.execute(sql`update posts set queue_date = date where queue_id is not null`)
  await w.db.execute(sql`update deliveries set due_at = due_at - ${back}`)
}

async function expectSound(): Promise<void> {
  const checked = await w.db.transaction((tx) => checkInvariants(tx))
  expect(checked.filter(({ broken }) => broken > 0)).toEqual([])
}

test('a pause over the times of 20 posts makes them drafts, and they get the next free times in their order', async () => {
  const queue = await aQueue(w)
  const posts = await queued(20)
  expect((await change(queue.id, { paused: true })).json.pausedAt).not.toBeNull()
  for (const post of posts) {
    const { type, status, date, queueId, version } = await read(post.id)
    expect({ type, status, date, queueId, version }).toEqual({
      ...{ type: 'draft', status: 'DRAFT', date: post.date, queueId: queue.id },
      version: post.version + 1,
    })
  }
  await pass(72)
  expect((await w.call('GET', `/queues/${queue.id}/next`)).json).toEqual({ dates: [] })
  const asked = new Date().toISOString()

  expect((await change(queue.id, { paused: false })).json.pausedAt).toBeNull()

  const resumed = await Promise.all(posts.map(({ id }) => read(id)))
  expect(resumed.map(({ status }) => status)).toEqual(resumed.map(() => 'SCHEDULED')) // none is lost
  const dates = resumed.map(({ date }) => date as string)
  expect(dates).toEqual(dates.toSorted()) // in their order
  expect(new Set(dates).size).toBe(20)
  expect(dates[0]! > asked).toBe(true) // none is late
  const hours = dates.map((date) => Date.parse(date) / 3_600_000)
  expect(hours.map((hour) => hour - hours[0]!)).toEqual(hours.map((_, i) => i)) // an hour apart: no burst
  const due = await w.db.execute(sql`
    select count(*)::int as count from deliveries d join posts p on p.id = d.post_id
    where d.state = 'scheduled' and d.due_at = p.date and p.queue_date = p.date`)
  expect(due).toMatchObject([{ count: 20 }])
  await expectSound()
})

test('a pause leaves alone posts that are claimed, being sent, maybe out or published', async () => {
  const queue = await aQueue(w)
  const posts = await queued(5)
  const lease = sql`lease_token = gen_random_uuid(), lease_owner = 'x', lease_until = now() + interval '1 hour'`
  const states = [
    sql`state = 'claimed', ${lease}`,
    sql`state = 'sending', ${lease}, prepared = '{}'`,
    sql`maybe_out = true, prepared = '{}'`,
    sql`state = 'published', published_at = now(), evidence = 'person'`,
  ]
  for (const [i, state] of states.entries()) {
    await w.db.execute(sql`update deliveries set ${state} where post_id = ${posts[i]!.id}`)
    if (i < 2)
      await w.db.execute(sql`update deliveries set channel_id = ${await w.channel()} where post_id = ${posts[i]!.id}`)
  }
  await w.db.execute(sql`update posts set told = 'PUBLISHED' where id = ${posts[3]!.id}`)

  await change(queue.id, { paused: true })

  const after = await Promise.all(posts.map(({ id }) => read(id)))
  expect(after.map(({ type }) => type)).toEqual(['schedule', 'schedule', 'schedule', 'schedule', 'draft'])
})

test('a draft of a paused queue that was deleted, dated or sent is not scheduled when the queue is resumed', async () => {
  const queue = await aQueue(w)
  const [deleted, dated, empty, last] = await queued(4)
  await change(queue.id, { paused: true })
  await w.call('DELETE', `/posts/${deleted.id}`)
  const date = '2030-01-01T00:00:30.000Z'
  await w.call('PATCH', `/posts/${dated.id}`, { json: { date } })
  await w.call('PATCH', `/posts/${empty.id}`, { json: { content: '' } })

  await change(queue.id, { paused: false })

  expect(await read(dated.id)).toMatchObject({ type: 'draft', date, queueId: null })
  expect(await read(empty.id)).toMatchObject({ type: 'draft', queueId: null })
  expect(await read(last.id)).toMatchObject({ type: 'schedule', queueId: queue.id, date: deleted.date })
  await expectSound()
})

test('a queue without times is not resumed while posts wait in it', async () => {
  const queue = await aQueue(w)
  await queued(1)
  await change(queue.id, { paused: true })
  expect(faultsOf(await change(queue.id, { paused: false, times: [] }))).toEqual(['paused queue_has_no_times'])
  const paused = (await w.call('GET', `/queues/${queue.id}`)).json
  expect([paused.times.length, paused.pausedAt === null]).toEqual([168, false])
})

test('a post on a channel that needs a reconnect is held when its queue is resumed', async () => {
  const channelId = await w.channel()
  const queue = await aQueue(w, { channelIds: [channelId] })
  const { json: post } = await queuePost(w, { channelIds: [channelId] })
  await change(queue.id, { paused: true })
  await w.db.execute(sql`update channels set status = 'needs_reconnect' where id = ${channelId}`)
  await change(queue.id, { paused: false })
  expect(await read(post.id)).toMatchObject({ type: 'schedule', status: 'HELD', queueId: queue.id })
  await expectSound()
})

test('resuming a queue with 2,000 long drafts holds up no other request', async () => {
  const channelId = await w.channel()
  const limits = { textLength: 5000, textUnit: 'graphemes' } // the slowest way to count
  await w.db.execute(sql`
    update channels set limits = limits || ${JSON.stringify(limits)}::jsonb where id = ${channelId}`)
  const queue = await aQueue(w, { channelIds: [channelId] })
  const { json: post } = await queuePost(w, { channelIds: [channelId] })
  await change(queue.id, { paused: true })
  await copyDraft(post.id, 2000)
  const answered: number[] = []
  const resuming = timed(() => change(queue.id, { paused: false }))
  let isOver = false
  void resuming.finally(() => (isOver = true))

  while (!isOver) answered.push((await timed(() => fetch(`${w.site.appUrl}/livez`))).ms)

  const { ms, result } = await resuming
  expect(result.status).toBe(200)
  const slowest = Math.max(...answered)
  process.stdout.write(
    `resumed in ${Math.round(ms)} ms; the slowest of ${answered.length} other answers took ${Math.round(slowest)} ms\n`,
  )
  expect(slowest).toBeLessThan(ms / 2)
})

/** `count` more drafts as this one, an hour apart, each with the longest text that its channel takes. */
async function copyDraft(id: string, count: number): Promise<void> {
  await w.db.execute(sql`
    with made as (
      insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name, queue_id, queue_date)
      select gen_random_uuid(), p.organisation_id, p.type, at, repeat('long ', 1000), p.told, 'member', p.created_by_id, '', p.queue_id, at
      from posts p, generate_series(p.date + interval '1 hour', p.date + interval '1 hour' * ${count}::int, interval '1 hour') as at
      where p.id = ${id} returning *
    )
    insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
    select gen_random_uuid(), m.organisation_id, m.id, d.channel_id, 0, 'draft', m.date, m.id::text
    from made m, deliveries d where d.post_id = ${id}`)
}

async function timed<T>(call: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now()
  const result = await call()
  return { ms: performance.now() - start, result }
}

test('a pause while others take times leaves no scheduled post in the queue', async () => {
  const queue = await aQueue(w)
  const taking = Array.from({ length: 40 }, () => queuePost(w))
  const paused = change(queue.id, { paused: true })
  const answers = await Promise.all(taking)
  await paused
  const made = answers.filter(({ status }) => status === 201)
  for (const refused of answers.filter(({ status }) => status !== 201))
    expect(faultsOf(refused)).toEqual(['queueId queue_paused'])
  const left = await w.db.execute(sql`
    select type, count(*)::int as count from posts where queue_id = ${queue.id} group by type`)
  expect(left).toEqual(made.length > 0 ? [{ type: 'draft', count: made.length }] : [])
})
