import { eq, sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { accounts, memberships, organisations, sessions, signUps } from '../../../db/schema/accounts.ts'
import { throttles } from '../../../db/schema/api.ts'
import { digest } from '../../../server/access/secrets.ts'
import { webWithMail } from '../../jobs/mail/post-office.ts'
import { type Site, until } from '../../processes.ts'
import { linkIn } from '../../stand-ins/mail-server.ts'
import { aBrowser } from '../browser.ts'
import { costOf } from '../cost.ts'
import { holdDelays, Password as password } from '../house.ts'
import { openBeside } from '../web.ts'

const AMinute = 20 // mails of sign-ups, of the installation
const Operator = 'operator@example.org'
const t = webWithMail({ OPERATORS: Operator })
let people = 0
afterEach(async () => {
  await t.w.db.delete(signUps)
  await t.w.db.delete(throttles)
})

type Sent = { next?: string; form?: Record<string, string>; site?: Site }

const ada = { name: 'Ada', organisation: 'Works', timeZone: 'Europe/Berlin' }
const newEmail = () => `stranger${++people}@example.org`
const browserOf = (site = t.w.site) => aBrowser(site.appUrl)
const signUp = (email: string, { next = '', form = {}, site = t.w.site }: Sent = {}) =>
  browserOf(site).post(`/signup${next && `?${new URLSearchParams({ next })}`}`, { ...ada, email, password, ...form })

/** The paths of the links that finish sign-ups of this address, in any letter case, the oldest first. */
const linksTo = (email: string) =>
  t.server.arrived
    .filter(({ to }) => to.some((address) => address.toLowerCase() === email.toLowerCase()))
    .filter(({ headers }) => headers.subject === 'Finish your sign-up')
    .map((mail) => {
      const { pathname, search } = new URL(linkIn(mail))
      return pathname + search
    })

/** Sign up, and wait for the link in the mail. */
async function linkFor(email: string, sent: Sent = {}): Promise<string> {
  const before = linksTo(email).length
  expect((await signUp(email, sent)).status).toBe(200)
  return until(() => linksTo(email)[before])
}

/** How many accounts, organisations, memberships and sessions there are. */
const counts = () => Promise.all([accounts, organisations, memberships, sessions].map((table) => t.w.db.$count(table)))

/** What a browser gets, without what is new in each answer. */
function plain({ status, headers, text }: Awaited<ReturnType<typeof signUp>>, email: string) {
  const nonce = /'nonce-([\w-]+)'/.exec(headers.get('content-security-policy')!)![1]!
  const now = /name="now" content="([^"]+)"/.exec(text)![1]!
  const changing = { NONCE: nonce, REQUEST: headers.get('x-request-id')!, NOW: now, EMAIL: email }
  const same = (said: string) =>
    Object.entries(changing).reduce((rest, [name, value]) => rest.replaceAll(value, name), said)
  const fields = [...headers].filter(([name]) => name !== 'date').map(([name, value]) => `${name}: ${same(value)}`)
  return { status, fields, text: same(text) }
}

test('nothing exists before the button of the link is pressed, which creates account and organisation and signs in', async () => {
  await t.worker()
  const email = newEmail()
  const before = await counts()
  const link = await linkFor(email)
  const browser = browserOf()

  const page = await browser.get(link)

  expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'strict-origin'])
  for (const said of [email, 'Ada', 'Works', 'Create account']) expect(page.text).toContain(said)
  expect(await counts()).toEqual(before) // mail programs open links by themselves
  expect((await browserOf().post('/login', { email, password })).status).toBe(401)
  const pressed = await browser.post(link, { password })
  expect([pressed.status, pressed.headers.get('location')]).toEqual([302, '/'])
  expect((await browser.get('/settings/account')).text).not.toContain('is not verified yet')
  expect(await counts()).toEqual(before.map((count) => count + 1))
  const [row] = await t.w.db.execute(sql`
    select a.name, a.email, a.time_zone, a.email_verified_at is not null as verified, m.role, o.name as organisation
    from accounts a join memberships m on m.account_id = a.id join organisations o on o.id = m.organisation_id
    where a.email = ${email}`)
  expect(row).toEqual({
    ...{ name: 'Ada', email, time_zone: 'Europe/Berlin', verified: true },
    ...{ role: 'owner', organisation: 'Works' },
  })
  expect((await browserOf().post('/login', { email, password })).status).toBe(302)
  expect(await t.w.db.$count(signUps)).toBe(0)
})

test('an address with an account gets the same answer after the same writes as one without', async () => {
  const { email } = await t.person()
  const written = async (address: string) => {
    const answer = await signUp(address)
    const [mail] = await t.rows()
    const [waiting] = await t.w.db.select().from(signUps)
    await t.w.db.execute(sql`delete from mails`)
    await t.w.db.delete(signUps)
    const { id: _id, createdAt: _at, nextAttemptAt: _next, giveUpAt: _until, subjectIds, ...same } = mail!
    const { id, createdAt, expiresAt, passwordHash, email: typed, ...kept } = waiting!
    expect([typed, subjectIds]).toEqual([address, [id]])
    expect(expiresAt!.getTime() - createdAt.getTime()).toBe(24 * 3_600_000)
    return { answer: plain(answer, address), same, kept, hash: passwordHash.replace(/[^$]+\$[^$]+$/, '') }
  }
  const before = await counts()

  const known = await written(email)

  expect(await written(email.replace('person', 'nobody'))).toEqual(known)
  expect(known.answer.text).toContain('We sent a mail to EMAIL. Open the link in the mail to continue.')
  expect(known.answer.fields.filter((field) => /cookie/i.test(field))).toEqual([])
  expect(known.hash).toMatch(/^\$argon2id\$/)
  expect(await counts()).toEqual(before)
})

test('the answers for known and unknown addresses take the same time and the same processor time', async () => {
  const { email } = await t.person()
  const ms: Record<string, number[]> = { known: [], unknown: [] }
  const processorMs: Record<string, number> = { known: 0, unknown: 0 }
  for (let i = 0; i < 30; i++)
    for (const kind of ['known', 'unknown']) {
      await t.w.db.delete(throttles)
      const began = performance.now()
      const [cost] = await costOf(t.w.web, () => signUp(kind === 'known' ? email : `nobody${i}@example.org`))
      ms[kind]!.push(performance.now() - began)
      processorMs[kind]! += cost
    }
  const median = (kind: string) => ms[kind]!.sort((a, b) => a - b)[15]!
  process.stdout.write(
    ['known', 'unknown'].map((kind) => `${kind}: ${median(kind).toFixed(1)} ms, ${processorMs[kind]} ms\n`).join(''),
  )
  expect(Math.abs(median('known') - median('unknown'))).toBeLessThan(Math.max(5, median('known') / 2))
  expect(Math.abs(processorMs.known! - processorMs.unknown!)).toBeLessThan(processorMs.known! / 2)
})

test('who has an account is told so by mail, in any letter case, and nothing of the account changes', async () => {
  await t.worker()
  const { email } = await t.person()
  const before = await counts()

  expect((await signUp(email.toUpperCase(), { form: { password: 'a stranger typed this' } })).status).toBe(200)

  const mail = await until(() => t.server.to(email)[0])
  expect(mail.headers.subject).toBe('You already have an account')
  for (const path of ['/login', '/forgot']) expect(mail.body).toContain(`${t.w.site.appUrl}${path}`)
  expect(mail.raw).not.toContain('/confirm')
  await until(async () => (await t.w.db.$count(signUps)) === 0)
  expect(await counts()).toEqual(before)
  expect((await browserOf().post('/login', { email, password })).status).toBe(302)
})

test('a mail to a stranger has nothing in it that the caller typed, except the address', async () => {
  await t.worker()
  const { email: known } = await t.person()
  const form = { name: 'Cheap pills', organisation: 'https://evil.example/pills', password: 'a typed password' }
  for (const email of [newEmail(), known]) {
    await signUp(email, { form, next: '/channels?evil=typed' })
    const { raw, body } = await until(() => t.server.to(email)[0])
    for (const typed of ['pills', 'evil', 'typed']) expect(`${raw} ${body}`).not.toContain(typed)
  }
})

test('a link works once, for a day, and not while sign-up is closed; no other link works', async () => {
  await t.worker()
  const used = await linkFor(newEmail())
  const expired = await linkFor(newEmail())
  const closed = await linkFor(newEmail())
  const other = await openBeside(t.w, { SMTP_URL: t.server.url, SIGNUP: 'closed' })
  expect((await browserOf(other.site).post(closed, { password })).status).toBe(403)
  expect((await signUp(newEmail(), { site: other.site })).status).toBe(403)
  await other.end()
  expect((await browserOf().post(used, { password })).status).toBe(302)
  const isIt = eq(signUps.tokenHash, digest(new URL(expired, t.w.site.appUrl).searchParams.get('token')!))
  const [waiting] = await t.w.db.update(signUps).set({ expiresAt: sql`now()` }).where(isIt).returning()
  expect(waiting).toMatchObject({ name: 'Ada' })
  const before = await counts()

  for (const link of [
    used,
    expired,
    `/confirm?token=${'x'.repeat(43)}`,
    `/confirm?token=${'x'.repeat(5000)}`,
    '/confirm',
  ]) {
    const { status, text } = await browserOf().post(link, { password })
    const isNone = link === '/confirm' // 400: the field is missing
    const sentence = isNone ? 'This link is incomplete.' : 'This link is too old, or was already used.'
    expect([link, status, text.includes(sentence)]).toEqual([link, isNone ? 400 : 409, true])
    expect((await browserOf().get(link)).text).toContain(sentence)
  }

  expect(await counts()).toEqual(before)
  expect((await browserOf().post(closed, { password })).status).toBe(302)
})

test('of 30 uses of two links of one address at once, one creates the account', async () => {
  await t.worker()
  const email = newEmail()
  const first = await linkFor(email)
  const second = await linkFor(email.toUpperCase(), { form: { organisation: 'Other works' } })
  const before = await counts()

  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => browserOf().post(i % 2 ? first : second, { password })),
  )

  const others = [409, 429] // used by another, and more at once than may guess
  expect(answers.map(({ status }) => status).filter((status) => !others.includes(status))).toEqual([302])
  expect(await counts()).toEqual(before.map((count) => count + 1))
})

test('a link creates nothing without the password of its sign-up, and few wrong ones are checked', async () => {
  await t.worker()
  const link = await linkFor(newEmail(), { form: { password: 'a stranger typed this' } })
  const before = await counts()
  const statuses = []
  for (const typed of ['', ...Array<string>(6).fill(password)]) {
    if (statuses.length === 6) await holdDelays(t.w.db)
    const { status, text, headers } = await browserOf().post(link, { password: typed })
    statuses.push(status)
    if (status === 422) expect(text).toContain('This is not the password of this sign-up.')
    expect([typed, headers.getSetCookie()]).toEqual([typed, []])
  }

  expect(statuses).toEqual([400, 422, 422, 422, 422, 422, 429])

  expect(await counts()).toEqual(before)
  await t.w.db.delete(throttles)
  expect((await browserOf().post(link, { password: 'a stranger typed this' })).status).toBe(302)
  expect(await counts()).toEqual(before.map((count) => count + 1))
})

test('a link whose address got an account meanwhile says so, and offers to sign in and to reset the password', async () => {
  await t.worker()
  const email = newEmail()
  const first = await linkFor(email)
  const second = await linkFor(email, { next: '/channels', form: { password: 'another good password' } })
  expect((await browserOf().post(first, { password })).status).toBe(302)
  const before = await counts()

  for (const answer of [
    await browserOf().get(second),
    await browserOf().post(second, { password: 'another good password' }),
  ]) {
    expect(answer.text).toContain(`You already have an account with ${email}.`)
    expect(answer.text).toContain('href="/login?next=%2Fchannels"')
    expect(answer.text).toContain('href="/forgot"')
    expect(answer.text).not.toContain('Create account')
    expect(answer.headers.getSetCookie()).toEqual([])
  }

  expect(await counts()).toEqual(before)
  expect((await browserOf().post('/login', { email, password: 'another good password' })).status).toBe(401)
})

test('an address gets three mails an hour from all web processes together, and the answer stays the same', async () => {
  const other = await openBeside(t.w, { SMTP_URL: t.server.url })
  const { email } = await t.person()
  for (const kind of [email, email.replace('person', 'nobody')])
    for (let i = 0; i < 5; i++) {
      const typed = i % 2 ? kind.toUpperCase() : kind.replace('@', `+${i}@`)
      const { status, text } = await signUp(typed, { site: i % 2 ? other.site : t.w.site })
      expect([status, /We sent a mail to/.test(text)]).toEqual([200, true])
    }
  expect([(await t.rows()).length, await t.w.db.$count(signUps)]).toEqual([6, 6])
  const keys = (await t.w.db.select().from(throttles)).map(({ key }) => key)
  expect(keys.filter((key) => /person|nobody|example/i.test(key))).toEqual([])
  await other.end()
})

test(`a flood of sign-ups from everywhere writes ${AMinute} rows and mails a minute, and a refusal costs little`, async () => {
  const other = await openBeside(t.w, { SMTP_URL: t.server.url, AUTH_RATE_LIMIT: '0' })
  const flood = () => Promise.all(Array.from({ length: 40 }, () => signUp(newEmail(), { site: other.site })))

  const answers = [...(await flood()), ...(await flood())]

  const refused = answers.filter(({ status }) => status === 429)
  expect([answers.length, refused.length]).toEqual([80, 80 - AMinute])
  for (const { headers, text } of refused) {
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(text).toContain('Too many sign-ups. Try again in')
  }
  expect([(await t.rows()).length, await t.w.db.$count(signUps)]).toEqual([AMinute, AMinute])
  const [ms] = await costOf(other.web, flood)
  process.stdout.write(`${(ms / 40).toFixed(1)} ms of the processor for each refused sign-up\n`)
  expect(ms / 40).toBeLessThan(50)
  await other.end()
})

test('a caller address has a limit of its own, before anything else is done', async () => {
  const other = await openBeside(t.w, { SMTP_URL: t.server.url, AUTH_RATE_LIMIT: '2' })
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await signUp(newEmail(), { site: other.site })).status)
  expect([statuses, await t.w.db.$count(signUps)]).toEqual([[200, 200, 429], 2])
  await other.end()
})

test('a form that is refused is refused at once, beside its fields, and sends no mail', async () => {
  const email = newEmail()
  const { text } = await signUp(email, { form: { password: 'short', name: '' } })
  for (const said of ['At least 10 characters.', 'Required.']) expect(text).toContain(said)
  expect((await signUp(email, { form: { password: email } })).status).toBe(422)
  expect([await t.rows(), await t.w.db.$count(signUps)]).toEqual([[], 0])
})

test('an operator’s address gets the same answer, and no account by its link', async () => {
  await t.worker()
  const before = await counts()
  const link = await linkFor(Operator)

  const { status, text } = await browserOf().post(link, { password })

  expect([status, text.includes('belongs to an operator of this installation')]).toEqual([403, true])
  expect(await counts()).toEqual(before)
})

test('the link leads on to the page that was asked for, byte for byte, and only on this site', async () => {
  await t.worker()
  const consent = '/oauth/authorize?client_id=pca_x&state=a%2Bb%20%C3%A9%26+~'
  for (const [next, place] of [
    [consent, consent],
    ['//evil.example', '/'],
    ['https://evil.example/', '/'],
    [`/posts?x=${'x'.repeat(4000)}`, '/'],
  ] as const) {
    const link = await linkFor(newEmail(), { next })
    const { status, headers } = await browserOf().post(link, { password })
    expect([next, status, headers.get('location')]).toEqual([next, 302, place])
  }
})

test('no token is in a log or in clear in the database', async () => {
  const worker = await t.worker()
  const email = newEmail()
  const link = await linkFor(email)
  const token = new URL(link, t.w.site.appUrl).searchParams.get('token')!
  expect(token).toMatch(/^[\w-]{43}$/)
  const hex = Buffer.from(token).toString('hex')
  const expectNowhere = async () => {
    const tables = await t.w.db.execute<{ name: string }>(sql`
      select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
      where schemaname in ('public', 'graphile_worker')`)
    for (const { name } of tables) {
      const found = await t.w.db.execute(sql`
        select from ${sql.raw(name)} x where strpos(x::text, ${token}) > 0 or strpos(x::text, ${hex}) > 0`)
      expect([name, found.length]).toEqual([name, 0])
    }
  }
  await expectNowhere()

  await browserOf().get(link)
  await browserOf().get(`${link}&_data=routes%2Fconfirm`)
  await browserOf().post(link, { password })
  await browserOf().post(link, { password })

  await expectNowhere()
  for (const log of [t.w.web.log(), worker.log()])
    for (const secret of [token, email, encodeURIComponent(email), password]) expect(log).not.toContain(secret)
  expect(t.w.web.log()).toContain('"path":"/confirm"')
})

test('the form of a link works from this site only: nobody is signed in to an account of another', async () => {
  await t.worker()
  const link = await linkFor(newEmail())
  const from = (origin: string, headers = {}) => aBrowser(t.w.site.appUrl, { origin, headers })
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-origin' }])
    expect((await from('null', headers).post(link, { password })).status).toBe(403)
  expect((await from('https://evil.example').post(link, { password })).status).toBe(403)
  expect((await browserOf().post(link, { password })).status).toBe(302)
})

test('a mail server that is away loses no sign-up: the link comes when it is back', async () => {
  await t.server.down()
  await t.worker()
  const email = newEmail()
  await signUp(email)
  await until(async () => (await t.rows())[0]?.failure)

  await t.server.up()

  const link = await until(() => linksTo(email)[0])
  expect((await browserOf().post(link, { password })).status).toBe(302)
})

test('without SMTP_URL a sign-up signs in at once, and a taken address is refused without saying whose it is', async () => {
  const other = await openBeside(t.w, { SMTP_URL: '' })
  const email = newEmail()
  expect((await signUp(email, { site: other.site })).status).toBe(302)
  const taken = await signUp(email.toUpperCase(), { site: other.site })
  expect([taken.status, /You can(’|'|&#x27;)t use this e-mail address\./.test(taken.text)]).toEqual([409, true])
  const [account] = await t.w.db.select().from(accounts).where(eq(accounts.email, email))
  expect(account!.emailVerifiedAt).toBeNull()
  expect([await t.rows(), await t.w.db.$count(signUps)]).toEqual([[], 0])
  await other.end()
})
