import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { throttles } from '../../db/schema.ts'
import { type Site, type Started, startWeb, testSite } from '../processes.ts'
import { aBrowser } from './browser.ts'
import { openWeb, type Web } from './web.ts'

const AMinute = 3 // failures from one address
const password = 'a good password'
const email = 'ada@example.org'

let w: Web
let otherSite: Site
let other: Started
beforeAll(async () => {
  const limit = { AUTH_RATE_LIMIT: String(AMinute) }
  w = await openWeb(limit)
  otherSite = await testSite(w.site.databaseUrl, limit)
  other = await startWeb(otherSite)
  expect((await signUp(w.site, email)).status).toBe(302)
})
beforeEach(() => w.db.delete(throttles))
afterAll(async () => {
  await other.stop()
  await otherSite.end()
  await w.end()
})

const signIn = async (site: Site, tried = password, as = email) =>
  (await aBrowser(site.appUrl).post('/login', { email: as, password: tried })).status

const signUp = (site: Site, as: string) =>
  aBrowser(site.appUrl).post('/signup', { name: 'Ada', email: as, password, organisation: 'Works' })

test('failures are counted for all web processes together: past the limit even the right password waits', async () => {
  expect(await signIn(w.site, 'wrong')).toBe(401)
  expect(await signIn(otherSite, 'wrong', 'nobody@example.org')).toBe(401)
  expect(await signIn(w.site, 'wrong')).toBe(401)
  expect([await signIn(otherSite), await signIn(w.site)]).toEqual([429, 429])
})

test('a burst is counted before any password is looked at', async () => {
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, i) => signIn(i % 2 ? w.site : otherSite, 'wrong')))
  expect(statuses.filter((status) => status === 401)).toHaveLength(AMinute)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - AMinute)
})

test('signing in gives its count back: a busy address is not locked out', async () => {
  for (let i = 0; i < AMinute * 2; i++) expect(await signIn(w.site)).toBe(302)
})

test('an account is guarded against many addresses, and its counters hold no e-mail', async () => {
  await signIn(w.site, 'wrong', 'ADA@example.org')
  const rows = await w.db.select().from(throttles)
  expect(rows.map(({ key }) => key.split(':')[0]).sort()).toEqual(['account', 'address'])
  for (const { key } of rows) expect(key).not.toMatch(/ada|example/i)
  await w.db.execute(sql`update throttles set points = 20 where key like 'account:%'`)
  await w.db.execute(sql`delete from throttles where key like 'address:%'`)
  expect(await signIn(w.site)).toBe(429) // from an address that has failed at nothing
})

test('an address makes so many accounts an hour, with all web processes together; who asks for one too many is told when', async () => {
  const tried = Array.from({ length: 10 }, (_, i) => signUp(i % 2 ? w.site : otherSite, `person${i}@example.org`))
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
