import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { DateTime } from 'luxon'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
const Zone = 'Europe/Berlin'
let here: BrowserSite
let page: Page

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  page = await here.page()
  await signUp(page, here.site, { timeZone: Zone })
  await connectFeed(page, 'My feed')
})
afterAll(() => here?.end())

const waiting = () => page.getByRole('region', { name: /Waiting posts|Drafts in this queue/ })
const texts = () => waiting().getByRole('listitem').getByRole('link').allTextContents()
const times = () =>
  waiting()
    .locator('time')
    .evaluateAll((all) => all.map((one) => one.getAttribute('datetime')!))
const isAccessible = async () => expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])

test('without a channel the pages of queues lead to where one is connected', async () => {
  await here.db.execute(sql`update channels set status = 'disconnected'`)
  for (const path of ['/queues', '/queues/new']) {
    await page.goto(path)
    await page.getByText('A queue needs a channel.').getByRole('link', { name: 'Connect a channel' }).waitFor()
    await isAccessible()
  }
  await here.db.execute(sql`update channels set status = 'active'`)
})

test('a queue is created, gets its weekly times, and a time is removed again', async () => {
  await page.goto('/queues')
  await page.getByText('No queues yet').waitFor()
  await isAccessible()
  await page.getByRole('link', { name: 'New queue' }).click()
  await page.getByRole('button', { name: 'Create queue' }).click()
  await page.getByText('Required.').waitFor()
  await page.getByLabel('Name').fill('Weekdays')
  await expect.poll(() => page.getByLabel('Time zone').inputValue()).toBe(Zone)
  await isAccessible()
  await page.getByRole('button', { name: 'Create queue' }).click()
  await page.getByText('The queue is created. Now add its times.').waitFor()

  await page.getByLabel('Time', { exact: true }).fill('17:30')
  await page.getByRole('button', { name: 'Add time' }).click()
  await page.getByRole('button', { name: 'Remove Friday 17:30' }).waitFor()
  await page.getByRole('button', { name: 'Remove Tuesday 17:30' }).click()
  await page.getByRole('button', { name: 'Remove Tuesday 17:30' }).waitFor({ state: 'detached' })
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Weekly times')
  expect(await page.getByRole('button', { name: /^Remove / }).count()).toBe(4)
  await isAccessible()
})

test('a queue in another zone than the person says which zone its dates are in', async () => {
  const said = page.getByText(`Dates are in your time zone, ${Zone}.`)
  expect(await said.count()).toBe(0)
  for (const [zone, count] of [
    ['Asia/Tokyo', 1],
    [Zone, 0],
  ] as const) {
    await page.getByLabel('Time zone').selectOption(zone)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`In ${zone}. Waiting posts keep`).waitFor()
    await expect.poll(() => said.count()).toBe(count)
  }
})

test('a queue whose time zone is called by another name keeps it when its settings are saved', async () => {
  await here.db.execute(sql`update queues set time_zone = 'Asia/Kolkata'`)
  await page.reload()
  await expect.poll(() => page.getByLabel('Time zone').inputValue()).toBe('Asia/Kolkata')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  expect(await here.db.execute(sql`select time_zone from queues`)).toMatchObject([{ time_zone: 'Asia/Kolkata' }])
  await here.db.execute(sql`update queues set time_zone = ${Zone}`)
})

test('the composer adds a post to the queue, and says the time that it takes', async () => {
  for (const text of ['First', 'Second', 'Third', 'Fourth']) {
    await page.goto('/posts/new')
    await page.getByLabel('Text', { exact: true }).fill(text)
    const next = await page.getByText(/^Next: /).textContent()
    if (text === 'First') await isAccessible()
    await page.getByRole('button', { name: 'Add to queue' }).click()
    await page.getByText('The post is in the queue.').waitFor()
    const [post] = await here.db.execute<{ date: string }>(
      sql`select date from posts where content = ${text} and queue_id is not null and queue_date = date`,
    )
    const shown = DateTime.fromJSDate(new Date(post!.date), { zone: Zone }).setLocale('en')
    expect(next).toBe(`Next: ${shown.toFormat('ccc d LLL, HH:mm')}`)
    expect(shown.toFormat('HH:mm')).toBe('17:30')
  }
  await page.goto('/queues')
  await page.getByRole('link', { name: 'Weekdays' }).click()
  await waiting().getByText('Fourth').waitFor()
  expect(await texts()).toEqual(['First', 'Second', 'Third', 'Fourth'])
})

test('waiting posts change their order by keys and by dragging, and exchange their times', async () => {
  const before = await times()
  await page.getByRole('button', { name: 'Move up: Third' }).press('Enter')
  await waiting().getByText('Moved to place 2 of 4.').waitFor()
  expect(await texts()).toEqual(['First', 'Third', 'Second', 'Fourth'])
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Move up: Third')
  await page.keyboard.press('Enter')
  await waiting().getByText('Moved to place 1 of 4.').waitFor()
  expect(await texts()).toEqual(['Third', 'First', 'Second', 'Fourth'])

  const row = (text: string) => waiting().getByRole('listitem').filter({ hasText: text })
  await row('Fourth').dragTo(row('First'))
  await expect.poll(texts).toEqual(['Third', 'Fourth', 'First', 'Second'])
  expect(await times()).toEqual(before)
  await page.reload()
  expect(await texts()).toEqual(['Third', 'Fourth', 'First', 'Second'])
})

test('a paused queue shows its drafts in their order, and they wait again when it is resumed', async () => {
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Weekdays is paused. Its posts are drafts.').waitFor()
  await page.getByRole('heading', { name: 'Drafts in this queue' }).waitFor()
  expect(await texts()).toEqual(['Third', 'Fourth', 'First', 'Second'])
  await isAccessible()
  await page.goto('/posts/new')
  expect(await page.getByRole('button', { name: 'Add to queue' }).count()).toBe(0)
  await page.goto('/queues')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Weekdays is resumed. Its posts have new times.').waitFor()
  expect(await texts()).toEqual(['Third', 'Fourth', 'First', 'Second'])
  expect(await times()).toEqual((await times()).toSorted())
})

test('after a change of the weekly times the person sees which posts would move, and they move when confirmed', async () => {
  const before = await times()
  await page.getByLabel('Time', { exact: true }).fill('08:15')
  await page.getByRole('button', { name: 'Add time' }).click()
  await page.getByRole('button', { name: 'Remove Monday 08:15' }).waitFor()
  expect(await page.getByRole('heading', { name: 'Move waiting posts?' }).count()).toBe(0)
  for (const day of ['Monday', 'Wednesday', 'Thursday', 'Friday']) {
    await page.getByRole('button', { name: `Remove ${day} 17:30` }).click()
    await page.getByRole('button', { name: `Remove ${day} 17:30` }).waitFor({ state: 'detached' })
  }
  await page.getByRole('heading', { name: 'Move waiting posts?' }).waitFor()
  expect(await times()).toEqual(before)
  await isAccessible()
  await page.getByRole('button', { name: 'Move 4 posts' }).click()
  await page.getByText('The posts have new times.').waitFor()
  expect(await texts()).toEqual(['Third', 'Fourth', 'First', 'Second'])
  for (const at of await times()) expect(DateTime.fromISO(at, { zone: Zone }).toFormat('HH:mm')).toBe('08:15')
})

test('a channel gets a queue of its own with one button, and the composer offers both', async () => {
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Create a queue for this channel' }).click()
  await page.getByRole('heading', { name: 'My feed', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Remove Monday 09:00' }).waitFor()
  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill('On its own')
  const choice = page.getByLabel('Queue', { exact: true })
  const names = await choice.locator('option').allTextContents()
  expect(names).toEqual([expect.stringMatching(/^Weekdays, next: /), expect.stringMatching(/^My feed, next: /)])
  await choice.selectOption({ label: names[1]! })
  await isAccessible()
  await page.getByRole('button', { name: 'Add to queue' }).click()
  await page.getByText('The post is in the queue.').waitFor()
  await page.goto('/queues')
  await page.getByRole('link', { name: 'My feed', exact: true }).click()
  await page.getByText('On its own').waitFor()
  await page.getByRole('button', { name: 'Delete queue' }).click()
  await page.getByRole('heading', { name: 'Delete My feed?' }).waitFor()
  await page.getByRole('button', { name: 'Delete queue' }).click()
  await page.getByText('The queue is deleted. Its posts keep their dates.').waitFor()
})
