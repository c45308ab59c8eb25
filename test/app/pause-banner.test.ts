import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { pause } from '../../jobs/ledger/pause.ts'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from './browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
let other: Page
let feedId: string

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
  await signUp(page, here.site, { timeZone: 'Europe/Berlin' })
  feedId = await connectFeed(page, 'Daily news')
  other = await here.page()
  await signUp(other, here.site, { organisation: 'Somebody else' })
})
afterEach(async () => {
  if (!hasChromium) return
  await here.db.execute(sql`update installation set paused_at = null`)
  await here.db.execute(sql`update channels set paused_at = null`)
})
afterAll(() => here?.end())

const banner = (on: Page) => on.getByText('has been paused since')

test('while sending is paused, every page of a signed-in person says so, and since when', async () => {
  await pause(here.db, { scope: 'all' })
  for (const path of ['/', '/posts/new', '/channels', '/settings/account', '/posts/nothing']) {
    await page.goto(path)
    await banner(page).waitFor()
    expect(await banner(page).count()).toBe(1)
    expect(await banner(page).textContent()).toMatch(
      /^Sending has been paused since \w{3} \d+ \w{3} \d{4}, \d\d:\d\d\. Posts wait and go out when the operator resumes sending\.$/,
    )
  }
  const visitor = await here.page()
  await visitor.goto('/login')
  expect(await banner(visitor).count()).toBe(0)
})

test('a paused channel is named only to its own organisation', async () => {
  await pause(here.db, { scope: 'channel', id: feedId })
  await page.goto('/')
  await page.getByText('Sending to Daily news has been paused since').waitFor()
  await other.goto('/')
  expect(await banner(other).count()).toBe(0)
})

test('once sending resumes, the banner is gone', async () => {
  await page.goto('/')
  expect(await banner(page).count()).toBe(0)
})
