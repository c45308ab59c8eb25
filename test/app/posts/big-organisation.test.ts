import type { Page } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organisations } from '../../../db/schema/accounts.ts'
import { installation } from '../../../db/schema/installation.ts'
import { fillOrganisation } from '../../postgres/many-posts.ts'
import { type BrowserSite, browserSite, signUp, withChromium } from '../browser.ts'

const Posts = 2000
const Channels = 120

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
  await signUp(page, here.site)
  await here.db.update(installation).set({ pausedAt: new Date() }) // or the worker is at what is late
  const [organisation] = await here.db.select().from(organisations)
  await fillOrganisation(here.db, { organisationId: organisation!.id, count: Posts, channelCount: Channels })
})
afterAll(() => here?.end())

const rowsUnder = (heading: RegExp) =>
  page.locator('section', { has: page.getByRole('heading', { name: heading }) }).locator('li')

test('the first page counts all that needs somebody, shows the newest twenty, and leads to the rest', async () => {
  const needing = (Posts * 4) / 100
  await page.goto('/')
  await page.getByRole('heading', { name: `${needing} posts need attention` }).waitFor()
  expect(await rowsUnder(/need attention/).count()).toBe(20)
  const shown = await rowsUnder(/need attention/)
    .locator('time')
    .evaluateAll((all) => all.map((one) => one.getAttribute('datetime')))
  expect(shown).toEqual(shown.toSorted().reverse())
  const showAll = page.getByRole('link', { name: `Show all ${needing} posts that need attention` })
  await showAll.click()
  await page.waitForURL('**/?status=needs_attention')
  await showAll.waitFor({ state: 'hidden' }) // the address changes before the page does, and that has a next one too
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.getByRole('link', { name: 'First page' }).waitFor()
  expect(await page.locator('main li', { has: page.locator('time') }).count()).toBe(needing - 50)
})

test('more than a hundred channels are all there, to look at and to choose from', async () => {
  await page.goto('/channels')
  await page.getByText(`Channel ${Channels - 1}`, { exact: true }).waitFor()
  await page.goto('/posts/new')
  await page.getByText(`Channel ${Channels - 1}`, { exact: true }).waitFor()
})
