import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, inject, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import { type BrowserSite, inBrowser, Password } from '../browser.ts'
import { aBrowserToKill, aMember, type Member, savedIn, textOf } from '../member.ts'

let here: BrowserSite
let member: Member
let page: Page
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    member = await aMember(here)
    page = member.page
    await page.goto('/posts/new')
  },
)

test('a text that is left is on the page New post, and goes on where it was', async () => {
  await textOf(page).fill('Left behind')
  await page.getByRole('link', { name: 'Channels' }).click()
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await expect.poll(member.copies).toEqual(['Left behind'])

  await page.goto('/posts/new')
  const goOn = page.getByRole('link', { name: 'Go on: Left behind' })
  await goOn.click()
  await goOn.waitFor({ state: 'detached' }) // both pages show the text, and a press during the change reaches neither

  await expect.poll(() => textOf(page).inputValue()).toBe('Left behind')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  expect(await member.copies()).toEqual([])
})

test('a reload keeps the text, the channels and the time, right after the last key', async () => {
  await page.getByLabel('My feed').uncheck()
  await page.getByLabel('Date').fill('2031-05-06')
  await textOf(page).pressSequentially('Half a sen')
  await page.reload()

  await expect.poll(() => textOf(page).inputValue()).toBe('Half a sen') // once the page is interactive
  await expect.poll(() => page.getByLabel('Date').inputValue()).toBe('2031-05-06')
  await expect.poll(() => page.getByLabel('My feed').isChecked()).toBe(false)

  await textOf(page).press('End')
  await textOf(page).pressSequentially('tence')
  await expect.poll(member.copies).toEqual(['Half a sentence'])
})

test('what is typed before the page is interactive is there afterwards, and is saved', async () => {
  const scripts = Promise.withResolvers<void>()
  await page.route('**/*.js', (route) => scripts.promise.then(() => route.continue()))
  await page.goto('/posts/new', { waitUntil: 'commit' })
  await textOf(page).fill('Faster than the page')
  scripts.resolve()

  await savedIn(page)
  await expect.poll(() => textOf(page).inputValue()).toBe('Faster than the page')
  expect(await member.copies()).toEqual(['Faster than the page'])
})

test('when the session is over, the person signs in over the page and goes on', async () => {
  await textOf(page).fill('Written with')
  await savedIn(page)
  await here.db.execute(sql`delete from sessions`)
  await textOf(page).fill('Written without a session')

  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.getByLabel('E-mail').fill(member.email)
  await dialog.getByLabel('Password').fill('wrong password')
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await dialog.getByText('E-mail and password do not match').waitFor()
  await dialog.getByLabel('Password').fill(Password)
  await dialog.getByRole('button', { name: 'Sign in' }).click()

  await savedIn(page)
  expect(await member.copies()).toEqual(['Written without a session'])
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
  await dialog.getByLabel('E-mail').fill(member.email)
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
    await expect.poll(() => textOf(page).inputValue()).toBe('Typed in an outage')
  } finally {
    await allowConnections(true)
  }
  await savedIn(page)
  expect(await member.copies()).toEqual(['Typed in an outage'])
})

test('a killed browser loses two seconds at most', async () => {
  const killed = await aBrowserToKill(here, member)
  await killed.page.goto('/posts/new')
  await textOf(killed.page).fill('Before the crash')
  const typedAt = performance.now()
  await expect.poll(member.copies).toEqual(['Before the crash'])
  expect(performance.now() - typedAt).toBeLessThan(20_000) // ten times the goal
  killed.kill()

  await page.goto('/posts/new')
  await page.getByRole('link', { name: 'Go on: Before the crash' }).click()
  await expect.poll(() => textOf(page).inputValue()).toBe('Before the crash')
  await killed.end()
})

test('a text that the server does not take gets its problem beside it', async () => {
  await textOf(page).fill('x'.repeat(100_001))
  await page.getByText("We can't save this text on the server as it is.").waitFor()
  const refused = page.waitForResponse(
    (answer) => answer.url().includes('_data=') && answer.request().method() === 'POST',
  )
  await page.getByRole('button', { name: 'Save draft' }).click()
  await refused // the page's own check has set what follows before
  await expect.poll(() => textOf(page).getAttribute('aria-invalid')).toBe('true')
  expect((await textOf(page).inputValue()).length).toBe(100_001)

  await textOf(page).fill('Short')
  await savedIn(page)
  await page.getByLabel('My feed').uncheck()
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByRole('group', { name: 'Channels' }).getByText('Choose at least one channel.').waitFor()
})

test('a refused text is not listed as unfinished on the page where it stands', async () => {
  await textOf(page).fill('Refused at first')
  await page.getByLabel('Date').fill('2001-01-01')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.locator('#when-date[aria-invalid]').waitFor()

  expect(await page.getByRole('heading', { name: 'Unfinished texts' }).count()).toBe(0)
})

test('signing out removes what this browser kept, and the server has it', async () => {
  await textOf(page).fill('Not for the next person')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()

  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
  expect(await member.copies()).toEqual(['Not for the next person'])
})

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
