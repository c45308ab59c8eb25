import { eq, sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { accounts, devices, sessions } from '../../../db/schema/accounts.ts'
import { throttles } from '../../../db/schema/api.ts'
import { mailLinks, mails } from '../../../db/schema/mail.ts'
import { webWithMail } from '../../jobs/mail/post-office.ts'
import { until } from '../../processes.ts'
import { linkIn } from '../../stand-ins/mail-server.ts'
import { aBrowser } from '../browser.ts'
import { costOf } from '../cost.ts'
import { Password as password } from '../house.ts'
import { openBeside } from '../web.ts'

const next = 'another fine secret'
const Sent = /If there is an account with this address, we(’|'|&#x27;)ve sent a link\./

const t = webWithMail()
afterEach(() => t.w.db.delete(throttles))

const browserOf = () => aBrowser(t.w.site.appUrl)
const ask = (email: string, site = t.w.site) => aBrowser(site.appUrl).post('/forgot', { email })

/** The path of the link for a new password that this person gets. */
async function linkFor(email: string): Promise<string> {
  await t.w.db.delete(throttles)
  expect((await ask(email)).status).toBe(200)
  const isReset = ({ headers }: { headers: Record<string, string> }) => headers.subject === 'Reset your password'
  const mail = await until(() => t.server.to(email).findLast(isReset))
  t.server.arrived.length = 0
  const { pathname, search } = new URL(linkIn(mail))
  return pathname + search
}

test('a person sets a new password by the link in the mail, and every session and device ends', async () => {
  await t.worker()
  const { email, browser } = await t.person()
  const link = await linkFor(email)
  expect((await browserOf().get(link)).text).toContain('New password')

  const { status, text } = await browserOf().post(link, { password: next })

  expect([status, text.includes('Password changed.')]).toEqual([200, true])
  expect((await browser.get('/settings/account')).status).toBe(302)
  const [person] = await t.w.db.select().from(accounts).where(eq(accounts.email, email))
  expect(await t.w.db.$count(sessions, eq(sessions.accountId, person!.id))).toBe(0)
  expect(await t.w.db.$count(devices, eq(devices.accountId, person!.id))).toBe(0)
  expect(person!.emailVerifiedAt).not.toBeNull()
  expect((await browserOf().post('/login', { email, password })).status).toBe(401)
  expect((await browserOf().post('/login', { email, password: next })).status).toBe(302)
  const [told] = await until(() => t.server.to(email).length > 0 && t.server.to(email))
  expect(told!.headers.subject).toBe('Your password was changed')
})

test('of 50 uses of one link at once, one sets its password, and the link is used up', async () => {
  await t.worker()
  const { email } = await t.person()
  const link = await linkFor(email)
  const passwords = Array.from({ length: 50 }, (_, i) => `${next} number ${i} of 50`)

  const answers = await Promise.all(passwords.map((one) => browserOf().post(link, { password: one })))

  const won = answers.flatMap(({ status }, i) => (status === 200 ? [passwords[i]!] : []))
  expect(won).toHaveLength(1)
  expect(new Set(answers.map(({ status }) => status))).toEqual(
    new Set([200, 409, 429].filter((status) => answers.some((one) => one.status === status))),
  )
  expect((await browserOf().post('/login', { email, password: won[0]! })).status).toBe(302)
  expect((await browserOf().get(link)).text).toContain('This link is too old, or was already used.')
})

test('a link without its token, or with a part of it, is called incomplete, and an unknown one too old', async () => {
  const shown = async (query: string) => (await browserOf().get(`/reset${query}`)).text
  for (const query of ['', '?token=', '?token=abc', `?token=${'x'.repeat(42)}`]) {
    expect(await shown(query)).toContain('This link is incomplete.')
    expect(await shown(query)).toContain('href="/forgot"')
  }
  expect(await shown(`?token=${'x'.repeat(43)}`)).toContain('This link is too old, or was already used.')
})

test('a link that has expired, or whose account has another address now, is refused', async () => {
  await t.worker()
  const { email, accountId } = await t.person()
  const expired = await linkFor(email)
  await t.w.db.update(mailLinks).set({ expiresAt: sql`now()` })
  expect((await browserOf().post(expired, { password: next })).status).toBe(409)

  const former = await linkFor(email)
  const isTheirs = eq(accounts.id, accountId)
  await t.w.db
    .update(accounts)
    .set({ email: `new-${email}` })
    .where(isTheirs)
  expect((await browserOf().post(former, { password: next })).status).toBe(409)
  expect((await browserOf().post('/login', { email: `new-${email}`, password })).status).toBe(302)
})

test('a changed password ends the links of its account, and of no other', async () => {
  await t.worker()
  const [ada, bob] = [await t.person(), await t.person()]
  const [adas, bobs] = [await linkFor(ada.email), await linkFor(bob.email)]

  const change = { intent: 'password', current: password, password: next }
  expect((await ada.browser.post('/settings/account', change)).status).toBe(200)

  expect((await browserOf().post(adas, { password: `${next} 2` })).status).toBe(409)
  expect((await browserOf().post(bobs, { password: next })).status).toBe(200)
})

test('a password that is easy to guess is refused beside its field, and the link still works', async () => {
  await t.worker()
  const { email } = await t.person()
  const link = await linkFor(email)
  expect((await browserOf().post(link, { password: email })).status).toBe(422)
  expect((await browserOf().post(link, { password: 'short' })).status).toBe(400)
  expect((await browserOf().post(link, { password: next })).status).toBe(200)
})

test('an address without an account gets the same answer after the same work, and no mail', async () => {
  const { email } = await t.person()
  await t.w.db.delete(mails)
  const written = async (address: string) => {
    const answer = await ask(address)
    const [row] = await t.rows()
    await t.w.db.delete(mails)
    const { id: _id, createdAt, nextAttemptAt, giveUpAt, content, ...same } = row!
    return { answer: [answer.status, Sent.test(answer.text), answer.text.length], same, sealed: content!.length }
  }
  const unknown = email.replace('person', 'nobody')

  expect(await written(unknown)).toEqual(await written(email))

  await t.worker()
  await ask(unknown)
  await until(async () => (await t.rows()).some(({ state }) => state === 'dropped'))
  expect([t.server.arrived.length, (await t.rows()).map(({ content }) => content)]).toEqual([0, [null]])
  expect(await t.w.db.$count(mailLinks, eq(mailLinks.email, unknown))).toBe(0)
})

test('the answers for known and unknown addresses take the same time', async () => {
  const { email } = await t.person()
  const ms: Record<string, number[]> = { known: [], unknown: [] }
  for (let i = 0; i < 40; i++)
    for (const kind of ['known', 'unknown']) {
      await t.w.db.delete(throttles)
      const began = performance.now()
      await ask(kind === 'known' ? email : `nobody${i}@example.org`)
      ms[kind]!.push(performance.now() - began)
    }
  const median = (kind: string) => ms[kind]!.sort((a, b) => a - b)[20]!
  expect(Math.abs(median('known') - median('unknown'))).toBeLessThan(Math.max(5, median('known') / 2))
})

test('an address gets three links an hour from all web processes together, in any case, and the answer stays the same', async () => {
  const other = await openBeside(t.w, { SMTP_URL: t.server.url })
  const { email } = await t.person()
  await t.w.db.delete(mails)
  for (const kind of [email, email.replace('person', 'nobody')])
    for (let i = 0; i < 5; i++) {
      const { status, text } = await ask(i % 2 ? kind.toUpperCase() : kind, i % 2 ? other.site : t.w.site)
      expect([status, Sent.test(text)]).toEqual([200, true])
    }
  expect(await t.rows()).toHaveLength(6)
  const keys = (await t.w.db.select().from(throttles)).map(({ key }) => key)
  expect(keys.filter((key) => /person|nobody|example/i.test(key))).toEqual([])
  await other.end()
})

test('a caller address has a limit of its own, which says how long to wait', async () => {
  const other = await openBeside(t.w, { SMTP_URL: t.server.url, AUTH_RATE_LIMIT: '2' })
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await ask(`many${i}@example.org`, other.site)).status)
  expect(statuses).toEqual([200, 200, 429])
  await other.end()
})

test('no token is in a log or in clear in the database, and the page of the link sends no referrer', async () => {
  const worker = await t.worker()
  const { email } = await t.person()
  const link = await linkFor(email)
  const token = new URL(link, t.w.site.appUrl).searchParams.get('token')!
  expect(token).toMatch(/^[\w-]{43}$/)

  const page = await browserOf().get(link)
  await browserOf().post(link, { password: 'short' })
  await browserOf().get(`${link}&_data=routes%2Freset`)

  expect(page.headers.get('referrer-policy')).toBe('strict-origin')
  expect(page.headers.get('cache-control')).toBe('no-store')
  const secrets = [token, encodeURIComponent(email), email, 'a secret of smtp', 'a%20secret%20of%20smtp']
  for (const log of [t.w.web.log(), worker.log()]) for (const secret of secrets) expect(log).not.toContain(secret)
  expect(t.w.web.log()).toContain('"path":"/reset"')
  const tables = await t.w.db.execute<{ name: string }>(sql`
    select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
    where schemaname in ('public', 'graphile_worker')`)
  const hex = Buffer.from(token).toString('hex')
  for (const { name } of tables) {
    const found = await t.w.db.execute(sql`
      select from ${sql.raw(name)} x where strpos(x::text, ${token}) > 0 or strpos(x::text, ${hex}) > 0`)
    expect([name, found.length]).toEqual([name, 0])
  }
})

test('the form is accepted from this site only', async () => {
  await t.worker()
  const { email } = await t.person()
  const link = await linkFor(email)
  const from = (origin: string, headers = {}) => aBrowser(t.w.site.appUrl, { origin, headers })
  expect((await from('null').post(link, { password: next })).status).toBe(403)
  expect((await from('https://evil.example').post(link, { password: next })).status).toBe(403)
  expect((await browserOf().post(link, { password: next })).status).toBe(200)
})

test('a request without a credential costs less than 50 ms of the processor', async () => {
  await ask('warm@example.org')
  const [ms] = await costOf(t.w.web, async () => {
    for (let i = 0; i < 40; i++) await ask(`cost${i}@example.org`)
  })
  const [wrongMs] = await costOf(t.w.web, async () => {
    for (let i = 0; i < 40; i++) await browserOf().post(`/reset?token=${'x'.repeat(43)}`, { password: next })
  })
  expect(ms / 40).toBeLessThan(50)
  expect(wrongMs / 40).toBeLessThan(50)
})

test('without SMTP_URL the page says to ask the operator, and no mail is written', async () => {
  const other = await openBeside(t.w, { SMTP_URL: '' })
  const { text } = await aBrowser(other.site.appUrl).get('/forgot')
  expect(text).toMatch(/This site can(.|&#x27;)t send mail. Ask the person who runs it\./)
  expect(text).not.toContain('Send link')
  const { status } = await ask('ada@example.org', other.site)
  expect([status, await t.rows()]).toEqual([403, []])
  await other.end()
})
