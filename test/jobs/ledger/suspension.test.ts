import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import { atCommandLine } from '../../../server/access/audit.ts'
import { suspendOrganisation, unsuspendOrganisation } from '../../../server/operations/suspension.ts'
import { aDelivery, anOrganisation } from '../../builders.ts'
import { until } from '../../processes.ts'
import { claimOne, deliveryOf, intendOne, untilPublished, untilState, type World, world } from '../../world.ts'

let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(() => w.end())

async function due(inMs: number, network = 'keyed', organisationId = w.organisationId) {
  const channelId = await w.channel(network, undefined, organisationId)
  return aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() + inMs) })
}
const suspend = () => suspendOrganisation(w.db, atCommandLine, w.organisationId)
const unsuspend = () => unsuspendOrganisation(w.db, atCommandLine, w.organisationId)

async function begunMinutesAgo(minutes: number): Promise<void> {
  await w.db.execute(sql`
    update organisations set suspended_at = now() - ${minutes} * interval '1 minute' where id = ${w.organisationId}`)
}

async function expectSound(): Promise<void> {
  const broken = (await w.db.transaction(checkInvariants)).filter(({ broken }) => broken > 0)
  expect(broken).toEqual([])
}

test('posts of a suspended organisation are not claimed or sent, others go on, and overdue posts need review when it returns', async () => {
  const claimedBefore = await due(-1000)
  const claimed = await claimOne(w.db, 'a worker', claimedBefore)
  expect(await suspend()).toMatchObject({ id: w.organisationId, suspendedAt: expect.stringMatching(/Z$/) })
  expect(await intendOne(w.db, claimed!, '{}')).toBe(false)

  const other = await anOrganisation(w.db)
  const dueLongAgo = await due(-120_000)
  const dueInAMoment = await due(300)
  const dueTomorrow = await due(86_400_000)
  await w.worker()
  const theirs = await due(-120_000, 'keyed', other.organisationId)
  await untilPublished(w.db, [theirs])
  await until(async () => (await deliveryOf(w.db, dueInAMoment)).dueAt! < new Date())
  const theirLast = await due(0, 'keyed', other.organisationId)
  await untilPublished(w.db, [theirLast])
  for (const id of [dueLongAgo, dueInAMoment, dueTomorrow])
    expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'scheduled', attemptNo: 0 })
  expect(w.fake.posts.filter(({ token }) => token === `good of ${w.organisationId}`)).toEqual([])
  await expectSound()

  await begunMinutesAgo(1.5)
  expect(await unsuspend()).toMatchObject({ suspendedAt: null, needsReview: 3 })
  for (const id of [claimedBefore, dueLongAgo, dueInAMoment])
    expect(await deliveryOf(w.db, id)).toMatchObject({
      state: 'needs_review',
      error: { code: 'organisation_suspended' },
    })
  await w.db.execute(sql`update deliveries set due_at = now() where id = ${dueTomorrow}`)
  const fresh = await due(0)
  await untilPublished(w.db, [fresh])
  await untilState(w.db, dueTomorrow, 'published')
  await expectSound()
})

test('when it returns, a post that may be out has an unknown outcome, and no overdue post goes out later by itself', async () => {
  await suspend()
  await begunMinutesAgo(2)
  const maybeOut = await due(-200_000)
  const held = await due(-200_000)
  const tried = await due(-200_000)
  const heldTillTomorrow = await due(86_400_000)
  await w.db.execute(sql`update deliveries set maybe_out = true, prepared = '{}' where id = ${maybeOut}`)
  await w.db.execute(sql`update deliveries set state = 'held' where id in (${held}, ${heldTillTomorrow})`)
  await w.db.execute(sql`update deliveries set next_attempt_at = now() + interval '1 hour' where id = ${tried}`)
  expect(await unsuspend()).toMatchObject({ needsReview: 3 })
  expect(await deliveryOf(w.db, maybeOut)).toMatchObject({
    state: 'needs_review',
    error: { code: 'outcome_unknown', nextStep: expect.stringContaining('It was published') },
  })
  for (const id of [held, tried])
    expect(await deliveryOf(w.db, id)).toMatchObject({
      state: 'needs_review',
      error: { code: 'organisation_suspended', nextStep: 'Send it now or cancel it.' },
    })
  expect(await deliveryOf(w.db, heldTillTomorrow)).toMatchObject({ state: 'held' })
})

test('a short suspension puts no post in review: due posts go out, and their workers are woken', async () => {
  await suspend()
  const id = await due(-1000)
  await w.db.execute(sql`delete from graphile_worker._private_jobs`) // removes its wake-up
  expect(await unsuspend()).toMatchObject({ needsReview: 0 })
  await untilPublished(w.db, [id])
})

test('a second suspension changes nothing, and unsuspending an active organisation changes nothing', async () => {
  const id = await due(-1000)
  expect(await unsuspend()).toMatchObject({ suspendedAt: null, needsReview: 0 })
  await untilPublished(w.db, [id])
  const { suspendedAt } = await suspend()
  expect(await suspend()).toMatchObject({ suspendedAt })
  await unsuspend()
  const deeds = await w.db.execute(sql`
    select action from activity where organisation_id = ${w.organisationId} order by at desc limit 2`)
  expect(deeds.map(({ action }) => action)).toEqual(['organisation.unsuspended', 'organisation.suspended'])
})
