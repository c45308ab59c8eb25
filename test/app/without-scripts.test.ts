import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserSite, browserSite, Password, withChromium } from './browser.ts'

const hasChromium = withChromium()
let here: BrowserSite

beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())

test('signing up, connecting, posting and making a key need no script, and no typing is lost to an error', async () => {
  const page = await here.page({ javaScriptEnabled: false })

  await page.goto('/channels')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('E-mail').fill('ada@example.org')
  await page.getByLabel('Password').fill('short')
  await page.getByLabel('Organisation').fill('No Script')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('listitem').getByText('At least 10 characters.').waitFor()
  await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('ada@example.org')
  await expect.poll(() => page.getByLabel('Password').inputValue()).toBe('')
  expect(await page.content()).not.toContain('short')
  await page.getByLabel('Password').fill(Password)
  await page.getByRole('button', { name: 'Create account' }).click()
  expect(new URL(page.url()).pathname).toBe('/channels') // where they were going

  await page.getByRole('button', { name: 'Connect Feed' }).click()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('No Script is connected.').waitFor()

  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill('Line one\nline two')
  await page.getByLabel('Date').fill('2020-01-01')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('This time is in the past. Choose a later time.').waitFor()
  await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue()).toBe('Line one\nline two')
  await page.getByRole('button', { name: 'Publish now' }).click()
  await page.waitForURL('**/posts/*said=now')

  await page.goto('/settings/developers/access?generate')
  await page.getByLabel('Name', { exact: true }).fill('Script')
  await page.getByRole('button', { name: 'Generate', exact: true }).click()
  await page.locator('code', { hasText: /^pak_live_/ }).waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Schedule posts. They go out on time.' }).waitFor()
})
