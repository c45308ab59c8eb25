import { inArray, type SQL, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { aDelivery, someDeliveries } from '../../builders.ts'
import { untilPublished, type World, world } from '../../world.ts'

let w: World
let channelId = ''
let first = ''
let last = ''
beforeAll(async () => {
  w = await world()
  channelId = await w.channel('keyed')
  const due = (inMs: number) =>
    aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date(Date.now() + inMs) })
  first = await due(0)
  last = await due(1)
  await w.worker({ timesFactor: 1 }) // one attempt each, even on a slow machine
  await untilPublished(w.db, [first, last])
  await w.rest()
  await w.db.execute(sql`update deliveries set created_at = created_at - interval '1 minute'`)
})
afterEach(() => w.rest())
afterAll(() => w.end())

const ofLists = ['a post’s status is kept', 'a channel lists its posts']

/** The invariants that `damage` breaks, each with its ids, without those of lists. The damage is rolled back. */
async function brokenBy(...damage: SQL[]): Promise<Record<string, string[]>> {
  const all = await allBrokenBy(...damage)
  return Object.fromEntries(Object.entries(all).filter(([name]) => !ofLists.includes(name)))
}

async function allBrokenBy(...damage: SQL[]): Promise<Record<string, string[]>> {
  let found: Record<string, string[]> = {}
  const undo = new Error('undo')
  await w.db
    .transaction(async (tx) => {
      await withoutConstraints(tx)
      for (const statement of damage) await tx.execute(statement)
      const broken = (await checkInvariants(tx)).filter(({ broken }) => broken > 0)
      found = Object.fromEntries(broken.map(({ name, ids }) => [name, ids]))
      throw undo
    })
    .catch((error) => {
      if (error !== undo) throw error
    })
  return found
}

// We also check what the database itself refuses: a database that was repaired by hand may lack a constraint.
async function withoutConstraints(tx: Tx): Promise<void> {
  for (const name of ['published_has_evidence', 'maybe_out_keeps_its_bytes'])
    await tx.execute(sql`alter table deliveries drop constraint ${sql.identifier(name)}`)
  await tx.execute(sql`drop index deliveries_at_work, deliveries_remote_id`)
}

const change = (id: string, to: SQL) => sql`update deliveries set ${to} where id = ${id}`
const changeAttempt = (id: string, to: SQL) => sql`update attempts set ${to} where delivery_id = ${id}`
const late = sql`due_at = now() - interval '2 minutes'`
const unsent = sql`published_at = null, evidence = null, remote_id = null`
const lease = sql`lease_token = gen_random_uuid(), lease_owner = 'x'`

test('every invariant holds for a ledger that real workers wrote', async () => {
  expect(await allBrokenBy()).toEqual({})
})

test('each kind of damage breaks exactly its invariant, which names the delivery or post', async () => {
  const cases: [string, string, SQL[]][] = [
    ['published has evidence', first, [change(first, sql`evidence = null`)]],
    ['what was never sent is not called published', first, [changeAttempt(first, sql`intended_at = null`)]],
    ['what may be out is not called failed', first, [change(first, sql`maybe_out = true, prepared = null`)]],
    ['nothing is early', first, [changeAttempt(first, sql`intended_at = intended_at - interval '5 minutes'`)]],
    ['a channel keeps its order', last, [changeAttempt(last, sql`started_at = started_at - interval '5 minutes'`)]],
    ['attempts are complete', first, [changeAttempt(first, sql`ended_at = null, outcome = null`)]],
    ['attempts are complete', first, [change(first, sql`attempt_no = 2`)]],
  ]
  for (const [name, id, damage] of cases) expect(await brokenBy(...damage)).toEqual({ [name]: [id] })
  const both = [first, last].sort()
  const sameId = sql`update deliveries set remote_id = 'x'`
  expect(await brokenBy(sameId)).toEqual({ 'a remote id is one delivery’s': both })
  const bothSent = sql`
    update deliveries set state = 'sending', ${lease}, lease_until = now() + interval '1 minute', ${unsent}`
  const open = sql`update attempts set ended_at = null, outcome = null`
  expect(await brokenBy(bothSent, open)).toEqual({ 'one is under way a channel': both })
})

test('the lists of a post are compared with its deliveries', async () => {
  const [row] = await w.db.execute<{ id: string }>(sql`select post_id as id from deliveries where id = ${first}`)
  const { id } = row!
  const [status, listed] = ofLists as [string, string]
  const cases: [string[], SQL][] = [
    [[status], sql`update posts set told = 'SCHEDULED' where id = ${id}`],
    [[listed], sql`update channel_posts set status = 'SCHEDULED' where post_id = ${id}`],
    [[listed], sql`update channel_posts set date = null where post_id = ${id}`],
    [[listed], sql`delete from channel_posts where post_id = ${id}`],
    [[listed], sql`update channel_posts set channel_id = gen_random_uuid() where post_id = ${id}`],
    [[], sql`update posts set date = now() where id = ${id}`], // a trigger updates the lists
  ]
  for (const [names, damage] of cases)
    expect(await allBrokenBy(damage)).toEqual(Object.fromEntries(names.map((name) => [name, [id]])))
})

test('two posts of a queue at one time are named, unless one of them was cancelled or has left the queue', async () => {
  const name = 'a time of a queue is one post’s'
  const queueId = '01890000-0000-7000-8000-000000000000'
  const posts = await w.db.execute<{ id: string }>(sql`
    select post_id as id from deliveries where id in (${first}, ${last}) order by post_id`)
  const [one, other] = posts.map(({ id }) => id)
  const inOneQueue = [
    sql`drop index posts_queue_time`,
    sql`
      insert into queues (id, organisation_id, name, is_default, time_zone, times)
      values (${queueId}, ${w.organisationId}, 'x', true, 'UTC', '[]')`,
    sql`update posts set queue_id = ${queueId}, date = '2030-01-01', queue_date = '2030-01-01' where id in (${one}, ${other})`,
  ]
  const named = async (...damage: SQL[]) => (await allBrokenBy(...inOneQueue, ...damage))[name]
  expect(await named()).toEqual([one, other])
  expect(await named(sql`update posts set told = 'CANCELLED' where id = ${one}`)).toBeUndefined()
  expect(await named(sql`update posts set queue_date = '2030-01-02' where id = ${one}`)).toBeUndefined()
})

test('three deliveries of a channel may be uncertain, and a fourth breaks the rule', async () => {
  const { organisationId } = w
  const channel = await w.channel('keyed')
  const wanted = { organisationId, channelId: channel, dueAt: new Date() }
  const ids = await someDeliveries(w.db, Array(4).fill(wanted))
  const uncertain = (those: string[]) => sql`
    update deliveries set state = 'uncertain', maybe_out = true, prepared = '{}', look_at = now()
    where id = any(${sql.param(those)}::uuid[])`
  expect(await brokenBy(uncertain(ids.slice(0, 3)))).toEqual({})
  expect(await brokenBy(uncertain(ids))).toEqual({ 'one is under way a channel': ids.toSorted() })
  await w.db.delete(deliveries).where(inArray(deliveries.id, ids))
})

test('an overdue delivery that no worker handles counts as lost, in every state', async () => {
  const over = sql`now() - interval '2 minutes'`
  const open = changeAttempt(first, sql`ended_at = null, outcome = null`)
  const looking = sql`state = 'uncertain', maybe_out = true, prepared = '{}', look_at = ${over}`
  for (const damage of [
    [change(first, sql`state = 'scheduled', ${unsent}, ${late}`)],
    [change(first, sql`state = 'held', ${unsent}, ${late}`)],
    [change(first, sql`state = 'claimed', ${unsent}, ${late}, ${lease}, lease_until = ${over}`), open],
    [change(first, sql`state = 'sending', ${unsent}, ${late}, ${lease}, lease_until = ${over}`), open],
    [change(first, sql`${looking}, ${unsent}, ${late}`)],
  ])
    expect(await brokenBy(...damage)).toEqual({ 'nothing is lost': [first] })
})

/** Copies of the last delivery, each of another post. They are uncertain and will be looked for. */
const uncertainBeside = (count: number) => sql`
  with beside as (select gen_random_uuid() as id from generate_series(1, ${count}::int)), made as (
    insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name)
    select b.id, p.organisation_id, p.type, p.date, p.content, 'SCHEDULED', p.created_by_kind, p.created_by_id, p.created_by_name
    from beside b, posts p where p.id = (select post_id from deliveries where id = ${last}) returning id)
  insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key, maybe_out, prepared, look_at)
  select m.id, d.organisation_id, m.id, d.channel_id, 0, 'uncertain', now(), m.id, true, '{}', now() + interval '1 hour'
  from made m, deliveries d where d.id = ${last}`

test('a delivery that waits for a reason is not lost', async () => {
  const scheduled = change(first, sql`state = 'scheduled', ${unsent}, ${late}`)
  const network = (columns: SQL, values: SQL) => sql`insert into networks (name, ${columns}) values ('keyed', ${values})
    on conflict (name) do update set (at_once, paused_at) = (excluded.at_once, excluded.paused_at)`
  const another = sql`
    update deliveries set state = 'sending', ${lease}, lease_until = now() + interval '1 minute', ${unsent} where id = ${last}`
  const open = changeAttempt(last, sql`ended_at = null, outcome = null`)
  for (const reason of [
    [change(first, sql`next_attempt_at = now() + interval '1 hour'`)],
    [sql`update channels set paused_at = now()`],
    [sql`update channels set paused_until = now() + interval '1 hour'`],
    [network(sql`paused_at`, sql`now()`)],
    [sql`update installation set paused_at = now()`],
    [sql`update installation set restored_at = now()`],
    [another, open],
    [uncertainBeside(3)],
  ])
    expect(await brokenBy(scheduled, ...reason)).toEqual({})
  expect(await brokenBy(scheduled, uncertainBeside(2))).toEqual({ 'nothing is lost': [first] })
  const elsewhere = await w.channel('keyed')
  const moved = change(last, sql`channel_id = ${elsewhere}`)
  expect(await brokenBy(scheduled, another, open, moved)).toEqual({ 'nothing is lost': [first] })
  expect(await brokenBy(scheduled, another, open, moved, network(sql`at_once`, sql`1`))).toEqual({})
  const suspects = sql`update deliveries set crash_count = 1`
  expect(await brokenBy(scheduled, another, open, moved, suspects)).toEqual({})
})

test('only the first lost delivery of a channel is named, and at most ten ids in total', async () => {
  const wanted = Array.from({ length: 12 }, () => w.channel('keyed'))
  const ids: string[] = []
  for (const channelId of await Promise.all(wanted))
    for (const dueAt of [new Date(Date.now() - 200_000), new Date(Date.now() - 100_000)])
      ids.push(await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt }))
  const found = (await checkInvariants(w.db)).find(({ name }) => name === 'nothing is lost')
  const heads = ids.filter((_, i) => i % 2 === 0).sort()
  expect(found).toMatchObject({ broken: 12, ids: heads.slice(0, 10) })
})
