import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { throttles } from '../../../db/schema/api.ts'
import { type Site, until } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { type Beside, callApi, openBeside, openWeb, type Web } from '../web.ts'

const AMinute = 3 // failures from one address
const password = 'a good password'
const email = 'ada@example.org'

let w: Web
let other: Beside
beforeAll(async () => {
  const limit = { AUTH_RATE_LIMIT: String(AMinute) }
  w = await openWeb(limit)
  other = await openBeside(w, limit)
  expect((await signUp(w.site, email)).status).toBe(302)
})
beforeEach(() => w.db.delete(throttles))
afterAll(async () => {
  await other.end()
  await w.end()
})

const signIn = async (site: Site, tried = password, as = email) =>
  (await aBrowser(site.appUrl).post('/login', { email: as, password: tried })).status

const signUp = (site: Site, as: string) =>
  aBrowser(site.appUrl).post('/signup', { name: 'Ada', email: as, password, organisation: 'Works' })

test('failures are counted for all web processes together: past the limit even the right password waits', async () => {
  expect(await signIn(w.site, 'wrong')).toBe(401)
  expect(await signIn(other.site, 'wrong', 'nobody@example.org')).toBe(401)
  expect(await signIn(w.site, 'wrong')).toBe(401)
  expect([await signIn(other.site), await signIn(w.site)]).toEqual([429, 429])
})

test('a burst is counted before any password is looked at', async () => {
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, i) => signIn(i % 2 ? w.site : other.site, 'wrong')))
  expect(statuses.filter((status) => status === 401)).toHaveLength(AMinute)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - AMinute)
})

test('signing in gives its count back: a busy address is not locked out', async () => {
  for (let i = 0; i < AMinute * 2; i++) expect(await signIn(w.site)).toBe(302)
})

test('a wrong password counts for the address, and on the account for the address and for all; no counter holds an e-mail', async () => {
  await signIn(w.site, 'wrong', 'ADA@example.org')
  const rows = await w.db.select().from(throttles)
  expect(rows.map(({ key }) => key.replace(/[\w-]{43}/, 'ACCOUNT')).sort()).toEqual([
    'account:ACCOUNT',
    'sign-in:127.0.0.1',
    'sign-in:127.0.0.1:ACCOUNT',
  ])
  for (const { key } of rows) expect(key).not.toMatch(/ada|example/i)
})

test('API credentials, clients of OAuth, sign-ins and sign-ups have counters of their own: none uses up another', async () => {
  const wrongKey = () => callApi(w.site.appUrl, 'GET', '/me', { key: `pak_live_${'0'.repeat(36)}` })
  const wrongClient = () =>
    fetch(`${w.site.appUrl}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'authorization_code', client_id: 'pca_unknown', client_secret: 'x' }),
    })
  const kinds: [() => Promise<{ status: number }>, number][] = [
    [wrongKey, 401],
    [wrongClient, 401],
    [async () => ({ status: await signIn(w.site, 'wrong') }), 401],
    [() => signUp(w.site, 'ada@example.org'), 409],
  ]
  for (const [asked, status] of kinds) {
    for (let i = 0; i < AMinute; i++) expect((await asked()).status).toBe(status)
    const before = await w.db.select().from(throttles)
    expect((await asked()).status).toBe(429)
    expect(await w.db.select().from(throttles)).toEqual(before) // a refused try writes nothing
  }
})

test('X-Forwarded-For without TRUST_PROXY is warned of once a process', async () => {
  const warnings = () =>
    other.web
      .log()
      .split('\n')
      .filter((line) => line.includes('TRUST_PROXY is 0'))
  expect(warnings()).toHaveLength(0)
  for (let i = 0; i < 3; i++) await fetch(`${other.site.appUrl}/login`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  await until(() => warnings().length > 0)
  await fetch(`${other.site.appUrl}/login`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  expect(warnings()).toHaveLength(1)
  expect(JSON.parse(warnings()[0]!)).toMatchObject({ level: expect.toSatisfy((level) => [40, 'warn'].includes(level)) })
})

test('an address may create a limited number of accounts an hour over all web processes; one too many gets the time to retry', async () => {
  const tried = Array.from({ length: 10 }, (_, i) => signUp(i % 2 ? w.site : other.site, `person${i}@example.org`))
  const answers = await Promise.all(tried)
  expect(answers.filter(({ status }) => status === 302)).toHaveLength(AMinute)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(10 - AMinute)
  for (const { headers, text } of refused) {
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(3500)
    expect(text).toContain('Too many new accounts from your address. Try again in 60 minutes.')
    expect(text).not.toContain(password)
  }
  expect((await signUp(w.site, email)).status).toBe(429) // nor does it tell any more who has an account
  expect(await signIn(w.site)).toBe(302)
})
