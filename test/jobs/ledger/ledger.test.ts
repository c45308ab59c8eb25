import { eq, sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { attempts, deliveries } from '../../../db/schema/ledger.ts'
import { media, postMedia } from '../../../db/schema/media.ts'
import { markUncertain, recordPublished } from '../../../jobs/ledger/settle.ts'
import { aDelivery } from '../../builders.ts'
import { until } from '../../processes.ts'
import { claimOne, deliveryOf, intendOne, untilState, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterEach(() => w.rest())
afterAll(() => w.end())

const unknown = { code: 'outcome_unknown', message: '', nextStep: '' }
const attemptsOf = (id: string) => w.db.select().from(attempts).where(eq(attempts.deliveryId, id)).orderBy(attempts.no)
async function one(network: string): Promise<string> {
  const channelId = await w.channel(network)
  return aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date() })
}

test('late proof of an earlier attempt also ends the attempt that runs now', async () => {
  const id = await one('keyed')
  const first = await claimOne(w.db, 'first', id)
  expect(await intendOne(w.db, first!, '{}')).toBe(true)
  await markUncertain(w.db, first!, 0, unknown, { outcome: 'unknown' })
  await w.db.update(deliveries).set({ state: 'scheduled', lookAt: null }).where(eq(deliveries.id, id))
  const second = await claimOne(w.db, 'second', id)
  expect(await intendOne(w.db, second!, '{}')).toBe(true)

  await recordPublished(w.db, [{ ...first!, publication: { remoteId: 'x', url: null }, evidence: 'answered' }])

  expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'published', remoteId: 'x' })
  expect((await attemptsOf(id)).map(({ outcome, endedAt }) => [outcome, endedAt !== null])).toEqual([
    ['unknown', true],
    ['lost', true],
  ])
})

test('an intent whose commit is confirmed too late is not sent, and is tried again', async () => {
  await w.db.execute(
    sql`create function linger() returns trigger language plpgsql as 'begin perform pg_sleep(1); return new; end'`,
  )
  await w.db.execute(sql`
    create trigger linger before update on deliveries for each row when (new.state = 'sending') execute function linger()`)
  const id = await one('blind')
  await w.worker()
  await until(async () => (await attemptsOf(id))[0]?.outcome)
  expect((await attemptsOf(id))[0]).toMatchObject({
    outcome: 'later',
    message: 'blind could not be reached in time.',
  })
  expect(w.fake.received).toHaveLength(0)
  await w.db.execute(sql`drop trigger linger on deliveries`)
  await untilState(w.db, id, 'published')
  expect(w.fake.received).toHaveLength(1)
})

test('a post whose file is gone fails with the reason, and nothing is sent', async () => {
  const channelId = await w.channel('readable')
  const { organisationId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() + 1000) })
  const fileKey = `${'0'.repeat(32)}.jpg`
  const file = { kind: 'image' as const, mime: 'image/jpeg', bytes: 1, sha256: '', fileKey }
  const [row] = await w.db
    .insert(media)
    .values({ organisationId, ...file })
    .returning()
  const { postId } = await deliveryOf(w.db, id)
  await w.db.insert(postMedia).values({ organisationId, postId, mediaId: row!.id, position: 0 })
  await w.worker()
  expect(await untilState(w.db, id, 'failed', 'published')).toMatchObject({
    state: 'failed',
    error: { code: 'media_gone' },
  })
  expect(w.fake.received).toHaveLength(0)
})
