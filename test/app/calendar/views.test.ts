import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accounts } from '../../../db/schema/accounts.ts'
import { aChannel } from '../../builders.ts'
import { type BrowserSite, browserSite, withChromium } from '../browser.ts'
import { aCalendar, eventOf, slotOf } from './stage.ts'

const hasChromium = withChromium()
let here: BrowserSite
let calendar: Awaited<ReturnType<typeof aCalendar>>
let page: Page
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  calendar = await aCalendar(here)
  page = calendar.page
  const { organisationId } = calendar
  const channelId = await aChannel(here.db, here.site.secretKey, { organisationId, network: 'feed' })
  await calendar.post({ at: '2031-03-12T23:30:00Z', text: 'Past midnight in Berlin' })
  await calendar.post({ at: '2031-03-30T10:00:00Z', text: 'مرحبا بالعالم', channelId })
  await calendar.post({ at: '2031-03-31T22:30:00Z', text: 'April there' })
  for (const state of ['failed', 'needs_review', 'held', 'draft', 'cancelled'] as const)
    await calendar.post({ at: '2031-03-20T09:00:00Z', text: `The one that is ${state}`, state })
  await calendar.post({ at: '2031-03-20T11:00:00Z', text: 'Donaudampfschifffahrtsgesellschaftskapitän' })
  state = await page.context().storageState()
})
afterAll(() => here?.end())

const title = (name: string) => page.getByRole('heading', { level: 2, name })
const go = (name: string) => page.getByRole('link', { name, exact: true }).click()

describe('the views', () => {
  test('month, week and day lead to each other by name, and their address brings them back', async () => {
    await page.goto('/')
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Calendar' }).click()
    await page.getByRole('heading', { level: 1, name: 'Calendar' }).waitFor()
    await page.goto('/calendar?date=2031-03-12')
    await title('March 2031').waitFor()
    await go('Next')
    await title('April 2031').waitFor()
    await go('Previous')
    await title('March 2031').waitFor()
    await page.goto('/calendar?date=2031-03-12')
    await go('Week')
    await title('10 – 16 March 2031').waitFor()
    await go('Day')
    await title('Wednesday 12 March 2031').waitFor()
    expect(page.url()).toMatch(/\/calendar\?view=day&date=2031-03-12$/)
    await page.reload()
    await title('Wednesday 12 March 2031').waitFor()
    await page.goBack()
    await title('10 – 16 March 2031').waitFor()
    await go('Today')
    await title(String(new Date().getFullYear())).waitFor()
  })

  test('days and times are on the clock of the person’s zone, whatever zone the browser is in', async () => {
    await page.goto('/calendar?date=2031-03-12&view=day')
    await title('Wednesday 12 March 2031').waitFor()
    await page.getByRole('columnheader').waitFor()
    expect(await eventOf(page, 'Past midnight').count()).toBe(0)
    await go('Next')
    await eventOf(page, 'Past midnight').getByText('00:30').waitFor()
    const place = (await eventOf(page, 'Past midnight').boundingBox())!
    const slot = await slotOf(page, '2031-03-13', '00:30')
    expect(Math.abs(place.y - slot.y)).toBeLessThan(4)
    await page.goto('/calendar?date=2031-04-01&view=day')
    await eventOf(page, 'April there').getByText('00:30').waitFor()
  })

  test('the account decides on which day weeks begin and if the clock has 12 or 24 hours', async () => {
    await page.goto('/settings/account')
    await page.getByLabel('Week starts on').selectOption('Sunday')
    await page.getByLabel('Clock').selectOption('12 hours: 6:00 PM')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.reload()
    await expect.poll(() => page.getByLabel('Clock').inputValue()).toBe('12')
    await page.goto('/calendar?date=2031-03-12&view=week')
    await title('9 – 15 March 2031').waitFor()
    await eventOf(page, 'Past midnight').getByText('12:30 AM').waitFor()
    expect(await page.getByRole('columnheader').first().textContent()).toContain('Sun')
    await page.goto('/settings/account')
    await page.getByLabel('Week starts on').selectOption('Default for my language')
    await page.getByLabel('Clock').selectOption('Default for my language')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const [person] = await here.db.select().from(accounts).where(eq(accounts.email, calendar.email))
    expect([person!.weekStart, person!.clock]).toEqual([null, null])
  })

  test('filters by channel and by status stay while the days change', async () => {
    await page.goto('/calendar?date=2031-03-12&view=month')
    await page.getByLabel('Status').selectOption('Failed')
    await eventOf(page, 'is failed').waitFor()
    await expect.poll(() => page.locator('main a[href*="post="]').count()).toBe(1)
    await go('Next')
    await title('April 2031').waitFor()
    await go('Previous')
    await eventOf(page, 'is failed').waitFor()
    await expect.poll(() => page.getByLabel('Status').inputValue()).toBe('FAILED')
    await page.getByLabel('Status').selectOption('All statuses')
    await page.getByLabel('Channel').selectOption('feed')
    await eventOf(page, 'مرحبا').waitFor()
    await expect.poll(() => page.locator('main a[href*="post="]').count()).toBe(1)
  })

  test('a day with many posts shows four, and leads to the rest', async () => {
    await page.goto('/calendar?date=2031-03-12&view=month')
    await page.getByText('+2 more').click()
    await title('Thursday 20 March 2031').waitFor()
  })

  test('the posts of one time that a day has no room for are in a box of their own', async () => {
    for (let n = 0; n < 8; n++) await calendar.post({ at: '2031-06-12T09:00:00Z', text: `Same time ${n}` })
    await page.goto('/calendar?date=2031-06-12&view=day')
    await eventOf(page, 'Same time').first().waitFor()
    await page.getByText('+2', { exact: true }).click()
    const box = page.getByRole('dialog')
    await expect.poll(() => box.locator('a[href*="post="]').count()).toBe(2)
    await expectClean(page, 'the box')
    await box.locator('a[href*="post="]').last().click()
    await page.getByRole('button', { name: 'Move' }).waitFor()
  })

  test('a small screen shows the list', async () => {
    const phone = await here.page({ storageState: state, viewport: { width: 390, height: 800 } })
    await phone.goto('/calendar?date=2031-03-12')
    await phone.getByRole('heading', { level: 3, name: 'Thursday 13 March' }).waitFor()
    await expect.poll(() => phone.getByRole('link', { name: 'List' }).getAttribute('aria-current')).toBe('page')
    expect(await phone.getByText('April there').count()).toBe(0)
  })
})

test('without scripts, the list of the month is there, and a post can be moved', async () => {
  const id = await calendar.post({ at: '2031-05-06T08:00:00Z', text: 'Plain' })
  const plain = await here.page({ javaScriptEnabled: false, storageState: state })
  await plain.goto('/calendar?date=2031-05-01')
  await plain.getByRole('link', { name: 'Plain', exact: true }).waitFor()
  expect(await plain.content()).not.toContain(' style=')
  await plain.getByRole('link', { name: 'Move to…: Plain' }).click()
  await plain.getByLabel('Time').fill('')
  await plain.getByLabel('Date').fill('2020-05-07')
  await plain.getByLabel('Time').fill('11:00')
  await plain.getByRole('button', { name: 'Move' }).click()
  await plain.getByText('This time is in the past. Choose a later time.').waitFor()
  await expect.poll(() => plain.getByLabel('Time').inputValue()).toBe('11:00')
  await plain.getByLabel('Date').fill('2031-05-07')
  await plain.getByRole('button', { name: 'Move' }).click()
  await plain.getByText('Moved to Wed 7 May 2031, 11:00.').waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-05-07T09:00:00.000Z')
})

describe.each([
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 1280 },
] as const)('$colorScheme, $width pixels wide', ({ colorScheme, width }) => {
  test('axe finds nothing in any view, and none is wider than the screen', async () => {
    const look = await here.page({ storageState: state, colorScheme, viewport: { width, height: 900 } })
    for (const view of ['month', 'week', 'day', 'list'] as const) {
      await look.goto(`/calendar?view=${view}&date=2031-03-20`)
      await (view === 'list'
        ? look.getByRole('link', { name: /is failed/ })
        : eventOf(look, 'The one').first()
      ).waitFor()
      await expectClean(look, view)
    }
    await eventOf(look, 'is held')
      .or(look.getByRole('link', { name: 'Move to…: The one that is held' }))
      .click()
    await look.getByRole('dialog').getByText('Waiting for reconnect').waitFor()
    await expectClean(look, 'a dialog')
  }, 120_000)
})

async function expectClean(look: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page: look }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
  const overflow = await look.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect([name, overflow]).toEqual([name, 0])
}
