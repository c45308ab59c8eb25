import type { Page } from '@playwright/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BrowserSite, browserSite, Password, signUp, withChromium } from '../../app/browser.ts'
import { aSite } from '../../app/posts/elsewhere.ts'
import { me, post } from './flow.ts'

// An app that opens the consent page in a window of its own, in a real browser, with the pages on one host and the API on
// another. The app is on a third origin.

const hasChromium = withChromium()
let here: BrowserSite
let appOrigin: string
let client: { client_id: string; client_secret: string }

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite({ hosts: 'two' })
  const site = await aSite(({ url }) => ({ body: url!.startsWith('/callback') ? callbackPage : openerPage() }))
  appOrigin = site.origin
  client = await register(`${appOrigin}/callback`)
})
afterAll(() => here?.end())

const openerPage = () => `
  <button onclick="window.popup = window.open('${here.site.appUrl}${authorizePath().replaceAll('&', '&amp;')}')">Connect</button>
  <output></output>
  <script>
    addEventListener('message', ({ data, origin }) => { document.querySelector('output').textContent = origin + data })
  </script>`
const callbackPage = '<script>opener.postMessage(location.search, location.origin); close()</script>'

function authorizePath(): string {
  return `/oauth/authorize?client_id=${client.client_id}&response_type=code&state=s`
}

async function register(redirectUrl: string) {
  const page = await here.page()
  await signUp(page, here.site, { organisation: 'Makers' })
  await page.goto('/settings/developers/apps?create')
  await page.getByLabel('Name', { exact: true }).fill('Calendar')
  await page.getByLabel('Redirect URL').fill(redirectUrl)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Calendar is registered').waitFor()
  const [clientId, clientSecret] = await page.locator('code').allTextContents()
  return { client_id: clientId!, client_secret: clientSecret! }
}

/** Press the app's button: its page, and the window that it opened. */
async function connect(page: Page): Promise<Page> {
  await page.goto(appOrigin)
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Connect' }).click()])
  return popup
}

const isClosed = (page: Page) => page.evaluate('popup.closed')

/** Approve, and what the app's page is told by its callback, the window closed after it. */
async function approve(page: Page, popup: Page): Promise<URLSearchParams> {
  await popup.getByRole('heading', { name: 'Calendar wants to use' }).waitFor()
  expect(await isClosed(page)).toBe(false) // as far as the app's page can see
  await popup.getByRole('button', { name: 'Approve' }).click()
  const told = page.locator('output', { hasText: appOrigin })
  await told.waitFor()
  await expect.poll(() => isClosed(page)).toBe(true)
  return new URL((await told.textContent())!).searchParams
}

test('an app that opens the consent page in a window hears from it, and swaps its code at the other host', async () => {
  const page = await here.page()
  await signUp(page, here.site)
  const answer = await approve(page, await connect(page))
  expect([answer.get('iss'), answer.get('state')]).toEqual([here.baseUrl, 's'])
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, ...client }
  expect((await post({ baseUrl: here.site.appUrl }, 'token', form)).status).toBe(404)
  const { status, json } = await post(here, 'token', form)
  expect(status).toBe(200)
  expect((await me(here, json.access_token)).json).toMatchObject({ organisation: { name: 'Analytical Engines' } })
})

test.each(['up', 'in'])('so it does when the person has to sign %s on the way', async (way) => {
  const page = await here.page()
  const email = await signUp(page, here.site)
  await page.context().clearCookies()
  const popup = await connect(page)
  await popup.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await isClosed(page)).toBe(false)
  if (way === 'up') {
    await popup.getByRole('link', { name: 'Create an account' }).click()
    await popup.getByLabel('Name', { exact: true }).fill('Una')
    await popup.getByLabel('Organisation').fill('Una & Co')
  }
  await popup.getByLabel('E-mail').fill(way === 'up' ? 'una@example.org' : email)
  await popup.getByLabel('Password').fill(Password)
  await popup.getByRole('button', { name: way === 'up' ? 'Create account' : 'Sign in' }).click()
  expect((await approve(page, popup)).get('code')).toMatch(/^[\w-]{43}$/)
})

describe('pages are isolated from the window that opened them', () => {
  const policyAt = async (path: string, method = 'GET') => {
    const { headers } = await fetch(here.site.appUrl + path, { method, redirect: 'manual' })
    return headers.get('cross-origin-opener-policy')
  }
  const towards = (path: string) => `?next=${encodeURIComponent(path)}`

  test('but for the consent page and signing in or up towards it', async () => {
    const request = authorizePath()
    const open = [request, '/oauth/authorize', `/login${towards(request)}`, `/signup${towards(request)}`]
    const apart = ['/', '/login', '/signup', '/channels', '/settings/approved-apps', '/oauth/authorized', '/nothing']
    const elsewhere = ['/', '/channels', '//oauth/authorize', '/oauth/authorized', 'https://x.example/oauth/authorize']
    for (const path of open) expect([path, await policyAt(path)]).toEqual([path, 'unsafe-none'])
    for (const path of [...apart, ...elsewhere.map((next) => `/login${towards(next)}`), `/channels${towards(request)}`])
      expect([path, await policyAt(path)]).toEqual([path, 'same-origin'])
  })
})
