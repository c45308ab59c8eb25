import { eq, sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { accounts } from '../../../db/schema/accounts.ts'
import { throttles } from '../../../db/schema/api.ts'
import { mailLinks } from '../../../db/schema/mail.ts'
import { webWithMail } from '../../jobs/mail/post-office.ts'
import { until } from '../../processes.ts'
import { linkIn } from '../../stand-ins/mail-server.ts'
import { aBrowser } from '../browser.ts'
import { Password as password } from '../house.ts'
import { openBeside } from '../web.ts'

const t = webWithMail()
afterEach(() => t.w.db.delete(throttles))

const sendAgain = (browser: ReturnType<typeof aBrowser>) => browser.post('/settings/account', { intent: 'verify' })

/** The path of the newest link that verifies an address. */
async function linkTo(email: string, isNew = 1): Promise<string> {
  const isCheck = ({ headers }: { headers: Record<string, string> }) => headers.subject === 'Verify your e-mail address'
  const found = await until(() => {
    const all = t.server.to(email).filter(isCheck)
    return all.length >= isNew && all
  })
  const { pathname, search } = new URL(linkIn(found.at(-1)!))
  return pathname + search
}

const isVerified = async (email: string) =>
  (await t.w.db.select().from(accounts).where(eq(accounts.email, email)))[0]!.emailVerifiedAt !== null

test('an account whose address is not verified works, and its address is verified by the link that Send again mails', async () => {
  await t.worker()
  const { email, browser } = await t.person()
  expect((await browser.get('/settings/account')).text).toContain('is not verified yet')
  await sendAgain(browser)
  const link = await linkTo(email)

  const page = await aBrowser(t.w.site.appUrl).get(link)
  expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'strict-origin'])
  expect(await isVerified(email)).toBe(false) // mail programs open links by themselves

  const { status, text } = await aBrowser(t.w.site.appUrl).post(link, {})
  expect([status, text.includes(`${email} is verified.`)]).toEqual([200, true])
  expect(await isVerified(email)).toBe(true)
  expect((await browser.get('/settings/account')).text).not.toContain('is not verified yet')
  expect((await aBrowser(t.w.site.appUrl).post(link, {})).status).toBe(409)
})

test('a link that verifies an address works no longer once the account has another one', async () => {
  await t.worker()
  const { email, browser } = await t.person()
  await sendAgain(browser)
  const former = await linkTo(email)
  await t.w.db
    .update(accounts)
    .set({ email: `new-${email}` })
    .where(eq(accounts.email, email))
  expect((await aBrowser(t.w.site.appUrl).post(former, {})).status).toBe(409)
  expect(await isVerified(`new-${email}`)).toBe(false)
})

test('an expired link is refused, and Send again sends three in an hour', async () => {
  await t.worker()
  const { email, browser } = await t.person()
  await sendAgain(browser)
  const first = await linkTo(email)
  await t.w.db.update(mailLinks).set({ expiresAt: sql`now()` })
  expect((await aBrowser(t.w.site.appUrl).post(first, {})).status).toBe(409)

  for (let i = 0; i < 5; i++) {
    const { status, text } = await sendAgain(browser)
    expect([status, text.includes('Sent. Check your inbox.')]).toEqual([200, true])
  }

  const again = await linkTo(email, 3)
  await until(async () => (await t.rows()).every(({ state }) => state !== 'pending'))
  expect(t.server.to(email)).toHaveLength(3)
  expect((await aBrowser(t.w.site.appUrl).post(again, {})).status).toBe(200)
})

test('a link that verifies an address sets no password, and a link for a password verifies no address', async () => {
  await t.worker()
  const { email, browser } = await t.person()
  await sendAgain(browser)
  const link = await linkTo(email)
  const { status } = await aBrowser(t.w.site.appUrl).post(link.replace('/verify', '/reset'), {
    password: 'another fine one',
  })
  expect(status).toBe(409)
  await aBrowser(t.w.site.appUrl).post('/forgot', { email })
  const isReset = ({ headers }: { headers: Record<string, string> }) => headers.subject === 'Reset your password'
  const { search } = new URL(linkIn(await until(() => t.server.to(email).find(isReset))))
  expect((await aBrowser(t.w.site.appUrl).post(`/verify${search}`, {})).status).toBe(409)
  expect(await isVerified(email)).toBe(false)
  expect((await aBrowser(t.w.site.appUrl).post(link, {})).status).toBe(200)
})

test('a person chooses on the account page whether they get mails', async () => {
  const { email, browser } = await t.person()
  const wants = async () => (await t.w.db.select().from(accounts).where(eq(accounts.email, email)))[0]!.wantsNotices
  expect(await wants()).toBe(true)
  expect((await browser.post('/settings/account', { intent: 'mail' })).text).toContain('Saved.')
  expect(await wants()).toBe(false)
  await browser.post('/settings/account', { intent: 'mail', wantsNotices: 'on' })
  expect(await wants()).toBe(true)
})

test('without SMTP_URL the account page says nothing of mail, and a sign-up writes none', async () => {
  const other = await openBeside(t.w, { SMTP_URL: '' })
  const browser = aBrowser(other.site.appUrl)
  const email = 'without@example.org'
  await browser.post('/signup', { name: 'Ada', email, password, organisation: 'Works' })
  expect((await browser.get('/settings/account')).text).not.toContain('Mail me when')
  expect(await t.rows()).toEqual([])
  await other.end()
})

test('a changed password is told to a verified address only', async () => {
  await t.worker()
  const { browser } = await t.person()
  const change = { intent: 'password', current: password, password: 'another good password' }
  expect((await browser.post('/settings/account', change)).status).toBe(200)

  await until(async () => (await t.rows()).every(({ state }) => state !== 'pending'))

  expect((await t.rows()).map(({ kind, state }) => `${kind} ${state}`)).toContain('password_changed dropped')
})

test('a link of which a part is missing is called incomplete, before a button is pressed', async () => {
  for (const query of ['', '?token=', '?token=abc']) {
    const { text } = await aBrowser(t.w.site.appUrl).get(`/verify${query}`)
    expect(text).toContain('This link is incomplete.')
    expect(text).not.toContain('<button')
  }
  const whole = await aBrowser(t.w.site.appUrl).get(`/verify?token=${'x'.repeat(43)}`)
  expect(whole.text).not.toContain('This link is incomplete.')
})
