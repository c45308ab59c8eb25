import type { Page } from '@playwright/test'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { posts } from '../../../db/schema/posts.ts'
import { someDeliveries } from '../../builders.ts'
import { type BrowserSite, browserSite, withChromium } from '../browser.ts'
import { aCalendar, eventOf } from './stage.ts'

const hasChromium = withChromium()
let here: BrowserSite
let calendar: Awaited<ReturnType<typeof aCalendar>>
let page: Page
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  calendar = await aCalendar(here)
  page = calendar.page
})
afterAll(() => here?.end())

const tagged = async (at: string, text: string, tags: string[]) => {
  const id = await calendar.post({ at, text })
  await here.db.update(posts).set({ tags }).where(eq(posts.id, id))
}

test('the filter by tag is in the address, and stays while the days and the view change', async () => {
  await tagged('2031-03-12T09:00:00Z', 'With the tag', ['Launch & more', 'x'])
  await tagged('2031-03-13T09:00:00Z', 'With another', ['x'])
  await calendar.post({ at: '2031-03-14T09:00:00Z', text: 'Without any' })
  await page.goto('/calendar?view=month&date=2031-03-12')
  await eventOf(page, 'Without any').waitFor()
  await page.getByLabel('Tag', { exact: true }).selectOption('Launch & more')
  await expect.poll(() => page.locator('main a[href*="post="]').count()).toBe(1)
  expect(new URL(page.url()).searchParams.get('tag')).toBe('Launch & more')
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('calendar-tag')
  await page.getByRole('link', { name: 'Next', exact: true }).click()
  await page.getByRole('heading', { name: 'April 2031' }).waitFor()
  await page.getByRole('link', { name: 'Previous' }).click()
  await eventOf(page, 'With the tag').waitFor()
  await page.getByRole('link', { name: 'List', exact: true }).click()
  await page.getByRole('link', { name: 'With the tag', exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'Without any', exact: true }).count()).toBe(0)
  await page.reload()
  await expect.poll(() => page.getByLabel('Tag', { exact: true }).inputValue()).toBe('Launch & more')
})

test('without scripts, the filter by tag works with its button, also for a tag that no post has any more', async () => {
  const plain = await here.page({ javaScriptEnabled: false, storageState: await page.context().storageState() })
  await plain.goto('/calendar?date=2031-03-12')
  await plain.getByLabel('Tag', { exact: true }).selectOption('x')
  await plain.getByRole('button', { name: 'Show' }).click()
  await plain.getByRole('link', { name: 'With another', exact: true }).waitFor()
  await plain.getByRole('link', { name: 'With the tag', exact: true }).waitFor()
  expect(await plain.getByRole('link', { name: 'Without any', exact: true }).count()).toBe(0)
  await plain.goto('/calendar?date=2031-03-12&tag=gone')
  await plain.getByText('No posts are due on these days.').waitFor()
  await expect.poll(() => plain.getByLabel('Tag', { exact: true }).inputValue()).toBe('gone')
})

test('a partly published post is found as published, as failed and as partly published', async () => {
  const id = await calendar.post({ at: '2025-03-12T09:00:00Z', text: 'On one of two', state: 'failed' })
  await here.db.execute(sql`update posts set told = 'PARTIALLY_PUBLISHED' where id = ${id}`)
  for (const status of ['Published', 'Failed', 'Partly published']) {
    await page.goto('/calendar?view=month&date=2025-03-12')
    await page.getByLabel('Status').selectOption(status)
    await page.waitForURL(/status=[A-Z]/)
    await eventOf(page, 'On one of two').waitFor()
  }
  await page.getByLabel('Status').selectOption('Scheduled')
  await eventOf(page, 'On one of two').waitFor({ state: 'detached' })
  for (const tab of ['Published', 'Failed']) {
    await page.goto('/')
    await page.getByRole('navigation', { name: 'Filter' }).getByRole('link', { name: tab, exact: true }).click()
    await page.getByRole('link', { name: 'On one of two' }).waitFor()
  }
})

test('a long list has pages, and a dialog leads back to the same page', async () => {
  const { organisationId, channelId } = calendar
  const dueAt = (n: number) => new Date(Date.parse('2031-05-01T00:00:00Z') + n * 3_600_000)
  await someDeliveries(
    here.db,
    Array.from({ length: 250 }, (_, n) => ({ organisationId, channelId, dueAt: dueAt(n), text: `Row ${n}` })),
  )
  const plain = await here.page({ javaScriptEnabled: false, storageState: await page.context().storageState() })
  for (const one of [page, plain]) {
    await one.goto('/calendar?view=list&date=2031-05-01')
    await one.getByText('1 to 100 of 250').waitFor()
    await one.getByRole('link', { name: 'Row 99', exact: true }).waitFor()
    expect(await one.getByRole('link', { name: 'Row 100', exact: true }).count()).toBe(0)
    await one.getByRole('link', { name: 'Next page' }).click()
    await one.getByText('101 to 200 of 250').waitFor()
    await one.getByRole('link', { name: 'Row 100', exact: true }).waitFor()
    await one.getByRole('link', { name: 'Move to…: Row 150' }).click()
    await one.getByRole('dialog').getByRole('link', { name: 'Close' }).click()
    await one.getByText('101 to 200 of 250').waitFor()
    await one.getByRole('link', { name: 'Next page' }).click()
    await one.getByText('201 to 250 of 250').waitFor()
    expect(await one.getByRole('link', { name: 'Next page' }).count()).toBe(0)
    await one.getByRole('link', { name: 'Week', exact: true }).click()
    await one.getByRole('heading', { name: '28 April – 4 May 2031' }).waitFor()
    expect(one.url()).not.toContain('page=')
  }
})

test('in the week, the link to posts that have no room covers no text', async () => {
  for (const text of ['The first at this time, with a long text', 'The second at this time'])
    await calendar.post({ at: '2031-08-06T09:00:00Z', text })
  await page.goto('/calendar?view=week&date=2031-08-06')
  const link = page.getByRole('button', { name: /^\+1/ })
  await link.waitFor()
  const shown = page.locator('main a[href*="post="] bdi', { hasText: 'at this time' })
  await expect.poll(() => shown.count()).toBe(1)
  const [text, over] = [(await shown.boundingBox())!, (await link.boundingBox())!]
  expect(text.x + text.width).toBeLessThanOrEqual(over.x)
  expect(text.width).toBeGreaterThan(20)
  await link.click()
  await page.getByRole('heading', { name: 'Wednesday 6 August 2031' }).waitFor()
})
