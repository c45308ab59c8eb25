import { eq, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { accounts } from '../../../db/schema/accounts.ts'
import { activity } from '../../../db/schema/api.ts'
import { channels } from '../../../db/schema/channels.ts'
import { networks, workerMinutes, workers } from '../../../db/schema/installation.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { stuckKinds } from '../../../server/operations/forms.ts'
import type { Api } from '../../../server/router.ts'
import { aDelivery } from '../../builders.ts'
import { aHouse, Password } from '../house.ts'
import { apiAs, failureOf, openWeb, type Web } from '../web.ts'

const Operator = 'operator@example.org'

let w: Web
let api: Api
let channelId = ''
beforeAll(async () => {
  w = await openWeb({ OPERATORS: `${Operator}, second@example.org` })
  const { member } = await aHouse(w)
  await w.db.update(accounts).set({ email: Operator }).where(eq(accounts.id, member.id))
  api = apiAs(w.installation, { ...member, name: 'Grace', email: Operator })
})
beforeEach(async () => {
  await w.db.execute(sql`delete from deliveries`)
  channelId = await w.channel()
})
afterAll(() => w.end())

const lease = () => ({ leaseToken: uuidv7(), leaseOwner: 'x', leaseUntil: new Date() })
const sent = { maybeOut: true, prepared: '{"text":"a secret text"}' }
const error = { code: 'x', message: 'It went wrong.', nextStep: 'Mend it.' }

async function aRow(change: Partial<typeof deliveries.$inferInsert> = {}, lateMs = 60_000): Promise<string> {
  const dueAt = new Date(Date.now() - lateMs)
  const { organisationId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt, text: 'a secret text' })
  await w.db
    .update(deliveries)
    .set({ error, ...change })
    .where(eq(deliveries.id, id))
  return id
}

test('what is stuck is counted and listed by its kind, the latest first, with whose it is and why', async () => {
  const old = await aRow({}, 200_000)
  const late = await aRow({ state: 'sending', channelId: await w.channel(), ...lease() })
  const tried = await aRow({ nextAttemptAt: new Date(Date.now() + 60_000) }, 30_000)
  await aRow({}, -3_600_000)
  const uncertain = await aRow({ state: 'uncertain', lookAt: new Date(), ...sent })
  const review = await aRow({ state: 'needs_review', ...sent })
  const held = await aRow({ state: 'held' })
  const suspect = await aRow({ state: 'failed', crashCount: 3 })
  const { counts, oldestDueAt } = await api.operations.overview()
  expect(counts).toEqual({ overdue: 3, claimed: 0, sending: 1, uncertain: 1, needs_review: 1, held: 1 })
  const listed: Record<string, string[]> = {}
  for (const kind of stuckKinds) listed[kind] = (await api.operations.stuck({ kind })).data.map(({ id }) => id)
  expect(listed).toEqual({
    ...{
      overdue: [old, late, tried],
      uncertain: [uncertain],
      needs_review: [review],
      held: [held],
      suspects: [suspect],
    },
  })
  const [first] = (await api.operations.stuck({ kind: 'overdue' })).data
  expect(first).toMatchObject({
    organisation: 'Test',
    channel: { id: channelId, name: 'feed', network: 'feed' },
    error,
  })
  expect(first!.dueAt).toBe(oldestDueAt)
})

test('a long list of what is stuck is read page by page', async () => {
  const ids = [await aRow({}, 90_000), await aRow({}, 80_000), await aRow({}, 70_000)]
  const first = await api.operations.stuck({ kind: 'overdue', limit: 2 })
  const rest = await api.operations.stuck({ kind: 'overdue', limit: 2, cursor: first.nextCursor! })
  expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(ids)
  expect(rest.nextCursor).toBeNull()
})

test('operators are shown neither what is posted nor what is sealed', async () => {
  await aRow()
  await aRow({ state: 'needs_review', ...sent })
  const said = [await api.operations.overview()] as unknown[]
  for (const kind of stuckKinds) said.push(await api.operations.stuck({ kind }))
  const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
  expect(JSON.stringify(said)).not.toContain('secret')
  expect(JSON.stringify(said)).not.toContain(Buffer.from(channel!.credential!).toString('base64').slice(0, 20))
  expect(JSON.stringify(said)).not.toMatch(/credential|prepared|content/)
})

test('workers are shown with their heartbeats, and those that are silent are marked', async () => {
  const base = { host: 'a', pid: 1, concurrency: 50 }
  const ago = (ms: number) => new Date(Date.now() - ms)
  await w.db.insert(workers).values([
    { ...base, owner: 'alive', startedAt: ago(3000) },
    { ...base, owner: 'silent', startedAt: ago(2000), seenAt: ago(40_000) },
    { ...base, owner: 'gone', startedAt: ago(1000), goneAt: ago(500) },
  ])
  const { workers: seen } = await api.operations.overview()
  expect(seen.map(({ owner, isSilent }) => [owner, isSilent])).toEqual([
    ['alive', false],
    ['silent', true],
    ['gone', true],
  ])
})

test('the minutes of all workers make half hours: counts are added up, of the rest the worst stands', async () => {
  const minute = { failed: 1, latenessP50Ms: 3, waiting: 0, oldestWaitingMs: 0 }
  const at = (await api.operations.overview()).lateness.at(-2)!.at
  await w.db.insert(workerMinutes).values([
    { ...minute, at: new Date(at), owner: 'a', published: 5, latenessP95Ms: 9, latenessMaxMs: 90, waiting: 7 },
    { ...minute, at: new Date(at), owner: 'b', published: 2, latenessP95Ms: 4, latenessMaxMs: 400 },
    { ...minute, at: new Date(Date.parse(at) + 29 * 60_000), owner: 'a', published: 0, oldestWaitingMs: 30 },
    { ...minute, at: new Date(Date.parse(at) - 25 * 3_600_000), owner: 'a', published: 99 },
  ])
  const { lateness } = await api.operations.overview()
  expect(lateness).toHaveLength(48)
  expect(lateness.find((half) => half.at === at)).toEqual({
    ...{ at, published: 7, failed: 3, latenessP95Ms: 9, latenessMaxMs: 400, waiting: 7, oldestWaitingMs: 30 },
  })
  expect(lateness.reduce((sum, { published }) => sum + published, 0)).toBe(7)
})

test('networks are shown with what is under way, their bound and their pause', async () => {
  await aRow({ state: 'sending', ...lease() })
  await w.db.insert(networks).values({ name: 'feed', atOnce: 3 })
  await api.operations.pause({ scope: 'network', name: 'feed' })
  const { networks: seen } = await api.operations.overview()
  expect(seen).toEqual([{ name: 'feed', underWay: 1, atOnce: 3, pausedAt: expect.any(String) }])
  await api.operations.resume({ scope: 'network', name: 'feed' })
  expect((await api.operations.overview()).networks[0]!.pausedAt).toBeNull()
})

test('a pause of everything or of a channel is shown, and the channel’s organisation reads who made it, not from where', async () => {
  await api.operations.pause({ scope: 'all' })
  expect(await api.operations.overview()).toMatchObject({ pausedAt: expect.any(String), restoredAt: null })
  await api.operations.resume({ scope: 'all' })
  await api.operations.pause({ scope: 'channel', id: channelId })
  const shown = await api.operations.overview()
  expect(shown).toMatchObject({
    pausedAt: null,
    pausedChannels: [{ id: channelId, organisation: 'Test' }],
    pausedChannelCount: 1,
  })
  await api.operations.resume({ scope: 'channel', id: channelId })
  expect((await api.operations.overview()).pausedChannels).toEqual([])
  const trail = await w.db.select().from(activity).where(eq(activity.organisationId, w.organisationId))
  const by = { actorKind: 'operator', actorName: 'Grace', address: null, subjectName: 'feed' }
  expect(trail).toMatchObject([
    { action: 'channel.paused', ...by },
    { action: 'channel.resumed', ...by },
  ])
  expect(await failureOf(api.operations.pause({ scope: 'channel', id: uuidv7() }))).toBe('not_found')
  expect(await failureOf(api.operations.pause({ scope: 'network', name: 'nope' }))).toBe('not_found')
})

test('a failed delivery is sent again, and one that waits for a worker is woken again', async () => {
  const failed = await aRow({ state: 'failed', crashCount: 3 })
  await api.operations.retry({ id: failed })
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, failed))
  expect(row).toMatchObject({ state: 'scheduled', crashCount: 0 })
  expect(await failureOf(api.operations.retry({ id: uuidv7() }))).toBe('not_found')

  const due = await aRow()
  const looked = await aRow({ state: 'uncertain', lookAt: new Date(), ...sent })
  await w.db.execute(sql`delete from graphile_worker._private_jobs`)
  for (const id of [due, looked]) await api.operations.wake({ id })
  const jobs = await w.db.execute<{ key: string }>(sql`select key from graphile_worker.jobs order by key`)
  expect([...jobs].map(({ key }) => key)).toEqual([due, `look:${looked}`])
  const waiting = await aRow({ nextAttemptAt: new Date(Date.now() + 60_000) })
  expect(await failureOf(api.operations.wake({ id: waiting }))).toBe('nothing_to_wake')
  expect(await failureOf(api.operations.wake({ id: uuidv7() }))).toBe('not_found')
})

test('what an operator has stopped does not wait for a worker, and is not woken', async () => {
  const id = await aRow()
  const isWakeable = async () => (await api.operations.stuck({ kind: 'overdue' })).data[0]!.isWakeable
  expect(await isWakeable()).toBe(true)
  for (const reach of reachesOf(channelId)) {
    await api.operations.pause(reach)
    expect(await isWakeable()).toBe(false)
    expect(await failureOf(api.operations.wake({ id }))).toBe('nothing_to_wake')
    await api.operations.resume(reach)
  }
  await w.db
    .update(channels)
    .set({ pausedUntil: new Date(Date.now() + 60_000) })
    .where(eq(channels.id, channelId))
  expect(await isWakeable()).toBe(false)
})

test('a resume says which wider pause still applies', async () => {
  const [all, network, channel] = reachesOf(channelId)
  for (const reach of [all, network, channel]) await api.operations.pause(reach)
  const within = async (reach: typeof all | typeof network | typeof channel) =>
    (await api.operations.resume(reach)).within
  expect(await within(channel)).toBe('all')
  expect(await within(all)).toBeNull()
  expect(await within(channel)).toBe('network')
  expect(await within(network)).toBeNull()
  expect(await within(channel)).toBeNull()
})

function reachesOf(id: string) {
  return [{ scope: 'all' }, { scope: 'network', name: 'feed' }, { scope: 'channel', id }] as const
}

test('nobody gets an operator’s page by taking the address of one', async () => {
  const nobody = apiAs(w.installation, null)
  const form = { name: 'Eve', password: Password, organisation: 'x' }
  for (const email of [Operator, 'SECOND@example.org'])
    expect(await failureOf(nobody.signUp.begin({ ...form, email, next: '/' }))).toBe('email_reserved')
  const eve = await aHouse(w)
  const hers = apiAs(w.installation, eve.member)
  const change = { name: 'Eve', timeZone: 'UTC', password: Password }
  expect(await failureOf(hers.account.update({ ...change, email: 'Second@Example.org' }))).toBe('email_reserved')
  expect((await hers.account.show()).isOperator).toBe(false)
  expect((await api.account.show()).isOperator).toBe(true)
  expect(await failureOf(api.account.update({ ...change, email: Operator }))).toBe('done')
})
