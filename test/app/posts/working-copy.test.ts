import { chromium, type Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import { aKeyOfAllScopes } from '../../builders.ts'
import { type BrowserSite, browserSite, chromiumPath, connectFeed, Password, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
let email: string

beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())
beforeEach(async () => {
  if (!hasChromium) return
  page = await here.page()
  email = await signUp(page, here.site)
  await connectFeed(page, 'My feed')
  await page.goto('/posts/new')
})

const textOf = (where: Page) => where.getByLabel('Text', { exact: true })
const savedIn = (where: Page) => where.getByText('Your text is saved.').waitFor()

test('a text that is left is on the page New post, and goes on where it was', async () => {
  await textOf(page).fill('Left behind')
  await page.getByRole('link', { name: 'Channels' }).click()
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await expect.poll(copies).toEqual(['Left behind'])

  await page.goto('/posts/new')
  await page.getByRole('link', { name: 'Go on: Left behind' }).click()

  await expect.poll(() => textOf(page).inputValue()).toBe('Left behind')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  expect(await copies()).toEqual([])
})

test('a reload keeps the text, the channels and the time, right after the last key', async () => {
  await page.getByLabel('My feed').uncheck()
  await page.getByLabel('Date').fill('2031-05-06')
  await textOf(page).pressSequentially('Half a sen')
  await page.reload()

  expect(await textOf(page).inputValue()).toBe('Half a sen')
  expect(await page.getByLabel('Date').inputValue()).toBe('2031-05-06')
  expect(await page.getByLabel('My feed').isChecked()).toBe(false)

  await textOf(page).press('End')
  await textOf(page).pressSequentially('tence')
  await savedIn(page)
  expect(await copies()).toEqual(['Half a sentence'])
})

test('what is typed before the page is interactive is there afterwards, and is saved', async () => {
  const scripts = Promise.withResolvers<void>()
  await page.route('**/*.js', (route) => scripts.promise.then(() => route.continue()))
  await page.goto('/posts/new', { waitUntil: 'commit' })
  await textOf(page).fill('Faster than the page')
  scripts.resolve()

  await savedIn(page)
  expect(await textOf(page).inputValue()).toBe('Faster than the page')
  expect(await copies()).toEqual(['Faster than the page'])
})

test('when the session is over, the person signs in over the page and goes on', async () => {
  await textOf(page).fill('Written with')
  await savedIn(page)
  await here.db.execute(sql`delete from sessions`)
  await textOf(page).fill('Written without a session')

  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByLabel('E-mail').fill(email)
  await dialog.getByLabel('Password').fill('wrong password')
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await dialog.getByText('E-mail and password do not match').waitFor()
  await dialog.getByLabel('Password').fill(Password)
  await dialog.getByRole('button', { name: 'Sign in' }).click()

  await savedIn(page)
  expect(await copies()).toEqual(['Written without a session'])
  await page.getByRole('button', { name: 'Publish now' }).click()
  await page.getByRole('status').getByText('Published').waitFor()
  await page.getByText('Written without a session').waitFor()
})

test('a press on a button after the session ended asks to sign in, and then sends', async () => {
  await textOf(page).fill('Nearly sent')
  await savedIn(page)
  await here.db.execute(sql`delete from sessions`)

  await page.getByRole('button', { name: 'Save draft' }).click()
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByLabel('E-mail').fill(email)
  await dialog.getByLabel('Password').fill(Password)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('The draft is saved.').waitFor()
  await expect.poll(() => textOf(page).inputValue()).toBe('Nearly sent')
})

test('while the database is away the browser keeps the text, and the server gets it afterwards', async () => {
  await allowConnections(false)
  try {
    await textOf(page).fill('Typed in an outage')
    await page.getByText('It is kept in this browser').waitFor()
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.getByText('It is kept in this browser').waitFor()
    expect(await textOf(page).inputValue()).toBe('Typed in an outage')
  } finally {
    await allowConnections(true)
  }
  await savedIn(page)
  expect(await copies()).toEqual(['Typed in an outage'])
})

test('a killed browser loses two seconds at most', async () => {
  const server = await chromium.launchServer({ executablePath: chromiumPath!, args: ['--no-sandbox'] })
  const browser = await chromium.connect(server.wsEndpoint())
  const killed = await (await browser.newContext({ baseURL: here.site.appUrl })).newPage()
  await signIn(killed)
  await killed.goto('/posts/new')
  await textOf(killed).fill('Before the crash')
  const typedAt = performance.now()
  await expect.poll(copies).toEqual(['Before the crash'])
  expect(performance.now() - typedAt).toBeLessThan(20_000) // ten times the goal
  server.process().kill('SIGKILL')

  await page.goto('/posts/new')
  await page.getByRole('link', { name: 'Go on: Before the crash' }).click()
  await expect.poll(() => textOf(page).inputValue()).toBe('Before the crash')
  await server.close().catch(() => {})
})

test('two tabs with one text: nothing is overwritten, and both texts are shown', async () => {
  await textOf(page).fill('From the first tab')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto(page.url())
  expect(await textOf(second).inputValue()).toBe('From the first tab')
  await textOf(second).fill('From the second tab')
  await savedIn(second)

  await textOf(page).fill('From the first tab again')
  await page.getByText('There is another text of this post').waitFor()
  await page.getByText('From the second tab').waitFor()
  expect(await copies()).toEqual(['From the second tab'])
  await page.getByRole('button', { name: 'Use this text' }).click()

  await savedIn(page)
  expect(await textOf(page).inputValue()).toBe('From the second tab')
})

test('a text that another tab sent is not sent again, unless the person wants another post', async () => {
  await textOf(page).fill('Once only')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto(page.url())
  await second.getByRole('button', { name: 'Save draft' }).click()
  await second.getByText('The draft is saved.').waitFor()

  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This post was already created in another tab.').waitFor()
  expect(await posts()).toEqual(['Once only'])
  await page.getByRole('button', { name: 'Make another post of this text' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  expect(await posts()).toEqual(['Once only', 'Once only'])
})

test('a draft that another tab changed is not overwritten: both texts are shown', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const second = await page.context().newPage()
  await second.goto(page.url())
  await textOf(second).fill('Changed in the second tab')
  await second.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(posts).toEqual(['Changed in the second tab'])

  await textOf(page).fill('Changed in the first tab')
  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This post was changed while you wrote.').waitFor()
  await page.getByText('Changed in the second tab').waitFor()
  expect(await posts()).toEqual(['Changed in the second tab'])
  await page.getByRole('button', { name: 'Keep the text in the form' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(posts).toEqual(['Changed in the first tab'])
})

test('a text for a draft that another tab deleted becomes another post', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await here.db.execute(sql`delete from posts where content = 'The draft'`)
  await textOf(page).fill('Longer than the draft')

  await page.getByText('This post was deleted in another tab.').waitFor()
  await page.getByRole('button', { name: 'Make another post of this text' }).click()

  await page.waitForURL('**/posts/new?copy=*')
  await expect.poll(() => textOf(page).inputValue()).toBe('Longer than the draft')
  expect(await copies()).toEqual(['Longer than the draft'])
})

test('a text for a post that went out meanwhile becomes another post', async () => {
  await textOf(page).fill('Goes out')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await textOf(page).fill('Goes out, with a last word')
  await savedIn(page)
  const url = `${here.site.appUrl}/public/v1${new URL(page.url()).pathname}`
  const headers = { authorization: `Bearer ${await aKey()}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'now' })
  expect((await fetch(url, { method: 'PATCH', headers, body })).status).toBe(200)

  await page.reload()
  await page.getByText('the post can no longer be changed').waitFor()
  await page.getByRole('button', { name: 'Make another post of this text' }).click()
  await expect.poll(() => textOf(page).inputValue()).toBe('Goes out, with a last word')
})

test('a text that the server does not take gets its problem beside it', async () => {
  await textOf(page).fill('x'.repeat(100_001))
  await page.getByText("We can't save this text on the server as it is.").waitFor()
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(() => textOf(page).getAttribute('aria-invalid')).toBe('true')
  expect((await textOf(page).inputValue()).length).toBe(100_001)

  await textOf(page).fill('Short')
  await page.getByLabel('My feed').uncheck()
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByRole('group', { name: 'Channels' }).getByText('Choose at least one channel.').waitFor()
})

test('after a switch to another organisation in another tab, no text goes to the wrong one', async () => {
  await here.db.execute(sql`
    with o as (insert into organisations (id, name) values (gen_random_uuid(), 'Other client') returning id)
    insert into memberships (organisation_id, account_id, role)
    select o.id, a.id, 'owner' from o, accounts a where a.email = ${email}`)
  await page.goto('/posts/new')
  await textOf(page).fill('For the first client')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto('/')
  await second.getByRole('button', { name: 'Organisation: Analytical Engines' }).click()
  await second.getByRole('button', { name: 'Other client' }).click()
  await second.getByRole('button', { name: 'Organisation: Other client' }).waitFor()

  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This text belongs to Analytical Engines').waitFor()
  expect(await posts()).toEqual([])
  await page.getByRole('button', { name: 'Go back to Analytical Engines' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
})

test('signing out removes what this browser kept, and the server has it', async () => {
  await textOf(page).fill('Not for the next person')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()

  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
  expect(await copies()).toEqual(['Not for the next person'])
})

async function signIn(where: Page): Promise<void> {
  await where.request.post('/login', { form: { email, password: Password }, headers: { origin: here.site.appUrl } })
}

async function aKey(): Promise<string> {
  const [member] = await here.db.execute<{ organisationId: string; accountId: string }>(sql`
    select m.organisation_id as "organisationId", m.account_id as "accountId"
    from memberships m join accounts a on a.id = m.account_id where a.email = ${email}`)
  return aKeyOfAllScopes(here.db, member!)
}

async function copies(): Promise<string[]> {
  const rows = await here.db.execute<{ content: string }>(sql`
    select c.content from working_copies c join accounts a on a.id = c.account_id where a.email = ${email}`)
  return rows.map(({ content }) => content)
}

async function posts(): Promise<string[]> {
  const rows = await here.db.execute<{ content: string }>(sql`
    select p.content from posts p join memberships m using (organisation_id) join accounts a on a.id = m.account_id
    where a.email = ${email} order by p.id`)
  return rows.map(({ content }) => content)
}

// The web process meets a database that takes nobody in.
async function allowConnections(isAllowed: boolean): Promise<void> {
  const { pathname } = new URL(here.site.env.DATABASE_URL!)
  const name = pathname.slice(1)
  const server = connect(`${inject('postgres')}/postgres`, { connections: 1, name: 'test' })
  await server.db.execute(sql.raw(`alter database ${name} allow_connections ${isAllowed}`))
  if (!isAllowed)
    await server.db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`)
  await server.end()
}
