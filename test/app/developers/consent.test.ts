import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountByEmail } from '../../../server/accounts/account.ts'
import { connectFeed, Password, signUp, withChromium } from '../browser.ts'
import { type ConsentSite, consentSite, State } from './consent-site.ts'

// The consent page in a real browser.

const hasChromium = withChromium()
let here: ConsentSite
beforeAll(async () => {
  if (hasChromium) here = await consentSite()
})
afterAll(() => here?.end())

const approve = (page: Page) => page.getByRole('button', { name: 'Approve' })

test('a person without an account signs up and is back at the same request; the app gets its code and state', async () => {
  const page = await here.page()
  await page.goto(here.authorizePath())
  expect(new URL(page.url()).pathname).toBe('/login')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Una')
  await page.getByLabel('E-mail').fill('una@example.org')
  await page.getByLabel('Password').fill(Password)
  await page.getByLabel('Organisation').fill('Una & Co')
  await page.getByRole('button', { name: 'Create account' }).click()

  await page.getByRole('heading', { name: 'Calendar wants to use Una & Co' }).waitFor()
  expect(page.url()).toBe(here.site.appUrl + here.authorizePath())
  for (const said of [
    'Made by Makers',
    'Posts beside your meetings.',
    'Create, schedule, publish, change and cancel posts',
  ])
    await page.getByText(said).waitFor()
  await page.getByText(here.callback.origin).waitFor()
  await approve(page).click()
  await page.getByText('here').waitFor()

  expect(page.url()).toMatch(
    new RegExp(`^${here.callback.origin}/cb\\?kept=1&code=[\\w-]{43}&iss=[^&]+&state=${State}$`),
  )
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: new URL(page.url()).searchParams.get('code')!,
    client_id: here.app.clientId,
    client_secret: here.app.clientSecret,
  })
  expect((await fetch(`${here.site.appUrl}/oauth/token`, { method: 'POST', body })).status).toBe(200)
})

test('who has an account signs in and is back at the same request', async () => {
  const { page, email } = await here.asked()
  await page.context().clearCookies()
  await page.goto(here.authorizePath())
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(Password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await approve(page).waitFor()
  expect(page.url()).toBe(here.site.appUrl + here.authorizePath())
})

test('signing in leads only to our own paths, with any query', async () => {
  const { page } = await here.asked()
  const strange = [
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '',
  ]
  for (const next of [...strange, '/oauth/authorize?state=a\\b//c&x=https://d']) {
    const answer = await page.request.get(`/login?next=${encodeURIComponent(next)}`, { maxRedirects: 0 })
    expect(answer.headers().location).toBe(next.startsWith('/oauth') ? next : '/')
  }
})

test('who denies goes back with access_denied and lets nobody in', async () => {
  const { page, email } = await here.asked()
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('here').waitFor()
  const answer = new URL(page.url())
  expect(answer.searchParams.get('error')).toBe('access_denied')
  expect(answer.search.endsWith(`&state=${State}`)).toBe(true)
  expect(await here.grantsOf(email)).toEqual([])
})

describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
  test('the channels are those of the chosen organisation, and a choice without one is asked again', async () => {
    const page = await here.page({ javaScriptEnabled })
    const email = await signUp(page, here.site, { organisation: 'First' })
    await connectFeed(page, 'Only feed')
    await joinAnother(email)
    await page.goto(here.authorizePath())
    await page.getByRole('heading', { name: 'Calendar wants to use First' }).waitFor()
    await page.getByLabel('Organisation').selectOption('Another')
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show its channels' }).click()
    await page.getByRole('heading', { name: 'Calendar wants to use Another' }).waitFor()
    expect(await page.getByLabel('Only these').count()).toBe(0)
    await page.getByLabel('Organisation').selectOption('First')
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show its channels' }).click()
    await page.getByLabel('Only these').check()
    await approve(page).click()
    await page.getByText('Choose at least one channel.').waitFor()
    await page.getByLabel('Only feed').check()
    await approve(page).click()
    await page.getByText('here').waitFor()
    expect(await here.grantsOf(email)).toEqual([{ organisation: 'First', channels: [expect.any(String)] }])
  })
})

async function joinAnother(email: string): Promise<void> {
  const { id } = (await accountByEmail(here.db, email))!
  const organisationId = uuidv7()
  await here.db.execute(sql`insert into organisations (id, name) values (${organisationId}, 'Another')`)
  await here.db.execute(sql`
    insert into memberships (organisation_id, account_id, role) values (${organisationId}, ${id}, 'admin')`)
}

test('who may approve for no organisation can only deny', async () => {
  const page = await here.page()
  const { id } = (await accountByEmail(here.db, await signUp(page, here.site)))!
  await here.db.execute(sql`update memberships set role = 'editor' where account_id = ${id}`)
  await page.goto(here.authorizePath())
  await page.getByText('Only owners and admins').waitFor()
  expect(await approve(page).count()).toBe(0)
  await page.getByRole('button', { name: 'Go back' }).click()
  await page.getByText('here').waitFor()
  expect(page.url()).toContain('error=access_denied')
})

test.each([true, false])('Enter decides nothing, with scripts: %s', async (javaScriptEnabled) => {
  const page = await here.page({ javaScriptEnabled })
  await signUp(page, here.site)
  await connectFeed(page, 'Only feed')
  await page.goto(here.authorizePath())
  await page.getByLabel('Only these').check()
  await page.getByLabel('Only these').press('Enter')
  await page.getByLabel('Only feed').check()
  await page.getByLabel('Only feed').press('Enter')
  await expect.poll(() => page.getByLabel('Only feed').isChecked()).toBe(true)
  await approve(page).click()
  await page.getByText('here').waitFor()
  expect(new URL(page.url()).searchParams.has('code')).toBe(true)
})

test('a person who is signed in as someone else signs in again and returns to the same request', async () => {
  const { page } = await here.asked()
  const before = await page.context().cookies()
  const email = await signUp(await here.page(), here.site, { organisation: 'The right one' })
  await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(Password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Calendar wants to use The right one' }).waitFor()
  expect(page.url()).toBe(here.site.appUrl + here.authorizePath())
  await page.context().addCookies(before)
  await page.goto('/settings/account')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor() // the former session has ended
})

test('who chose some channels, and then an organisation without any, is not taken to have chosen all', async () => {
  const page = await here.page({ javaScriptEnabled: false })
  const email = await signUp(page, here.site, { organisation: 'First' })
  await connectFeed(page, 'Only feed')
  await joinAnother(email)
  await page.goto(here.authorizePath())
  await page.getByLabel('Organisation').selectOption('Another')
  await page.getByLabel('Only these').check()
  await page.getByLabel('Only feed').check()
  await approve(page).click()
  await page.getByText('Channel not found').waitFor()
  await page.getByRole('heading', { name: 'Calendar wants to use Another' }).waitFor()
  await expect.poll(() => page.getByLabel('All channels').isChecked()).toBe(false)
  await approve(page).click()
  expect(await page.getByLabel('All channels').evaluate((radio) => radio.matches(':invalid'))).toBe(true)
  expect(await here.grantsOf(email)).toEqual([])
})

test('an app whose callback redirects on to a third origin works', async () => {
  const { page } = await here.asked()
  await page.goto(here.authorizePath(`&redirect_uri=${encodeURIComponent(`${here.callback.origin}/hop`)}`))
  await approve(page).click()
  await page.getByText('the end').waitFor()
})

test('a double click, and the same form sent twice at once, give one code; later it is over', async () => {
  const { page, email } = await here.asked()
  const form = { request: await page.locator('input[name=request]').inputValue(), decision: 'approve', reach: 'all' }
  await approve(page).dblclick()
  await page.getByText('here').waitFor()
  const send = () =>
    page.request.post(here.authorizePath(), { form, maxRedirects: 0, headers: { origin: here.site.appUrl } })
  const [one, two] = await Promise.all([send(), send()])
  expect([one!.status(), two!.status()]).toEqual([303, 303])
  expect([one!.headers().location, two!.headers().location]).toEqual([page.url(), page.url()])
  expect(await here.grantsOf(email)).toHaveLength(1)

  await here.db.execute(sql`update authorization_requests set decided_at = decided_at - interval '61 seconds'`)
  const late = await send()
  expect([late.status(), late.headers().location]).toEqual([409, undefined])
  const said = await late.text()
  expect(said).toContain('This page has expired')
  expect(said).not.toContain('We sent the app nothing')
})
