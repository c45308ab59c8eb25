import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import type { Deps } from '../../../jobs/deps.ts'
import { markUncertain } from '../../../jobs/ledger/settle.ts'
import { registerWorker, showPresence } from '../../../jobs/monitoring/presence.ts'
import { beginSomeLooks } from '../../../jobs/publish/looks.ts'
import { reap } from '../../../jobs/publish/reaper.ts'
import { times as productTimes } from '../../../jobs/timeouts-and-delays.ts'
import { anOrganisation, someDeliveries } from '../../builders.ts'
import { fakeNetwork, type Kind, kinds } from '../../stand-ins/fake-network.ts'
import { claimOne, deliveryOf, intendOne, type World, world } from '../../world.ts'

const times = { ...productTimes, graceAfterRestartMs: 0 }
const error = { code: 'outcome_unknown', message: '', nextStep: '' }

let w: World
beforeAll(async () => {
  w = await world()
})
beforeEach(() => w.db.execute(sql`delete from deliveries`))
afterAll(() => w.end())

/** Due posts on one channel. The worker `owner` is sending the first one. None of them has a wake-up. */
async function sendingOfSeveral(owner: string, count = 2) {
  const channelId = await w.channel('readable')
  const wanted = { organisationId: w.organisationId, channelId, dueAt: new Date(Date.now() - 1000) }
  const ids = await someDeliveries(w.db, Array(count).fill(wanted))
  const claimed = await claimOne(w.db, owner, ids[0]!)
  await intendOne(w.db, claimed!, '{}')
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  return { channelId, ids, claimed: claimed! }
}

async function woken(): Promise<string[]> {
  const rows = await w.db.execute<{ key: string }>(sql`select key from graphile_worker.jobs`)
  return [...rows].map(({ key }) => key)
}

test('an outcome that becomes unknown wakes the next delivery, for any worker', async () => {
  const { ids, claimed } = await sendingOfSeveral('worker')
  await markUncertain(w.db, claimed, 1000, error, { outcome: 'unknown' })
  expect((await woken()).toSorted()).toEqual([ids[1]!, `look:${ids[0]}`].toSorted())
  expect(await claimOne(w.db, 'another', ids[1]!)).toMatchObject({ id: ids[1] })
})

test('a send whose lease has expired is taken over, and the next delivery is woken', async () => {
  const { db, end } = connect(w.site.databaseUrl, { connections: 1, name: 'test' })
  await registerWorker(db, 'alive', 1)
  await showPresence(db, 'alive') // so that the reaper finds no dead worker
  const { ids } = await sendingOfSeveral('alive')
  await w.db.execute(sql`update deliveries set lease_until = now() - interval '1 s' where lease_owner = 'alive'`)
  const { dead, taken } = await reap({ times, networks: {}, at: () => {} }, w.db)
  await end()
  expect([dead, taken.map(({ id }) => id)]).toEqual([[], [ids[0]]])
  expect(await deliveryOf(w.db, ids[0]!)).toMatchObject({ state: 'uncertain' })
  expect((await woken()).toSorted()).toEqual([ids[1]!, `look:${ids[0]}`].toSorted())
})

test('a channel with three unknown outcomes claims no more', async () => {
  const { channelId, ids, claimed } = await sendingOfSeveral('worker', 5)
  const isUnknown = { outcome: 'unknown' }
  await markUncertain(w.db, claimed, 1000, error, isUnknown)
  for (const id of ids.slice(1, 3)) {
    const next = (await claimOne(w.db, 'worker', id))!
    await intendOne(w.db, next, '{}')
    expect(await claimOne(w.db, 'another', id)).toBeNull() // one is sent at a time
    await markUncertain(w.db, next, 1000, error, isUnknown)
  }
  expect(await claimOne(w.db, 'worker', ids[3]!)).toBeNull()
  await w.db.execute(sql`
    update deliveries set state = 'needs_review', look_at = null where id = ${ids[1]} and channel_id = ${channelId}`)
  expect(await claimOne(w.db, 'worker', ids[3]!)).toMatchObject({ id: ids[3] })
})

const networks = Object.fromEntries(
  kinds.map((kind) => [kind, fakeNetwork({ name: kind, url: 'http://127.0.0.1:9', repeatedSend: kind })]),
)

/** Begins to look for these as the worker `owner`; returns the result for each. */
async function begin(owner: string, ids: string[]): Promise<string[]> {
  const begun = await beginSomeLooks({ db: w.db, owner, times, networks } as unknown as Deps, ids)
  return ids.map((id) => {
    const what = begun.get(id)
    return typeof what === 'object' ? 'begun' : String(what)
  })
}

/** Posts with an unknown outcome and a due reading, `each` on so many channels. */
async function uncertain(
  kind: Kind,
  channels: number,
  { each = 1, organisationId = w.organisationId } = {},
): Promise<string[]> {
  const channelIds = await Promise.all(
    Array.from({ length: channels }, () => w.channel(kind, undefined, organisationId)),
  )
  const wanted = channelIds.flatMap((channelId) =>
    Array.from({ length: each }, () => ({ organisationId, channelId, dueAt: new Date() })),
  )
  const ids = await someDeliveries(w.db, wanted)
  await w.db.execute(sql`
    with sent as (update deliveries set state = 'uncertain', maybe_out = true, prepared = '{}', attempt_no = 1,
      look_at = now() - interval '1 minute' where id = any(${sql.param(ids)}::uuid[]) returning id, organisation_id)
    insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at, intended_at, ended_at, outcome)
    select gen_random_uuid(), organisation_id, id, 1, 'worker', 1, now(), now(), now(), 'unknown' from sent`)
  return ids
}

test('a channel with several unknown outcomes has one reading at a time', async () => {
  await registerWorker(w.db, 'reader', 1)
  const ids = await uncertain('readable', 1, { each: 3 })
  expect(await begin('reader', ids)).toEqual(['begun', 'elsewhere', 'elsewhere'])
  expect(await begin('another', ids)).toEqual(['nothing', 'elsewhere', 'elsewhere'])
})

test('all workers together run ten readings of a network, not counting those of a dead worker', async () => {
  await registerWorker(w.db, 'first', 1)
  await registerWorker(w.db, 'second', 1)
  const ids = await uncertain('readable', 13)
  expect(await begin('first', ids.slice(0, 6))).toEqual(Array(6).fill('begun'))
  expect(await begin('second', ids.slice(6))).toEqual([...Array(4).fill('begun'), ...Array(3).fill('full')])
  await w.db.execute(sql`delete from workers where owner = 'first'`)
  expect(await begin('second', ids.slice(10))).toEqual(Array(3).fill('begun'))
  const elsewhere = await uncertain('two-step', 10)
  expect(await begin('second', elsewhere)).toEqual(Array(10).fill('begun')) // another network
})

test('an organisation with three running readings leaves the last three places to another that waits', async () => {
  for (const owner of ['one', 'other']) await registerWorker(w.db, owner, 1)
  const slow = await uncertain('readable', 12)
  expect(await begin('one', slow.slice(0, 8))).toEqual(Array(8).fill('begun')) // no other organisation waits
  const theirs = await uncertain('readable', 4, await anOrganisation(w.db))
  const later = slow.slice(8)
  expect(await begin('one', later.slice(0, 2))).toEqual(['elsewhere', 'elsewhere'])
  expect(await begin('other', [...later, ...theirs])).toEqual([
    ...Array(4).fill('full'),
    'begun',
    'begun',
    'full',
    'full',
  ])
  await w.db.execute(sql`delete from workers where owner = 'one'`)
  const ended = await begin('other', [...later, ...theirs])
  expect(ended.toSorted()).toEqual([...Array(5).fill('begun'), 'elsewhere', 'nothing', 'nothing'])
})

test('a network that needs no readings has no limit on them', async () => {
  expect(await begin('first', await uncertain('keyed', 20))).toEqual(Array(20).fill('begun'))
})
