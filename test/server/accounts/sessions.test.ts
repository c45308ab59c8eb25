import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { accounts, devices, sessions } from '../../../db/schema/accounts.ts'
import { digest } from '../../../server/access/secrets.ts'
import { startSession } from '../../../server/accounts/sessions.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

let people = 0
async function aPerson() {
  const email = `person${people++}@example.org`
  const password = 'a good password'
  const browser = aBrowser(w.site.appUrl)
  const answer = await browser.post('/signup', { name: 'Ada', email, password, organisation: 'Works' })
  expect(answer.status).toBe(302)
  const [account] = await w.db.select().from(accounts).where(eq(accounts.email, email))
  return { email, password, browser, answer, accountId: account!.id }
}

const isIn = async (cookie: string) =>
  (await aBrowser(w.site.appUrl, { cookie }).get('/settings/account')).status === 200

test('a sign-in whose password is changed while it is looked at begins no session', async () => {
  const { email, password, accountId } = await aPerson()
  const browser = aBrowser(w.site.appUrl)
  const signingIn = await w.db.transaction(async (tx) => {
    await tx.update(accounts).set({ passwordHash: 'another' }).where(eq(accounts.id, accountId))
    const asked = browser.post('/login', { email, password })
    await Promise.race([asked, until(() => someoneWaits(w.db))])
    return { asked }
  })
  expect((await signingIn.asked).status).toBe(401)
  expect(browser.jar.cookie).toBe('')
})

test('an account has its newest 50 sessions: the oldest ends when another begins, and nobody else loses one', async () => {
  const [ada, eve] = [await aPerson(), await aPerson()]
  const { accountId } = ada
  await w.db.execute(sql`
    insert into sessions (id, token_hash, account_id, organisation_id, created_at, expires_at)
    select gen_random_uuid(), sha256(n::text::bytea), account_id, organisation_id,
        created_at + n * interval '1 millisecond', expires_at
      from sessions, generate_series(1, 49) n where account_id = ${accountId}`)
  await w.db.execute(
    sql`update sessions set created_at = created_at - interval '1 hour' where account_id = ${accountId}`,
  )
  expect(await isIn(ada.browser.jar.cookie)).toBe(true)
  const another = aBrowser(w.site.appUrl)
  expect((await another.post('/login', { email: ada.email, password: ada.password })).status).toBe(302)
  expect([await isIn(ada.browser.jar.cookie), await isIn(another.jar.cookie)]).toEqual([false, true])
  expect(await w.db.$count(sessions, eq(sessions.accountId, accountId))).toBe(50)
  expect(await isIn(eve.browser.jar.cookie)).toBe(true)
})

test('a new password gives this session a new token: a copied old one is signed out, the person stays signed in', async () => {
  const { browser, password } = await aPerson()
  const copied = browser.jar.cookie
  const change = { intent: 'password', current: password, password: 'an even better one' }
  const { status, headers } = await browser.post('/settings/account', change)
  expect(status).toBe(200)
  expect(headers.getSetCookie()[0]).toMatch(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Expires=/)
  expect([await isIn(copied), await isIn(browser.jar.cookie)]).toEqual([false, true])
})

test('of two changes of the password at once one is made, and its session goes on', async () => {
  const { browser, password, email } = await aPerson()
  const changes = ['an even better one', 'the best of all of them'].map(async (wanted) => {
    const one = aBrowser(w.site.appUrl, { cookie: browser.jar.cookie })
    const { status } = await one.post('/settings/account', { intent: 'password', current: password, password: wanted })
    return { wanted, status, cookie: one.jar.cookie }
  })
  const [made, ...others] = (await Promise.all(changes)).sort((a, b) => a.status - b.status)
  expect(made!.status).toBe(200)
  for (const { status } of others) expect([302, 422]).toContain(status) // signed out by the first, or not the password
  expect(await isIn(made!.cookie)).toBe(true)
  expect((await aBrowser(w.site.appUrl).post('/login', { email, password: made!.wanted })).status).toBe(302)
})

test('the cookie of a device is for no script and no other site, stored as a digest, new at each sign-in, and opens nothing', async () => {
  const { browser, answer, email, password } = await aPerson()
  const set = answer.headers.getSetCookie()[1]!
  expect(set).toMatch(/^device=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Expires=/)
  const days = (Date.parse(set.split('Expires=')[1]!) - Date.now()) / 86_400_000
  expect(Math.round(days)).toBe(365)
  const device = browser.jar.device
  const hashOf = (cookie: string) => digest(cookie.split('=')[1]!)
  expect(await w.db.$count(devices, eq(devices.tokenHash, hashOf(device)))).toBe(1)
  const stored = await w.db.execute<{ row: string }>(sql`select row_to_json(d)::text as row from devices d`)
  for (const { row } of stored)
    for (const token of [device.split('=')[1]!, Buffer.from(device.split('=')[1]!, 'base64url').toString('hex')])
      expect(row).not.toContain(token)
  expect(await isIn(device)).toBe(false)
  await browser.post('/logout', {})
  expect(browser.jar.device).toBe(device)
  await browser.post('/login', { email, password })
  expect(browser.jar.device).not.toBe(device)
  expect(await w.db.$count(devices, eq(devices.tokenHash, hashOf(device)))).toBe(0)
})

test('a device is known to each account that signed in on it, an account to its newest 20, and none after a new password', async () => {
  const { browser, email, password, accountId } = await aPerson()
  const other = await aPerson()
  await browser.post('/logout', {})
  await browser.post('/login', { email: other.email, password: other.password })
  const known = () => w.db.$count(devices, eq(devices.tokenHash, digest(browser.jar.device.split('=')[1]!)))
  expect(await known()).toBe(2)
  for (let i = 0; i < 22; i++) await aBrowser(w.site.appUrl).post('/login', { email, password })
  expect(await w.db.$count(devices, eq(devices.accountId, accountId))).toBe(20)
  const last = aBrowser(w.site.appUrl)
  await last.post('/login', { email, password })
  await last.post('/settings/account', { intent: 'password', current: password, password: 'an even better one' })
  expect(await w.db.$count(devices, eq(devices.accountId, accountId))).toBe(1) // the one that changed it
})

test('a session and a device expire by the clock of the database, also when that of the process is wrong', async () => {
  const { accountId, organisationId } = w
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 400 * 86_400_000 })
  const made = await startSession(w.db, { accountId, organisationId }, null).finally(() => vi.useRealTimers())

  const [row] = await w.db.execute<{ session: string; device: string; days: number[] }>(sql`
    select s.expires_at as session, d.expires_at as device,
      array[round(extract(epoch from s.expires_at - now()) / 86400), round(extract(epoch from d.expires_at - now()) / 86400)]::int[] as days
    from sessions s join devices d using (account_id) where account_id = ${accountId}`)
  expect(row!.days).toEqual([30, 365])
  expect([made.expiresAt, made.device.expiresAt]).toEqual([new Date(row!.session), new Date(row!.device)])
})
