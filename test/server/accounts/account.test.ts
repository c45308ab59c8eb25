import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accounts, memberships, sessions } from '../../../db/schema/accounts.ts'
import { startWeb, testSite } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { aHouse } from '../house.ts'
import { apiAs, openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

let people = 0
async function aPerson() {
  const email = `Person${people++}@Example.org`
  const password = `a good password ${email}`
  const browser = aBrowser(w.site.appUrl)
  const answer = await browser.post('/signup', {
    name: 'Ada',
    email,
    password,
    organisation: 'Works',
    timeZone: 'Europe/Berlin',
  })
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/'])
  return { email, password, browser, answer }
}

const isIn = async ({ get }: ReturnType<typeof aBrowser>) => {
  const { status, headers } = await get('/settings/account')
  if (status !== 200) expect([status, headers.get('location')]).toEqual([302, '/login?next=%2Fsettings%2Faccount'])
  return status === 200
}

describe('signing up', () => {
  test('makes the account, its organisation with the person as owner, and signs them in', async () => {
    const { email, browser } = await aPerson()
    expect(await isIn(browser)).toBe(true)
    const [row] = await w.db.execute(sql`
      select a.email, a.time_zone, m.role, o.name from accounts a join memberships m on m.account_id = a.id
      join organisations o on o.id = m.organisation_id where a.email = ${email}`)
    expect(row).toEqual({ email, time_zone: 'Europe/Berlin', role: 'owner', name: 'Works' })
  })

  test('with an e-mail that has an account, in any letter case, is refused and creates nothing', async () => {
    const { email } = await aPerson()
    const count = async () => [
      (await w.db.select().from(accounts)).length,
      (await w.db.select().from(memberships)).length,
    ]
    const before = await count()
    const form = { name: 'Eve', email: email.toLowerCase(), password: 'another password', organisation: 'X' }
    expect((await aBrowser(w.site.appUrl).post('/signup', form)).status).toBe(409)
    expect(await count()).toEqual(before)
  })

  test('with an invalid form has an error beside each field, and never shows the password again', async () => {
    const form = { name: ' ', email: 'nobody', password: 'too short', organisation: '' }
    const { status, text } = await aBrowser(w.site.appUrl).post('/signup', form)
    expect(status).toBe(400)
    for (const said of ['Required.', 'Must be an e-mail address.', 'At least 10 characters.'])
      expect(text).toContain(said)
    expect(text).not.toContain('too short')
  })
})

describe('the session', () => {
  test('is a cookie that scripts and other sites do not get, of which only a digest is stored', async () => {
    const { answer, browser } = await aPerson()
    const [cookie = ''] = answer.headers.getSetCookie()
    expect(cookie).toMatch(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Expires=/)
    const days = (Date.parse(cookie.split('Expires=')[1]!) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29.9)
    const token = browser.jar.cookie.split('=')[1]!
    const stored = await w.db.execute<{ row: string }>(sql`select row_to_json(s)::text as row from sessions s`)
    const hex = Buffer.from(token, 'base64url').toString('hex')
    for (const { row } of stored) for (const form of [token, hex]) expect(row).not.toContain(form)
    expect(w.web.log()).not.toContain(token)
  })

  test('has the prefix __Host- and Secure where the site is on https, and no other name is taken there', async () => {
    const appUrl = 'https://punctual.example'
    const site = await testSite(w.site.databaseUrl, { APP_URL: appUrl })
    const web = await startWeb(site)
    const browser = aBrowser(site.appUrl, { origin: appUrl })
    const { email, password } = await aPerson()
    const answer = await browser.post('/login', { email, password })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; /,
    )
    expect(answer.headers.get('strict-transport-security')).toMatch(/max-age=\d{8}/)
    expect(await isIn(browser)).toBe(true)
    expect(await isIn(aBrowser(site.appUrl, { cookie: browser.jar.cookie.replace('__Host-', '') }))).toBe(false)
    await web.stop()
    await site.end()
  })

  test('ends with signing out, also for who kept the cookie', async () => {
    const { browser } = await aPerson()
    const kept = aBrowser(w.site.appUrl, { cookie: browser.jar.cookie })
    const answer = await browser.post('/logout', {})
    expect(answer.headers.get('set-cookie')).toMatch(/^session=; Path=\/; .*Max-Age=0/)
    expect(await isIn(kept)).toBe(false)
  })

  test('ends everywhere at once when the person signs out everywhere', async () => {
    const { email, password, browser } = await aPerson()
    const other = aBrowser(w.site.appUrl)
    await other.post('/login', { email, password })
    expect([await isIn(browser), await isIn(other)]).toEqual([true, true])
    await other.post('/settings/account', { intent: 'everywhere' })
    expect([await isIn(browser), await isIn(other)]).toEqual([false, false])
  })

  test('knows the role of this moment: lowered, it is lower at the next request, and a membership that ends ends it', async () => {
    const { email, browser } = await aPerson()
    const makeKey = async () =>
      (await browser.post('/settings/developers/access', { name: 'x', scopes: 'posts:read' })).status
    const theirs = sql`account_id = (select id from accounts where email = ${email})`
    expect(await makeKey()).toBe(200)
    await w.db.execute(sql`update memberships set role = 'viewer' where ${theirs}`)
    expect(await makeKey()).toBe(403)
    await w.db.execute(sql`delete from memberships where ${theirs}`)
    expect(await isIn(browser)).toBe(false)
  })

  test('that has run out, or was never given out, is none', async () => {
    const { browser } = await aPerson()
    expect(await isIn(aBrowser(w.site.appUrl, { cookie: `session=${'A'.repeat(43)}` }))).toBe(false)
    expect(await isIn(aBrowser(w.site.appUrl, { cookie: "session=' or 1=1" }))).toBe(false)
    await w.db.update(sessions).set({ expiresAt: sql`now()` })
    expect(await isIn(browser)).toBe(false)
  })
})

describe('signing in', () => {
  test('takes the e-mail in any case, and goes on to the page that was asked for, on this site only', async () => {
    const { email, password } = await aPerson()
    for (const [next, place] of [
      ['/channels?a=1', '/channels?a=1'],
      ['https://evil.example/', '/'],
      ['//evil.example', '/'],
      ['/\\evil.example', '/'],
    ]) {
      const browser = aBrowser(w.site.appUrl)
      const answer = await browser.post(`/login?${new URLSearchParams({ next: next! })}`, {
        email: email.toUpperCase(),
        password,
      })
      expect([answer.status, answer.headers.get('location')]).toEqual([302, place])
      expect(await isIn(browser)).toBe(true)
    }
  })

  test('with a wrong password, or an e-mail that nobody has, gets one and the same answer', async () => {
    const { email } = await aPerson()
    const tried = ['wrong password', ''].map((password) => ({ email, password: password || 'x'.repeat(200) }))
    const answers = [...tried, { email: 'nobody@example.org', password: 'wrong password' }].map(async (form) => {
      const { status, text, headers } = await aBrowser(w.site.appUrl).post('/login', form)
      return { status, said: text.match(/E-mail and password[^<"\\]*/)?.[0], cookie: headers.get('set-cookie') }
    })
    for (const answer of await Promise.all(answers))
      expect(answer).toEqual({ status: 401, said: 'E-mail and password do not match an account.', cookie: null })
  })
})

describe('the account page', () => {
  test('changes the password after the current one, ends every other session and keeps this one', async () => {
    const { email, password, browser } = await aPerson()
    const other = aBrowser(w.site.appUrl)
    await other.post('/login', { email, password })
    const change = { intent: 'password', password: 'an even better one' }
    expect((await browser.post('/settings/account', { ...change, current: 'not this' })).status).toBe(422)
    expect(await isIn(other)).toBe(true)
    expect((await browser.post('/settings/account', { ...change, current: password })).status).toBe(200)
    expect([await isIn(browser), await isIn(other)]).toEqual([true, false])
    expect((await other.post('/login', { email, password })).status).toBe(401)
    expect((await other.post('/login', { email, password: 'an even better one' })).status).toBe(302)
  })

  test('changes the e-mail only after the password, and never to one that somebody has', async () => {
    const { email, password, browser } = await aPerson()
    const somebody = await aPerson()
    const save = (change: Record<string, string>) =>
      browser.post('/settings/account', { intent: 'profile', name: 'Ada', timeZone: 'UTC', ...change })
    expect((await save({ email: 'new@example.org' })).status).toBe(422)
    expect((await save({ email: somebody.email.toUpperCase(), password })).status).toBe(409)
    for (const timeZone of ['Mars/Olympus', '+01:00', '-0330', '+01', ''])
      expect([timeZone, (await save({ email, timeZone })).status]).toEqual([timeZone, 400])
    for (const timeZone of ['UTC', 'Asia/Calcutta', 'US/Eastern', 'Etc/GMT+5', 'CET'])
      expect([timeZone, (await save({ email, timeZone })).status]).toEqual([timeZone, 200])
    expect((await save({ email: email.toLowerCase() })).status).toBe(200)
    expect((await save({ email: 'new@example.org', password })).status).toBe(200)
    expect((await aBrowser(w.site.appUrl).post('/login', { email, password })).status).toBe(401)
    expect((await aBrowser(w.site.appUrl).post('/login', { email: 'new@example.org', password })).status).toBe(302)
  })
})

test('a form that another site sends, or that does not say whence it comes, changes nothing', async () => {
  const { email, password, browser } = await aPerson()
  for (const origin of [null, 'null', 'https://evil.example', `${w.site.appUrl}.evil.example`, 'http://localhost']) {
    const theirs = aBrowser(w.site.appUrl, { origin, cookie: browser.jar.cookie })
    for (const path of ['/logout', '/settings/account', '/login', '/signup', '/organisation', '/nothing'])
      expect([origin, path, (await theirs.post(path, { email, password, intent: 'everywhere' })).status]).toEqual([
        origin,
        path,
        403,
      ])
  }
  expect(await isIn(browser)).toBe(true)
})

test('pages run only the scripts that they were made with, in no frame, and are kept in no cache', async () => {
  const { browser } = await aPerson()
  const nonces = []
  for (const path of ['/login', '/', '/settings/account', '/nothing', '/%']) {
    const { headers, text } = await browser.get(path)
    const policy = headers.get('content-security-policy') ?? ''
    for (const directive of [
      "default-src 'self'",
      "object-src 'none'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ])
      expect([path, policy]).toEqual([path, expect.stringContaining(directive)])
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-powered-by')).toBeNull()
    const nonce = policy.match(/'nonce-([\w-]{43})'/)?.[1]
    nonces.push(nonce)
    for (const script of text.match(/<script[^>]*>/g) ?? []) expect(script).toContain(`nonce="${nonce}"`)
    expect(text).not.toMatch(/<[^>]+\son\w+=/)
  }
  expect(new Set(nonces).size).toBe(nonces.length)
})

test('the week and the clock of the calendar stay as they are until a form names them, and are known ones', async () => {
  const house = await aHouse(w)
  const api = apiAs(w.installation, house.member)
  const { name, email, timeZone } = house.member
  const shown = async () => {
    const [row] = await w.db.select().from(accounts).where(eq(accounts.id, house.accountId))
    return [row!.weekStart, row!.clock]
  }
  await api.account.update({ name, email, timeZone, weekStart: 7, clock: 12 })
  await api.account.update({ name, email, timeZone })
  expect(await shown()).toEqual([7, 12])
  for (const wrong of [{ weekStart: 8 }, { clock: 13 }])
    await expect(api.account.update({ name, email, timeZone, ...wrong } as never)).rejects.toThrow()
  await api.account.update({ name, email, timeZone, weekStart: 0, clock: 0 })
  expect(await shown()).toEqual([null, null])
})
