import { eq, sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { accounts, signUps } from '../../../db/schema/accounts.ts'
import { throttles } from '../../../db/schema/api.ts'
import { mailLinks } from '../../../db/schema/mail.ts'
import { setPassword } from '../../../server/accounts/account.ts'
import { webWithMail } from '../../jobs/mail/post-office.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { linkIn } from '../../stand-ins/mail-server.ts'
import { aBrowser } from '../browser.ts'
import { Password as password } from '../house.ts'
import { openBeside } from '../web.ts'

const Operator = 'operator@example.org'
const Ask = 'Confirm your new e-mail address'
const Told = 'Your e-mail address was changed'
const t = webWithMail({ OPERATORS: Operator })
let addresses = 0
afterEach(async () => {
  await t.w.db.delete(throttles)
  await t.w.db.delete(mailLinks)
  await t.w.db.delete(signUps)
})

type Browser = ReturnType<typeof aBrowser>

const newEmail = () => `new${++addresses}@example.org`
const page = async (browser: Browser) => (await browser.get('/settings/account')).text
const waitsFor = (email: string) => `We sent a mail to ${email}. Open the link in it to use this address.`
const profile = { intent: 'profile', name: 'Ada', timeZone: 'UTC', password }
const ask = (browser: Browser, email: string, form = {}) =>
  browser.post('/settings/account', { ...profile, email, ...form })
const press = (browser: Browser, intent: string) => browser.post('/settings/account', { intent })
const mailsTo = (email: string, subject: string) =>
  t.server.to(email).filter(({ headers }) => headers.subject === subject)
const allSent = () => until(async () => (await t.rows()).every(({ state }) => state !== 'pending'))
const accountOf = async (id: string) => (await t.w.db.select().from(accounts).where(eq(accounts.id, id)))[0]!
const verify = (id: string) => t.w.db.update(accounts).set({ emailVerifiedAt: sql`now()` }).where(eq(accounts.id, id))

const pathOf = (link: string) => {
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** The path of the newest of `count` links for a new address. */
async function linkTo(email: string, count = 1): Promise<string> {
  const all = await until(() => {
    const found = mailsTo(email, Ask)
    return found.length >= count && found
  })
  return pathOf(linkIn(all.at(-1)!))
}

/** What a page answers, without what is new in each answer. */
function plain({ status, text, headers }: Awaited<ReturnType<Browser['post']>>, email: string) {
  const nonce = /'nonce-([\w-]+)'/.exec(headers.get('content-security-policy')!)![1]!
  const hidden = [
    nonce,
    headers.get('x-request-id')!,
    email,
    /name="now" content="[^"]+"/g,
    /waiting-address-[\w-]+/g,
    /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g,
  ]
  return { status, text: hidden.reduce<string>((said, part) => said.replaceAll(part, '…'), text) }
}

test('a stranger’s address that an attacker asks for stays free: its owner signs up, and the attacker keeps the former one', async () => {
  await t.worker()
  const attacker = await t.person()
  const victim = newEmail()
  expect((await ask(attacker.browser, victim)).status).toBe(200)
  const tempting = await linkTo(victim)

  const browser = aBrowser(t.w.site.appUrl)
  const form = { name: 'Vic', email: victim, password: 'a fine one of Vic', organisation: 'Victims' }
  await browser.post('/signup', form)
  const found = await until(() => mailsTo(victim, 'Finish your sign-up')[0])
  expect(mailsTo(victim, 'You already have an account')).toEqual([])
  expect((await browser.get(tempting)).headers.get('location')).toMatch(/^\/login\?next=/) // one click gives nothing away
  expect((await browser.post(tempting, {})).headers.get('location')).toMatch(/^\/login\?next=/)
  expect((await browser.post(pathOf(linkIn(found)), { password: form.password })).status).toBe(302)

  expect(await page(browser)).toContain('Victims')
  expect((await browser.post(tempting, {})).status).toBe(409) // the link is the attacker's
  expect(await accountOf(attacker.accountId)).toMatchObject({ email: attacker.email, emailVerifiedAt: null })
  expect((await attacker.browser.post(tempting, {})).status).toBe(409)
  const signIn = async (email: string) => (await aBrowser(t.w.site.appUrl).post('/login', { email, password })).status
  expect([await signIn(attacker.email), await signIn(victim)]).toEqual([302, 401])
})

test('the link gives the account its address, verified, once, and only for the account that asked', async () => {
  await t.worker()
  const { browser, email, accountId } = await t.person()
  const other = await t.person()
  const next = newEmail()
  expect((await ask(browser, next)).text).toContain(waitsFor(next))
  const link = await linkTo(next)

  const opened = await browser.get(link)
  expect([opened.status, opened.headers.get('referrer-policy')]).toEqual([200, 'strict-origin'])
  for (const said of [email, next, 'Use this address']) expect(opened.text).toContain(said)
  expect((await other.browser.get(link)).text).toContain('is for another account')
  expect((await other.browser.post(link, {})).status).toBe(409)
  expect((await accountOf(accountId)).email).toBe(email) // mail programs open links by themselves

  const used = await browser.post(link, {})

  expect([used.status, used.text.includes(`Your account has the address ${next} now.`)]).toEqual([200, true])
  const { emailVerifiedAt, ...account } = await accountOf(accountId)
  expect([account.email, emailVerifiedAt !== null]).toEqual([next, true])
  expect(await page(browser)).not.toContain('We sent a mail')
  expect((await browser.post(link, {})).status).toBe(409)
  expect((await browser.get(link)).text).toContain('This link is too old')
  expect((await aBrowser(t.w.site.appUrl).post('/login', { email: next, password })).status).toBe(302)
  expect((await aBrowser(t.w.site.appUrl).post('/login', { email, password })).status).toBe(401)
})

test('of 20 uses of one link at once one gives the address', async () => {
  await t.worker()
  const { browser } = await t.person()
  const next = newEmail()
  await ask(browser, next)
  const link = await linkTo(next)
  const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await browser.post(link, {})).status))
  expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(409)])
})

test('only the newest link works: of the same address, and of another one, which replaces the first', async () => {
  await t.worker()
  const { browser, accountId } = await t.person()
  const [first, second] = [newEmail(), newEmail()]
  await ask(browser, first)
  const oldest = await linkTo(first)
  expect((await press(browser, 'new-address-again')).text).toContain('Only the newest link works.')
  const older = await linkTo(first, 2)
  expect((await browser.post(oldest, {})).status).toBe(409)

  const { text } = await ask(browser, second)

  expect([text.includes(waitsFor(second)), text.includes(waitsFor(first))]).toEqual([true, false])
  expect((await browser.post(older, {})).status).toBe(409)
  expect((await browser.post(await linkTo(second), {})).status).toBe(200)
  expect((await accountOf(accountId)).email).toBe(second)
})

test('of two accounts that wait for one address the first link wins, and the other is told', async () => {
  await t.worker()
  const [one, two] = [await t.person(), await t.person()]
  const next = newEmail()
  await ask(one.browser, next)
  const ofOne = await linkTo(next)
  const inOtherCase = next.replace('new', 'New')
  await ask(two.browser, inOtherCase)
  const ofTwo = await linkTo(inOtherCase)

  const answers = await Promise.all([two.browser.post(ofTwo, {}), one.browser.post(ofOne, {})])

  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  const { text } = answers.find(({ status }) => status === 409)!
  expect(text).toMatch(new RegExp(`There is an account with ${next} now. Sign in to it, or use another address.`, 'i'))
  const has = async ({ accountId }: typeof one) => (await accountOf(accountId)).email.toLowerCase() === next
  expect([await has(one), await has(two)].toSorted()).toEqual([false, true])
})

test('the former address is told when the change takes effect and not before, if it was verified, and not the new one', async () => {
  await t.worker()
  const { browser, accountId } = await t.person()
  const [second, third] = [newEmail(), newEmail()]
  await ask(browser, second)
  await browser.post(await linkTo(second), {})
  await ask(browser, third)
  const link = await linkTo(third)
  await allSent()
  expect(t.server.arrived.filter(({ headers }) => headers.subject === Told)).toEqual([])

  await browser.post(link, {})
  await allSent()

  const told = t.server.arrived.filter(({ headers }) => headers.subject === Told)
  expect(told.map(({ to }) => to)).toEqual([[second]]) // the first one was never verified
  expect(told[0]!.raw).not.toContain(third)
  expect((await accountOf(accountId)).email).toBe(third)
  const rows = (await t.rows()).filter(({ kind }) => kind === 'address_changed')
  expect(rows.map(({ content }) => content)).toEqual([null])
})

test('until the change takes effect, links for a new password go to the former address, and none of them after it', async () => {
  await t.worker()
  const { browser, email } = await t.person()
  const next = newEmail()
  await ask(browser, next)
  for (const address of [next, email]) await aBrowser(t.w.site.appUrl).post('/forgot', { email: address })
  await allSent()
  expect(mailsTo(next, 'Reset your password')).toEqual([])
  const [reset] = mailsTo(email, 'Reset your password')

  await browser.post(await linkTo(next), {})

  const form = { password: 'another good password' }
  expect((await aBrowser(t.w.site.appUrl).post(pathOf(linkIn(reset!)), form)).status).toBe(409)
})

test('an address with an account gets the same answer after the same writes as one without, and its owner a mail that says so', async () => {
  const { browser, accountId } = await t.person()
  const owner = await t.person()
  const written = async (email: string) => {
    const asked = plain(await ask(browser, email), email)
    const [mail] = await t.rows()
    const [link] = await t.w.db.select().from(mailLinks)
    const { id: _mail, createdAt: _at, nextAttemptAt: _next, giveUpAt: _until, subjectIds, ...sameMail } = mail!
    const { id, createdAt, expiresAt, email: typed, ...sameLink } = link!
    expect([typed, subjectIds]).toEqual([email, [id]])
    expect(expiresAt!.getTime() - createdAt.getTime()).toBe(24 * 3_600_000)
    const worker = await t.worker()
    await allSent()
    await worker.stop()
    const after = plain(await browser.get('/settings/account'), email)
    await t.w.db.execute(sql`delete from mails`)
    return { asked, sameMail, sameLink, after }
  }

  const known = await written(owner.email)

  expect(mailsTo(owner.email, Ask)).toEqual([])
  expect(mailsTo(owner.email, 'You already have an account')[0]!.body).toContain(
    `asked to use the address ${owner.email}`,
  )
  expect(await written(newEmail())).toEqual(known)
  expect(known.asked.status).toBe(200)
  expect((await accountOf(accountId)).email).not.toBe(owner.email)
})

test('an address gets three mails an hour at most from all accounts, the answer stays the same, and the last link works', async () => {
  await t.worker()
  const [one, two] = [await t.person(), await t.person()]
  const next = newEmail()
  await ask(two.browser, next)
  for (const _time of [1, 2, 3, 4]) expect((await ask(one.browser, next)).text).toContain(waitsFor(next))
  const again = await press(one.browser, 'new-address-again')
  expect([again.status, again.text.includes('We send at most 3 mails an hour to an address.')]).toEqual([429, true])
  await allSent()
  expect(mailsTo(next, Ask)).toHaveLength(3)
  expect((await one.browser.post(await linkTo(next, 3), {})).status).toBe(200)
})

test.each([
  ['Cancel change', (browser: Browser) => press(browser, 'new-address-drop')],
  [
    'a changed password',
    (browser: Browser) =>
      browser.post('/settings/account', { intent: 'password', current: password, password: 'another good password' }),
  ],
  ['an expiry', () => t.w.db.update(mailLinks).set({ expiresAt: sql`now()` })],
])('%s ends the address that waits', async (_how, end) => {
  await t.worker()
  const { browser, email, accountId } = await t.person()
  const next = newEmail()
  await ask(browser, next)
  const link = await linkTo(next)

  await end(browser)

  expect(await page(browser)).not.toContain('We sent a mail')
  expect((await browser.post(link, {})).status).toBe(409)
  expect((await press(browser, 'new-address-again')).status).toBe(200)
  await allSent()
  expect(mailsTo(next, Ask)).toHaveLength(1)
  expect((await accountOf(accountId)).email).toBe(email)
})

test('a new password by a link, and one by an operator, end the address that waits', async () => {
  await t.worker()
  const { browser, email, accountId } = await t.person()
  const waiting = () => t.w.db.$count(mailLinks, eq(mailLinks.kind, 'new_address'))
  await ask(browser, newEmail())
  await aBrowser(t.w.site.appUrl).post('/forgot', { email })
  const [reset] = await until(
    () => mailsTo(email, 'Reset your password').length > 0 && mailsTo(email, 'Reset your password'),
  )
  expect(await waiting()).toBe(1)
  const fresh = 'another good password'
  expect((await aBrowser(t.w.site.appUrl).post(pathOf(linkIn(reset!)), { password: fresh })).status).toBe(200)
  expect(await waiting()).toBe(0)

  const again = aBrowser(t.w.site.appUrl)
  await again.post('/login', { email, password: fresh })
  await ask(again, newEmail(), { password: fresh })
  expect(await waiting()).toBe(1)
  await t.w.db.transaction((tx) => setPassword(tx, t.w.installation.env, accountId, 'the best of all of them'))
  expect(await waiting()).toBe(0)
})

test('a password that is changed while an address is asked for lets none wait', async () => {
  const { browser, accountId } = await t.person()
  const { asked } = await t.w.db.transaction(async (tx) => {
    await tx.update(accounts).set({ passwordHash: 'another' }).where(eq(accounts.id, accountId))
    const asked = ask(browser, newEmail())
    await Promise.race([asked, until(() => someoneWaits(t.w.db))])
    return { asked }
  })
  expect((await asked).status).toBe(422)
  expect([await t.w.db.$count(mailLinks), (await t.rows()).length]).toEqual([0, 0])
})

test('a wrong password and an empty one are refused beside the field, and nothing is saved', async () => {
  const { browser, accountId } = await t.person()
  for (const [form, said] of [
    [{ password: 'not this' }, 'This is not your password.'],
    [{ password: '' }, 'Enter your password.'],
  ] as const) {
    const { status, text } = await ask(browser, newEmail(), { name: 'Eve', ...form })
    expect([status, text.includes(said)]).toEqual([422, true])
  }
  const { password: _none, ...form } = { ...profile, name: 'Eve', email: newEmail() }
  expect((await browser.post('/settings/account', form)).text).toContain('Enter your password.')
  expect((await accountOf(accountId)).name).not.toBe('Eve')
  expect(await t.w.db.$count(mailLinks)).toBe(0)
})

test('an operator’s address is refused when it is asked for, and by a link that is older than the setting', async () => {
  await t.worker()
  const { browser, email, accountId } = await t.person()
  expect((await ask(browser, Operator.toUpperCase())).status).toBe(403)
  expect(await t.w.db.$count(mailLinks)).toBe(0)
  const next = newEmail()
  await ask(browser, next)
  const link = await linkTo(next)
  const other = await openBeside(t.w, { SMTP_URL: t.server.url, OPERATORS: next })

  const there = aBrowser(other.site.appUrl, { cookie: browser.jar.cookie })
  const { status, text } = await there.post(link, {})

  expect([status, text.includes('belongs to an operator of this installation')]).toEqual([403, true])
  expect((await accountOf(accountId)).email).toBe(email)
  await other.end()
})

test('the rest of the form is saved at once, and an address in other letter cases needs no link', async () => {
  const { browser, email, accountId } = await t.person()
  await verify(accountId)
  const next = newEmail()
  await ask(browser, next, { name: 'Ida' })
  await ask(browser, email.toUpperCase(), { name: 'Ida', timeZone: 'Asia/Tokyo', password: '' })
  const { name, timeZone, emailVerifiedAt, ...account } = await accountOf(accountId)
  expect([name, timeZone, account.email]).toEqual(['Ida', 'Asia/Tokyo', email.toUpperCase()])
  expect(emailVerifiedAt).not.toBeNull()
  expect(await page(browser)).toContain(waitsFor(next)) // saving the profile drops nothing
})

test('a mail server that is away loses no link, and an address that no longer waits gets none', async () => {
  await t.server.down()
  await t.worker()
  const { browser } = await t.person()
  const [first, second] = [newEmail(), newEmail()]
  await ask(browser, first)
  await until(async () => (await t.rows())[0]?.failure)
  await t.server.up()
  expect((await browser.get(await linkTo(first))).text).toContain('Use this address')

  await ask(browser, second)
  await press(browser, 'new-address-drop')
  await allSent()
  expect((await t.rows()).map(({ kind }) => kind)).toEqual(['new_address', 'new_address'])
})

test('without SMTP_URL an address is changed at once, and a taken one is refused', async () => {
  const other = await openBeside(t.w, { SMTP_URL: '' })
  const [one, two] = [await t.person(), await t.person()]
  const there = aBrowser(other.site.appUrl, { cookie: one.browser.jar.cookie })
  expect((await ask(there, two.email)).status).toBe(409)
  const next = newEmail()
  const { status, text } = await ask(there, next)
  expect([status, text.includes('Saved.'), text.includes('We sent a mail')]).toEqual([200, true, false])
  expect(await accountOf(one.accountId)).toMatchObject({ email: next, emailVerifiedAt: null })
  expect([await t.rows(), await t.w.db.$count(mailLinks)]).toEqual([[], 0])
  await other.end()
})
