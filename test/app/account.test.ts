import type { Page } from '@playwright/test'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accounts, memberships, type Role } from '../../db/schema/accounts.ts'
import { createOrganisation } from '../../server/accounts/account.ts'
import { type BrowserSite, browserSite, connectFeed, Password, signUp, withChromium } from './browser.ts'

const hasChromium = withChromium()
let here: BrowserSite

beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())

test('a sign-in leads to where the person was going, never to another site', async () => {
  const email = await signUp(await here.page(), here.site)
  const page = await here.page()
  await page.goto('/settings/account')
  await signIn(page, email, 'not the password')
  await page.getByRole('alert').getByText('E-mail and password do not match').waitFor()
  await signIn(page, email, Password)
  await page.getByRole('heading', { name: 'Account' }).waitFor()

  const other = await here.page()
  for (const next of ['https://example.org/', '//example.org', '/\\example.org', '/\t/example.org']) {
    await other.context().clearCookies()
    await other.goto(`/login?next=${encodeURIComponent(next)}`)
    await signIn(other, email, Password)
    await other.getByRole('heading', { name: 'Posts' }).waitFor()
  }
})

test('signing out everywhere ends the other browsers’ sessions', async () => {
  const page = await here.page()
  const email = await signUp(page, here.site)
  const other = await here.page()
  await other.goto('/login')
  await signIn(other, email, Password)
  await other.getByRole('heading', { name: 'Posts' }).waitFor()

  await page.goto('/settings/account')
  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await other.getByRole('link', { name: 'Channels' }).click()
  await other.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('a new e-mail address takes the password, a new password the old one', async () => {
  const page = await here.page()
  await signUp(page, here.site)
  await page.goto('/settings/account')
  await page.getByLabel('E-mail').fill('other@example.org')
  await page.getByLabel('Your password').fill('wrong')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('This is not your password.').waitFor()
  await page.getByLabel('Your password').fill(Password)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()

  await page.getByLabel('Current password').fill(Password)
  await page.getByLabel('New password').fill('a quite different one')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Password changed.').waitFor()
  const other = await here.page()
  await other.goto('/login')
  await signIn(other, 'other@example.org', 'a quite different one')
  await other.getByRole('heading', { name: 'Posts' }).waitFor()
})

test('times are shown on the clock of the account’s zone', async () => {
  const page = await here.page()
  await signUp(page, here.site, { timeZone: 'Asia/Tokyo' })
  await connectFeed(page, 'Zoned')
  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill('At noon')
  await page.getByLabel('Date').fill('2031-05-05')
  await page.getByLabel('Time').fill('12:00')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('The post is scheduled.').waitFor()
  const shown = page.locator('time[datetime="2031-05-05T03:00:00.000Z"]')
  expect(await shown.textContent()).toBe('Mon 5 May 2031, 12:00')

  await page.goto('/settings/account')
  await page.getByLabel('Time zone').selectOption('America/New_York')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.goBack()
  expect(await shown.textContent()).toBe('Sun 4 May 2031, 23:00')
})

test('an account of two organisations chooses on top of the page, and sees one at a time', async () => {
  const page = await here.page()
  const email = await signUp(page, here.site, { organisation: 'First' })
  await connectFeed(page, 'A feed of the first')
  await addOrganisation(email, 'Second', 'owner')
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Organisation: First' }).click()
  await page.getByRole('button', { name: 'Second' }).click()
  await page.getByRole('button', { name: 'Organisation: Second' }).waitFor()
  await page.getByRole('link', { name: 'Channels', exact: true }).click()
  await page.getByText('No channels yet').waitFor()
})

test('a viewer is offered nothing that changes anything', async () => {
  const page = await here.page()
  const email = await signUp(page, here.site, { organisation: 'Own' })
  await addOrganisation(email, 'Watched', 'viewer')
  await page.goto('/')
  await page.getByRole('button', { name: 'Organisation: Own' }).click()
  await page.getByRole('button', { name: 'Watched' }).click()
  await page.getByRole('button', { name: 'Organisation: Watched' }).waitFor()
  for (const path of ['/', '/channels', '/posts/new', '/settings/developers/access']) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'New post' }).count()).toBe(0)
  }
})

test('what was not made for a page shows its request’s id, which the log has', async () => {
  const page = await here.page()
  await signUp(page, here.site)
  await page.goto('/settings/account')
  await page.route('**/settings/developers/access?_data=**', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'the-id', 'x-remix-error': 'yes' },
      json: { message: 'x' },
    }),
  )
  await page.getByRole('link', { name: 'Developers › Access' }).click()
  await page.getByRole('heading', { name: 'Something went wrong' }).waitFor()
  await page.getByText('the-id').waitFor()
})

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function addOrganisation(email: string, name: string, role: Role): Promise<void> {
  const [person] = await here.db.select().from(accounts).where(eq(accounts.email, email))
  const id = await createOrganisation(here.db, name, person!.id)
  await here.db.update(memberships).set({ role }).where(eq(memberships.organisationId, id))
}
