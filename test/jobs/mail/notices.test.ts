import { randomUUID } from 'node:crypto'
import { eq, inArray, sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { accounts, memberships, type Role } from '../../../db/schema/accounts.ts'
import { channels } from '../../../db/schema/channels.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { mails, notices } from '../../../db/schema/mail.ts'
import { createAccount } from '../../../server/accounts/account.ts'
import { aChannel, someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { startFakeServer } from '../../stand-ins/fake-network.ts'
import { startReceiver } from '../../stand-ins/receiver.ts'
import { statesOf, untilPublished } from '../../world.ts'
import { webWithMail } from './post-office.ts'

const t = webWithMail()
let fake: Awaited<ReturnType<typeof startFakeServer>>
let channelId = ''
beforeAll(async () => {
  fake = await startFakeServer()
})
beforeEach(async () => {
  fake.reset()
  await t.w.db.delete(memberships).where(sql`account_id <> ${t.w.accountId}`)
  await t.w.db.update(accounts).set({ emailVerifiedAt: new Date(), wantsNotices: true })
  channelId = await newChannel()
})
afterAll(() => fake.end())

const newChannel = () => aChannel(t.w.db, t.w.site.secretKey, { organisationId: t.w.organisationId, network: 'fake' })
const worker = () => t.worker({ networks: [{ name: 'fake', url: fake.url, repeatedSend: 'readable' }] })

/** A member whose address is verified. */
async function aMember(role: Role, timeZone = 'UTC'): Promise<{ id: string; email: string }> {
  const email = `${randomUUID()}@example.org`
  const id = await createAccount(t.w.db, { name: 'Bob', email, passwordHash: 'none', timeZone })
  await t.w.db.update(accounts).set({ emailVerifiedAt: new Date() }).where(eq(accounts.id, id))
  await t.w.db.insert(memberships).values({ organisationId: t.w.organisationId, accountId: id, role })
  return { id, email }
}

type Maker = { kind: 'member' | 'api_key' | 'app'; id: string }
type Wish = { n?: number; text?: string; dueAt?: Date; by?: Maker; on?: string }

/** Posts that are due later, so that they fail together when their time is set. Returns the deliveries' ids. */
async function posts({
  n = 1,
  text = 'is refused',
  dueAt = new Date(),
  by,
  on = channelId,
}: Wish = {}): Promise<string[]> {
  const { organisationId } = t.w
  const one = { organisationId, channelId: on, dueAt, text }
  const ids = await someDeliveries(
    t.w.db,
    Array.from({ length: n }, () => one),
  )
  const { kind, id } = by ?? { kind: 'member' as const, id: t.w.accountId }
  await t.w.db.execute(sql`
    update posts set created_by_kind = ${kind}, created_by_id = ${id}
    where id in (select post_id from deliveries where id = any(${sql.param(ids)}::uuid[]))`)
  return ids
}

const untilState = (ids: string[], state: string) =>
  until(async () => (await statesOf(t.w.db, ids)).every((one) => one === state))
const untilNoted = (n: number) => until(async () => (await t.w.db.$count(notices)) === n)
/** The time that notices wait for others is over. */
const passTime = () => t.w.db.update(notices).set({ createdAt: sql`created_at - interval '10 minutes'` })
const untilSent = async (n: number) => {
  await until(() => t.server.arrived.length >= n)
  await until(async () => (await t.rows()).every(({ state }) => state !== 'pending'))
  return t.server.arrived
}

test('200 posts that fail in a burst are one mail to the member who made them', async () => {
  await posts({ n: 200 })
  await worker()
  await untilNoted(200)
  expect(t.server.arrived).toEqual([]) // they wait for others

  await passTime()

  const [mail, ...others] = await untilSent(1)
  expect(others).toEqual([])
  expect(mail).toMatchObject({
    to: [t.email],
    headers: {
      subject: '200 posts need attention: Test',
      'list-unsubscribe': `<${t.w.site.appUrl}/settings/account#mail>`,
    },
  })
  expect(mail!.body).toContain('It was not published.\n  This is too long.')
  expect(mail!.body.match(/\/posts\/[\da-f-]{36}/g)).toHaveLength(20)
  expect(mail!.body).toContain('And 180 more')
  expect((await t.rows())[0]).toMatchObject({ organisationId: t.w.organisationId, content: null })
})

test('posts of keys, apps and former members are mailed to the owners, and each member gets only their own posts', async () => {
  const [bob, admin] = [await aMember('editor'), await aMember('admin')]
  const gone = { kind: 'member' as const, id: randomUUID() }
  await posts({ by: { kind: 'member', id: bob.id } })
  await posts({ by: { kind: 'api_key', id: randomUUID() } })
  await posts({ by: { kind: 'app', id: randomUUID() } })
  await posts({ by: gone })
  await worker()
  await untilNoted(4)

  await passTime()

  await untilSent(2)
  const subjects = (email: string) => t.server.to(email).map(({ headers }) => headers.subject)
  expect(subjects(bob.email)).toEqual(['1 post needs attention: Test'])
  expect(subjects(t.email)).toEqual(['3 posts need attention: Test'])
  expect(subjects(admin.email)).toEqual([])
})

test('a post that needs review is mailed too, and a published post writes no notice', async () => {
  const late = await posts({ text: 'late', dueAt: new Date(Date.now() - 25 * 3_600_000) })
  const fine = await posts({ text: 'fine', on: await newChannel() })
  await worker()
  await untilState(late, 'needs_review')
  await untilPublished(t.w.db, fine)
  await untilNoted(1)

  await passTime()

  const [mail] = await untilSent(1)
  expect(mail!.body).toContain('* late\n  It needs your decision.')
  expect(mail!.body).not.toContain('fine')
})

test('a post without a text for all is named by the text of its channel', async () => {
  const ids = await posts({ text: '' })
  await t.w.db.update(deliveries).set({ content: 'is refused' }).where(inArray(deliveries.id, ids))
  await worker()
  await untilNoted(1)

  await passTime()

  const [mail] = await untilSent(1)
  expect(mail!.body).toContain('* is refused\n  It was not published.')
})

test('a member without a verified address, who wants no mails, or who has left gets none', async () => {
  const unverified = await aMember('editor')
  await t.w.db.update(accounts).set({ emailVerifiedAt: null }).where(eq(accounts.id, unverified.id))
  const quiet = await aMember('editor')
  await t.w.db.update(accounts).set({ wantsNotices: false }).where(eq(accounts.id, quiet.id))
  const leaving = await aMember('editor')
  const ids = await Promise.all(
    [unverified, quiet, leaving].map(({ id }) => posts({ by: { kind: 'member', id }, n: 1 })),
  )
  await worker()
  await untilState(ids.flat(), 'failed')
  expect(await t.w.db.select().from(notices)).toMatchObject([{ accountId: leaving.id }])

  await t.w.db.delete(memberships).where(eq(memberships.accountId, leaving.id))
  await passTime()

  await until(async () => (await t.rows())[0]?.state === 'dropped')
  expect(t.server.arrived).toEqual([])
})

test('a post that no longer needs attention when the mail is sent is not in it', async () => {
  const ids = await posts({ n: 2 })
  await worker()
  await untilNoted(2)
  await t.w.db.execute(sql`
    update posts set told = 'CANCELLED' where id = (select post_id from deliveries where id = ${ids[0]!})`)

  await passTime()

  const [mail] = await untilSent(1)
  expect(mail!.headers.subject).toBe('1 post needs attention: Test')
})

test('a channel that needs a reconnect is mailed to owners and admins with its next ten posts in their zone, once an hour', async () => {
  const admin = await aMember('admin', 'Asia/Tokyo')
  const editor = await aMember('editor')
  await posts({ n: 12, text: 'next', dueAt: new Date('2031-01-01T20:00:00Z') })
  fake.isTokenGood = () => false
  await posts({ text: 'first' })
  await worker()
  await untilNoted(2)

  await passTime()

  await untilSent(2)
  expect(t.server.to(editor.email)).toEqual([])
  const [toAdmin] = t.server.to(admin.email)
  expect(toAdmin!.headers.subject).toBe('Reconnect fake: Test')
  expect(toAdmin!.body).toContain('Thu 2 Jan 2031, 05:00 (Asia/Tokyo), on fake')
  expect(t.server.to(t.email)[0]!.body).toContain('Wed 1 Jan 2031, 20:00 (UTC), on fake')
  expect(toAdmin!.body.match(/\/posts\//g)).toHaveLength(10)

  await posts({ text: 'another', on: await newChannel() })
  await untilNoted(2)
  await passTime()
  await until(async () => (await t.w.db.$count(channels, eq(channels.status, 'needs_reconnect'))) >= 2)
  await t.worker() // its first sweep collects nothing
  expect(await t.w.db.$count(notices)).toBe(2)

  await t.w.db.update(mails).set({ createdAt: sql`created_at - interval '1 hour'` })
  await untilSent(4)
  expect(t.server.to(admin.email)[1]!.headers.subject).toBe('Reconnect fake: Test')
})

test('a webhook that is switched off is mailed to the member who made it', async () => {
  const receiver = await startReceiver()
  receiver.answer = (_told, res) => res.writeHead(410).end()
  const made = await t.w.call('POST', '/webhooks', { json: { url: receiver.url, events: ['post.created'] } })
  await worker()
  await t.w.call('POST', `/webhooks/${made.json.id}/test`)
  await untilNoted(1)

  await passTime()

  const [mail] = await untilSent(1)
  expect([mail!.to, mail!.headers.subject]).toEqual([[t.email], 'A webhook was switched off: Test'])
  expect(mail!.body).toContain(`${receiver.url}\n  It answered 410 Gone.`)
  await receiver.end()
})
