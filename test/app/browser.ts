import { existsSync } from 'node:fs'
import { type BrowserContextOptions, chromium, type Page } from '@playwright/test'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { testDatabase } from '../postgres/database.ts'
import { type Site, startWeb, startWorker, testSite } from '../processes.ts'

// Debian's chromium-headless-shell is the same browser without its own windows: a test of a page costs a third less with it.
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  chromium.executablePath(),
]
export const chromiumPath = places.find((path) => existsSync(path))

// Quiet: it calls nobody but the site.
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const quiet = ['--disable-component-update', '--disable-sync']

export const Password = 'correct horse battery'

/** Skip the file's tests, by name, on a machine without a Chromium. False there. */
export function withChromium(): boolean {
  beforeEach(({ skip }) => {
    skip(!chromiumPath, 'no Chromium is found: install Debian’s package chromium')
  })
  return chromiumPath !== undefined
}

/**
 * The tests of this file need a browser. `begin` gets a site that is there for all of them; `beginEach` runs before each.
 */
export function inBrowser(begin: (here: BrowserSite) => void | Promise<void>, beginEach?: () => Promise<void>): void {
  if (!withChromium()) return
  let here: BrowserSite
  beforeAll(async () => {
    here = await browserSite()
    await begin(here)
  })
  afterAll(() => here?.end())
  if (beginEach) beforeEach(beginEach)
}

/**
 * A database, the web process, a worker and a browser. Whatever a page writes to its console as an error, a refusal
 * by the content security policy among them, fails `end`. With `hosts: 'two'` the API is at `baseUrl`, the pages are not;
 * `operators` see /operations. Mail goes to `smtpUrl`; without it, the installation sends none.
 */
export async function browserSite({
  hosts = 'one',
  operators = '',
  smtpUrl = '',
}: {
  hosts?: 'one' | 'two'
  operators?: string
  smtpUrl?: string
} = {}) {
  const database = await testDatabase()
  const site = await testSite(database.url, { OPERATORS: operators, SMTP_URL: smtpUrl })
  const baseUrl = hosts === 'two' ? `http://127.0.0.1:${site.port}` : site.appUrl
  site.env.BASE_URL = baseUrl
  const processes = await Promise.all([startWeb(site), startWorker(site)])
  const browser = await chromium.launch({
    ...(chromiumPath ? { executablePath: chromiumPath } : {}),
    args: [...args, ...quiet],
  })
  const complaints: string[] = []
  return {
    ...{ db: database.db, site, baseUrl, browser },
    /** A page in a browser of its own that nobody has signed in with. */
    async page(options: BrowserContextOptions = {}): Promise<Page> {
      const context = await browser.newContext({ baseURL: site.appUrl, ...options })
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      page.on('pageerror', ({ message }) => complaints.push(message))
      page.on('console', (message) => {
        // Chromium reports every answer of 400 and more; those are asserted by what the page shows.
        const isAnswer = message.text().startsWith('Failed to load resource')
        if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
      })
      return page
    },
    async end() {
      await browser.close()
      await Promise.all(processes.map((process) => process.stop()))
      await Promise.all([site.end(), database.end()])
      expect(complaints).toEqual([])
    },
  }
}

export type BrowserSite = Awaited<ReturnType<typeof browserSite>>

/** Sign a new person up in the page's browser, without the form. Returns their e-mail address. */
export async function signUp(page: Page, site: Site, { timeZone = 'UTC', organisation = 'Analytical Engines' } = {}) {
  const email = `ada-${Math.random().toString(36).slice(2)}@example.org`
  const form = { name: 'Ada', email, password: Password, organisation, timeZone }
  const answer = await page.request.post('/signup', { form, headers: { origin: site.appUrl } })
  expect(answer.status()).toBe(200)
  return email
}

/** Connect a feed channel of that name, through its form. Returns the channel's id. */
export async function connectFeed(page: Page, name: string): Promise<string> {
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Connect Feed' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.waitForURL('**/channels?connected=*')
  return new URL(page.url()).searchParams.get('connected')!
}
