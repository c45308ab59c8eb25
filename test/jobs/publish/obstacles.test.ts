import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connect, type Tx } from '../../../db/client.ts'
import { claimHeads } from '../../../jobs/ledger/claim.ts'
import { limit } from '../../../jobs/ledger/pause.ts'
import { markRestored } from '../../../jobs/ledger/restore.ts'
import { batchWrites } from '../../../jobs/publish/publish.ts'
import { wakeForgotten } from '../../../jobs/publish/reaper.ts'
import { times } from '../../../jobs/timeouts-and-delays.ts'
import { someDeliveries } from '../../builders.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { claimOne, deliveryOf, intendOne, untilState, type World, world } from '../../world.ts'

// Obstacles for one delivery that must not delay another.

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

const day = 24 * 3_600_000

/** Does `work` while another transaction has done `first` and is still open. */
async function during<T>(first: (tx: Tx) => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const other = connect(w.site.databaseUrl, { connections: 1, name: 'test' })
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const open = other.db.transaction(async (tx) => {
    await first(tx)
    begun.resolve()
    await over.promise
  })
  await begun.promise
  try {
    return await work()
  } finally {
    over.resolve()
    await open
    await other.end()
  }
}

test('a channel with a delivery that is too late does not keep other channels from being claimed, even if its post is locked', async () => {
  const late = await w.delivery('readable', new Date(Date.now() - day - 3_600_000))
  const other = await w.delivery('readable')
  const { postId } = await deliveryOf(w.db, late.id)
  const claims = await during(
    (tx) => tx.execute(sql`select from posts where id = ${postId} for update`),
    () => claimHeads(w.db, times, 'worker', [late.channelId, other.channelId]),
  )
  expect(claims.get(late.channelId)).toEqual({ lateOn: late.channelId })
  expect(claims.get(other.channelId)).toMatchObject({ id: other.id })
})

test('a network whose cap another transaction is counting does not delay other networks', async () => {
  await limit(w.db, 'readable', 100)
  const [one, another, other] = [await w.delivery('readable'), await w.delivery('readable'), await w.delivery('blind')]
  const claims = await during(
    (tx) => claimOne(tx, 'worker', another.id),
    () => claimHeads(w.db, times, 'worker', [one.channelId, other.channelId]),
  )
  expect(claims.get(one.channelId)).toBe('locked')
  expect(claims.get(other.channelId)).toMatchObject({ id: other.id })
})

test('a locked post does not keep another from being recorded as published', async () => {
  const [one, other] = [await w.delivery('readable'), await w.delivery('readable')]
  const claimed = [(await claimOne(w.db, 'worker', one.id))!, (await claimOne(w.db, 'worker', other.id))!]
  for (const each of claimed) await intendOne(w.db, each, '{}')
  const ledger = batchWrites({ db: w.db, times })
  const record = (each: (typeof claimed)[0]) =>
    ledger.recordPublished({ ...each, publication: { remoteId: each.id, url: null }, evidence: 'answered' })
  const both = await during(
    (tx) => tx.execute(sql`select from posts where id = ${claimed[0]!.postId} for no key update`),
    async () => {
      const recorded = claimed.map(record)
      await recorded[1]
      expect(await deliveryOf(w.db, one.id)).toMatchObject({ state: 'sending' })
      return recorded
    },
  )
  await Promise.all(both)
  expect(await deliveryOf(w.db, one.id)).toMatchObject({ state: 'published' })
})

test('a delivery that a restore puts in review is not claimed by a claim that began before', async () => {
  const { id, channelId } = await w.delivery('readable')
  let claiming: ReturnType<typeof claimHeads>
  await during(markRestored, async () => {
    claiming = claimHeads(w.db, times, 'worker', [channelId])
    await until(async () => {
      return (await someoneWaits(w.db)) || (await Promise.race([claiming, null])) !== null
    })
  })
  expect(typeof (await claiming!).get(channelId)).toBe('string')
  expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'needs_review', error: { code: 'restored' } })
})

test('channels whose network is full do not hide others that have lost their wake-up', async () => {
  await limit(w.db, 'readable', 1)
  const channelIds = await Promise.all(Array.from({ length: 3 }, () => w.channel('readable')))
  const dueAt = new Date(Date.now() - 60_000)
  const { organisationId } = w
  const full = await someDeliveries(
    w.db,
    channelIds.map((channelId) => ({ organisationId, channelId, dueAt })),
  )
  await claimOne(w.db, 'slow', full[0]!)
  await w.delivery('keyed', new Date(Date.now() - 30_000))
  expect(await wakeForgotten(w.db, times.overdueMs)).toBe(1)
})

test('a worker survives a deadlock that the queue loses while it records finished jobs', async () => {
  const { name } = (await w.db.execute<{ name: string }>(sql`select current_database() as name`))[0]!
  // PostgreSQL ends the statement that looks for a deadlock first. Here that is always the queue's, even on a slow
  // machine.
  await w.db.execute(sql.raw(`alter database ${name} set deadlock_timeout = '5s'`))
  const worker = await w.worker()
  const held = 4711
  await w.db.execute(sql`
    create function hold_back() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock(${sql.raw(String(held))}); return old; end $$`)
  await w.db.execute(sql`
    create trigger hold_back before delete on graphile_worker._private_jobs
    for each row when (old.key not like 'canary-%') execute function hold_back()`)
  const { id } = await w.db.transaction(async (tx) => {
    await tx.execute(sql`set local deadlock_timeout = '60s'`)
    await tx.execute(sql`select pg_advisory_xact_lock(${held})`)
    const delivery = await w.delivery('readable')
    const isWaiting = sql`select from pg_locks where locktype = 'advisory' and objid = ${held} and not granted`
    await until(async () => (await w.db.execute(isWaiting)).length > 0)
    await tx.execute(sql`select from graphile_worker._private_jobs where key = ${delivery.id} for update`)
    return delivery
  })
  await until(async () => (await w.db.execute(sql`select from graphile_worker.jobs where key = ${id}`)).length === 0)
  const { id: next } = await w.delivery('readable')
  await untilState(w.db, next, 'published')
  expect(worker.log()).not.toContain('worker stops')
  await w.db.execute(sql`drop function hold_back cascade`)
  await w.db.execute(sql.raw(`alter database ${name} reset deadlock_timeout`))
})
