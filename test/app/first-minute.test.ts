import type { Locator, Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserSite, browserSite, Password, withChromium } from './browser.ts'

const ClicksAtMost = 6 // from the new account to the published post

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
})
afterAll(() => here?.end())

const button = (name: string) => page.getByRole('button', { name, exact: true })
const link = (name: string) => page.getByRole('link', { name, exact: true })

test(`a visitor has a published post ${ClicksAtMost} clicks after the sign-up, and each step is one button`, async () => {
  const begun = performance.now()
  const did = { clicks: 0, fields: 0 }
  const click = async (what: Locator) => {
    did.clicks++
    await what.click()
  }
  const fill = async (label: string, value: string) => {
    did.fields++
    await page.getByLabel(label, { exact: true }).fill(value)
  }
  await page.goto('/')
  await link('Create your account').click()
  await fill('Name', 'Ada')
  await fill('E-mail', 'ada@example.org')
  await fill('Password', Password)
  await fill('Organisation', 'Analytical Engines')
  await button('Create account').click()

  await click(link('Connect a channel'))
  await click(button('Connect Feed'))
  await click(button('Connect'))
  await click(link('Write a post'))
  await fill('Text', 'Hello from a new account.')
  await click(button('Publish now'))
  const published = page.getByRole('link', { name: /View|Analytical Engines/ }).last()
  await page.getByText('Published', { exact: true }).first().waitFor()
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  process.stdout.write(`${did.clicks} clicks after the sign-up, ${did.fields} fields, ${seconds} s by a script\n`)
  expect(did.clicks).toBeLessThanOrEqual(ClicksAtMost)

  await published.click()
  await page.getByText('Hello from a new account.').first().waitFor()
})

test('a browser whose time zone we do not know makes an account in UTC', async () => {
  const email = 'bob@example.org'
  const form = { name: 'Bob', email, password: Password, organisation: 'Bob & Co', timeZone: 'Etc/Unknown' }
  const visitor = await here.page()
  const answer = await visitor.request.post('/signup', { form, headers: { origin: here.site.appUrl } })
  expect(answer.status()).toBe(200)
  expect(await here.db.execute(sql`select time_zone as zone from accounts where email = ${email}`)).toMatchObject([
    { zone: 'UTC' },
  ])
})

test('the first page for visitors needs no script, and its picture keeps its place', async () => {
  const visitor = await here.page({ javaScriptEnabled: false })
  await visitor.goto('/')
  await visitor.getByRole('heading', { name: 'Schedule posts. They go out on time.' }).waitFor()
  const picture = visitor.getByRole('img')
  expect(await picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(1000)
  expect([await picture.getAttribute('width'), await picture.getAttribute('height')]).toEqual(['1280', '740'])
  expect(await visitor.locator('script').count()).toBe(0)
  await visitor.getByRole('link', { name: 'Sign in' }).click()
  await visitor.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('a refused sign-in moves the focus to the reason', async () => {
  const visitor = await here.page()
  await visitor.goto('/login')
  await visitor.getByLabel('E-mail').fill('ada@example.org')
  await visitor.getByLabel('Password').fill('not her password')
  await visitor.getByRole('button', { name: 'Sign in' }).click()
  await visitor.getByRole('alert').waitFor()
  await expect.poll(() => visitor.getByRole('alert').evaluate((box) => box === document.activeElement)).toBe(true)
  await expect.poll(() => visitor.getByLabel('E-mail').inputValue()).toBe('ada@example.org')
})
