import type { Page } from '@playwright/test'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memberships } from '../../../db/schema/accounts.ts'
import { apiRequests } from '../../../db/schema/api.ts'
import { accountByEmail } from '../../../server/accounts/account.ts'
import { createKey } from '../../../server/accounts/api-keys.ts'
import { until } from '../../processes.ts'
import { callApi } from '../../server/web.ts'
import { type BrowserSite, browserSite, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())

/** Somebody in Kathmandu with two keys: `Website` has asked for three things, `Script` for one. Gives the request ids. */
async function aDeveloper(page: Page): Promise<string[]> {
  const { id } = (await accountByEmail(here.db, await signUp(page, here.site, { timeZone: 'Asia/Kathmandu' })))!
  const [membership] = await here.db.select().from(memberships).where(eq(memberships.accountId, id))
  const { organisationId } = membership!
  const made = { organisationId, createdBy: id, expiresAt: null }
  const website = await createKey(here.db, { ...made, name: 'Website' })
  const script = await createKey(here.db, { ...made, name: 'Script' })
  const answers = [
    await callApi(here.site.appUrl, 'GET', '/me', { key: website.key }),
    await callApi(here.site.appUrl, 'POST', '/posts', { key: website.key, json: { typo: 1 } }),
    await callApi(here.site.appUrl, 'GET', '/posts/x', { key: website.key }),
    await callApi(here.site.appUrl, 'GET', '/channels', { key: script.key }),
  ]
  await until(async () => (await here.db.$count(apiRequests, eq(apiRequests.organisationId, organisationId))) === 4)
  return answers.map(({ headers }) => headers.get('x-request-id')!)
}

const idsOn = (page: Page) => page.locator('ol code.select-all').allTextContents()

test.each([true, false])('a call is found by what it was, with scripts: %s', async (javaScriptEnabled) => {
  const page = await here.page({ javaScriptEnabled })
  const [me, typo, lost, script] = await aDeveloper(page)
  await page.goto('/settings/account')
  await page.getByRole('link', { name: 'Developers › Requests' }).click()
  await page.getByRole('heading', { name: 'Developers › Requests' }).waitFor()
  await expect.poll(() => idsOn(page)).toEqual([script, lost, typo, me])

  await page.getByText('Filter', { exact: true }).first().click()
  await page.getByLabel('Key or app').selectOption('Website')
  await page.getByLabel('Status').fill('4xx')
  await page.getByLabel('Path begins with').fill('/posts')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Filter (3 set)').waitFor()
  await expect.poll(() => idsOn(page)).toEqual([lost, typo])
  await expect.poll(() => page.getByLabel('Status').inputValue()).toBe('4xx')

  await page.getByLabel('Status').fill('40')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Must be a status such as 404').waitFor()
  await page.getByRole('link', { name: 'Clear' }).click()
  await page.getByRole('link', { name: 'invalid_request' }).click()
  await page.locator('#invalid_request').waitFor()
})

test('a call with a wrong path or method is shown with what was called', async () => {
  const page = await here.page({ viewport: { width: 390, height: 800 } })
  const { id } = (await accountByEmail(here.db, await signUp(page, here.site)))!
  const [membership] = await here.db.select().from(memberships).where(eq(memberships.accountId, id))
  const made = { organisationId: membership!.organisationId, createdBy: id, expiresAt: null }
  const { key } = await createKey(here.db, { ...made, name: 'Website' })
  const { appUrl } = here.site
  const strays = [
    await callApi(appUrl, 'POST', '/post', { key, json: {} }),
    await callApi(appUrl, 'PUT', '/posts', { key, json: {} }),
    await callApi(appUrl, 'GET', `/${'long'.repeat(1000)}`, { key }),
  ]
  await until(
    async () => (await here.db.$count(apiRequests, eq(apiRequests.organisationId, made.organisationId))) === 3,
  )
  await page.goto('/settings/developers/requests')
  expect(await idsOn(page)).toEqual(strays.map(({ headers }) => headers.get('x-request-id')).reverse())
  for (const text of ['404', 'POST /public/v1/post', '405', 'PUT /public/v1/posts', 'method_not_allowed'])
    await page.getByText(text, { exact: true }).first().waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  await page.getByText('Filter', { exact: true }).first().click()
  await page.getByLabel('Method').selectOption('PUT')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Filter (1 set)').waitFor()
  expect(await idsOn(page)).toEqual([strays[1]!.headers.get('x-request-id')])
})

test('instants and days are those of the person’s zone', async () => {
  const page = await here.page()
  await aDeveloper(page)
  await here.db
    .update(apiRequests)
    .set({ at: new Date('2026-05-01T20:00:00Z') })
    .where(eq(apiRequests.path, '/public/v1/me'))
  await page.goto('/settings/developers/requests?from=2026-05-02&to=2026-05-02')
  await page.getByText('2 May 2026, 01:45:00').waitFor()
  expect(await idsOn(page)).toHaveLength(1)
  await page.goto('/settings/developers/requests?from=2026-05-01&to=2026-05-01')
  await page.getByText('No matching requests').waitFor()
})

test('the page of keys leads to what a key has asked, and a request id is copied', async () => {
  const page = await here.page({ permissions: ['clipboard-read', 'clipboard-write'] })
  const [, , , script] = await aDeveloper(page)
  await page.goto('/settings/developers/access')
  await page.getByRole('listitem').filter({ hasText: 'Script' }).getByRole('link', { name: 'Requests' }).click()
  await page.getByText('Filter (1 set)').waitFor()
  expect(await idsOn(page)).toEqual([script])
  await page.getByRole('button', { name: 'Copy request id' }).click()
  await page.getByText('Copied.').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(script)
})

test('a page without requests says how to make one, and a viewer without permission sees nothing else', async () => {
  const page = await here.page()
  const { id } = (await accountByEmail(here.db, await signUp(page, here.site)))!
  await page.goto('/settings/developers/requests')
  await page.getByText('No requests yet').waitFor()
  await here.db.update(memberships).set({ role: 'editor' }).where(eq(memberships.accountId, id))
  await page.goto('/settings/developers/requests')
  await page.getByText('Owners and admins').waitFor()
  expect(await page.getByText('Filter').count()).toBe(0)
})
