import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { queues } from '../../../db/schema/queues.ts'
import { aChannel } from '../../builders.ts'
import { type BrowserSite, browserSite, withChromium } from '../browser.ts'
import { aCalendar, cellOf, drag, eventOf, freeTimesOn, slotOf } from './stage.ts'

const hasChromium = withChromium()
let here: BrowserSite
let calendar: Awaited<ReturnType<typeof aCalendar>>
let page: Page
let queueId: string
let otherChannel: string
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  calendar = await aCalendar(here)
  page = calendar.page
  const { organisationId } = calendar
  otherChannel = await aChannel(here.db, here.site.secretKey, { organisationId, network: 'feed' })
  queueId = await calendar.queue('Mornings', ['09:00'])
  await calendar.queue('Others', ['18:00'], [otherChannel])
  const paused = await calendar.queue('Paused', ['12:00'])
  await here.db.update(queues).set({ pausedAt: sql`now()` }).where(eq(queues.id, paused))
})
afterAll(() => here?.end())

const queued = async (at: string, text: string) => {
  const id = await calendar.post({ at, text })
  await calendar.enqueue(id, queueId)
  return id
}
const isAccessible = async (on: Page, name: string) => {
  const { violations } = await new AxeBuilder({ page: on }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
}

describe('free times of queues', () => {
  test('are links in every view, and none is at a time that a post has', async () => {
    await queued('2031-02-04T08:00:00Z', 'Has a time')
    const counts = { month: 2 * 5 * 7 - 1, week: 2 * 7 - 1, day: 1, list: 2 * 28 - 1 }
    for (const [view, count] of Object.entries(counts)) {
      await page.goto(`/calendar?view=${view}&date=2031-02-04`)
      await page.getByText('Free time of Others').first().waitFor()
      await expect.poll(async () => [view, await freeTimesOn(page).count()]).toEqual([view, count])
      await isAccessible(page, view)
    }
  })

  test('go with the filter of channels, and their box turns them off in the address', async () => {
    await page.goto('/calendar?view=week&date=2031-04-15')
    await expect.poll(() => freeTimesOn(page).count()).toBe(14)
    expect(await page.getByText('Free time of Paused').count()).toBe(0)
    await page.getByLabel('Channel').selectOption('feed')
    await expect.poll(() => freeTimesOn(page).count()).toBe(7)
    expect(await page.getByText('Free time of Mornings').count()).toBe(0)
    await page.getByLabel('Channel').selectOption('All channels')
    await expect.poll(() => freeTimesOn(page).count()).toBe(14)

    await page.getByLabel('Free times').click()
    await expect.poll(() => freeTimesOn(page).count()).toBe(0)
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('calendar-free')
    expect(new URL(page.url()).searchParams.getAll('free')).toEqual(['0'])
    await page.getByRole('link', { name: 'Next', exact: true }).click()
    await page.getByRole('heading', { name: '21 – 27 April 2031' }).waitFor()
    expect(await page.getByLabel('Free times').isChecked()).toBe(false)
    await page.reload()
    await page.getByRole('columnheader').first().waitFor()
    expect(await freeTimesOn(page).count()).toBe(0)
    await page.getByLabel('Free times').click()
    await expect.poll(() => freeTimesOn(page).count()).toBe(14)
  })

  test('lead with keys to the composer, and a post that is scheduled there takes the time from the queue', async () => {
    await page.goto('/calendar?view=day&date=2031-04-16')
    await page.getByRole('columnheader').first().waitFor() // the list, which waits for the grid, has free times too
    await freeTimesOn(page).filter({ hasText: 'Mornings' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(/^Schedule takes this free time of the queue Mornings: Wed 16 Apr 2031, 09:00/).waitFor()
    await expect.poll(() => page.getByLabel('Date').inputValue()).toBe('2031-04-16')
    await expect.poll(() => page.getByLabel('Time').inputValue()).toBe('09:00')
    await expect.poll(() => page.getByRole('checkbox', { name: 'News' }).isChecked()).toBe(true)
    expect(await page.getByRole('checkbox', { name: /^feed/ }).isChecked()).toBe(false)
    await isAccessible(page, 'the composer')
    await page.getByLabel('Text', { exact: true }).fill('For the free time')
    await page.getByText(/^Your text is saved/).waitFor()
    await page.reload()
    await page.getByText(/^Schedule takes this free time of the queue Mornings/).waitFor()
    await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue()).toBe('For the free time')
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.waitForURL(/\/posts\/[\w-]{36}/)
    const [post] = await here.db.execute<{ id: string }>(sql`select id from posts where content = 'For the free time'`)
    expect(await calendar.queueOf(post!.id)).toBe(queueId)
    expect(await calendar.dateOf(post!.id)).toBe('2031-04-16T07:00:00.000Z')
    await page.goto('/calendar?view=day&date=2031-04-16')
    await calendar.event('For the free time').waitFor()
    await expect.poll(() => freeTimesOn(page).count()).toBe(1)
  })

  test.each([
    { change: 'another time', at: '2031-04-17T08:30:00.000Z' },
    { change: 'another channel', at: '2031-04-17T07:00:00.000Z' },
  ])('are not taken by a post with $change', async ({ change, at }) => {
    await page.goto(`/posts/new?at=2031-04-17T09:00&queue=${queueId}`)
    await page.getByText(/^Schedule takes this free time/).waitFor()
    await page.getByLabel('Text', { exact: true }).fill(`With ${change}`)
    if (change === 'another time') await page.getByLabel('Time').fill('10:30')
    else await page.getByRole('checkbox', { name: /^feed/ }).check()
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.waitForURL(/\/posts\/[\w-]{36}/)
    const [post] = await here.db.execute<{ id: string; version: number }>(
      sql`select id, version from posts where content = ${`With ${change}`}`,
    )
    expect([await calendar.queueOf(post!.id), await calendar.dateOf(post!.id), post!.version]).toEqual([null, at, 1])
  })

  test('that someone takes while the post is written are not taken twice, and the page says so', async () => {
    await page.goto(`/posts/new?at=2031-04-22T09:00&queue=${queueId}`)
    await page.getByText(/^Schedule takes this free time/).waitFor()
    await queued('2031-04-22T07:00:00Z', 'Was faster')
    await page.getByLabel('Text', { exact: true }).fill('Was slower')
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.getByText('This time of the queue Mornings is no longer free.').waitFor()
    const [post] = await here.db.execute<{ id: string }>(sql`select id from posts where content = 'Was slower'`)
    expect(await calendar.queueOf(post!.id)).toBe(null)
    expect(await calendar.dateOf(post!.id)).toBe('2031-04-22T07:00:00.000Z')
  })

  test('that are gone meanwhile are not promised', async () => {
    await queued('2031-04-18T07:00:00Z', 'Was first')
    await page.goto(`/posts/new?at=2031-04-18T09:00&queue=${queueId}`)
    await expect.poll(() => page.getByLabel('Date').inputValue()).toBe('2031-04-18')
    expect(await page.getByText(/^Schedule takes/).count()).toBe(0)
  })
})

describe('a post in a queue', () => {
  test('is named with its queue in the grid, the list and its dialog, which says that a move takes it out', async () => {
    await queued('2031-05-06T07:00:00Z', 'Named')
    await page.goto('/calendar?view=day&date=2031-05-06')
    await calendar.event('Named').getByText('From the queue Mornings').waitFor()
    await calendar.event('Named').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('From the queue Mornings').waitFor()
    await dialog.getByText('With another time, this post leaves the queue Mornings.').waitFor()
    await isAccessible(page, 'the dialog')
    await page.goto('/calendar?view=list&date=2031-05-06')
    await page.getByRole('listitem').filter({ hasText: 'Named' }).getByText('From the queue Mornings').waitFor()
  })

  test('that is dragged leaves it, the page says so, and Undo puts it back into the queue', async () => {
    const id = await queued('2031-06-03T07:00:00Z', 'Dragged out')
    await page.goto('/calendar?view=week&date=2031-06-03&free=0')
    await calendar.event('Dragged out').waitFor()
    await drag(page, 'Dragged out', await slotOf(page, '2031-06-05', '14:30'))
    await page.getByText('Moved to Thu 5 Jun 2031, 14:30. It left the queue Mornings.').waitFor()
    expect(await calendar.queueOf(id)).toBeNull()
    await isAccessible(page, 'the outcome')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Moved back to Tue 3 Jun 2031, 09:00. It is in the queue Mornings again.').waitFor()
    expect([await calendar.queueOf(id), await calendar.dateOf(id)]).toEqual([queueId, '2031-06-03T07:00:00.000Z'])
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0)
    await calendar.event('Dragged out').getByText('From the queue Mornings').waitFor({ state: 'attached' })
  })

  test('whose time was taken meanwhile gets its time back, and the page says that it is no longer in the queue', async () => {
    const id = await queued('2031-07-01T07:00:00Z', 'Too late back')
    await page.goto('/calendar?view=month&date=2031-07-01&free=0')
    await calendar.event('Too late back').waitFor()
    await drag(page, 'Too late back', await cellOf(page, '2031-07-10'))
    await page.getByText('It left the queue Mornings.').waitFor()
    await queued('2031-07-01T07:00:00Z', 'Took its time')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Moved back to Tue 1 Jul 2031, 09:00. It is no longer in the queue Mornings.').waitFor()
    expect([await calendar.queueOf(id), await calendar.dateOf(id)]).toEqual([null, '2031-07-01T07:00:00.000Z'])
  })
})

test('Undo after someone changed the post does nothing, and the page says why', async () => {
  const id = await calendar.post({ at: '2031-08-05T08:00:00Z', text: 'Changed after the move' })
  await page.goto('/calendar?view=week&date=2031-08-05&free=0')
  await calendar.event('Changed after').waitFor()
  await drag(page, 'Changed after', await slotOf(page, '2031-08-07', '12:00'))
  await page.getByText('Moved to Thu 7 Aug 2031, 12:00.').waitFor()
  await here.db.execute(sql`update posts set version = version + 1 where id = ${id}`)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page
    .getByRole('alert')
    .getByText(/changed/)
    .waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-08-07T10:00:00.000Z')
})

test('the address never keeps what was moved: after a reload the page says nothing', async () => {
  await calendar.post({ at: '2031-09-02T08:00:00Z', text: 'Said once' })
  await page.goto('/calendar?view=week&date=2031-09-02&free=0')
  await calendar.event('Said once').click()
  await page.getByRole('dialog').getByLabel('Time').fill('15:00')
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
  await page.getByText('Moved to Tue 2 Sep 2031, 15:00.').waitFor()
  expect(new URL(page.url()).search).toBe('?view=week&date=2031-09-02&free=0')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Moved back to Tue 2 Sep 2031, 10:00.').waitFor()
  await page.reload()
  await calendar.event('Said once').waitFor()
  expect(await page.getByText(/^Moved/).count()).toBe(0)
})

test('the cookie of a move tells nothing when its text is damaged or its organisation is another one', async () => {
  const told = (more: object) => ({
    ...{ how: 'there', by: 'form', at: '2031-09-02T08:00:00.000Z', queueId: null, isQueued: false, before: null },
    ...{ organisationId: calendar.organisationId, ...more },
  })
  for (const [written, isTold] of [
    [JSON.stringify(told({})), true],
    [JSON.stringify(told({ organisationId: queueId })), false],
    [JSON.stringify(told({ how: 'nowhere' })), false],
    [JSON.stringify(told({ before: { id: 'x' } })), false],
    ['{', false],
  ] as const) {
    const value = encodeURIComponent(Buffer.from(JSON.stringify(written)).toString('base64'))
    await page.context().addCookies([{ name: 'calendar-moved', value, url: `${here.site.appUrl}/calendar` }])
    expect((await page.goto('/calendar?view=week&date=2031-09-09&free=0'))!.status()).toBe(200)
    await page.getByRole('heading', { name: 'Calendar' }).waitFor()
    await expect.poll(async () => [written, await page.getByText(/^Moved/).count()]).toEqual([written, isTold ? 1 : 0])
  }
})

test('without scripts: a move and its Undo, said once, and the box of free times', async () => {
  const id = await queued('2031-10-07T07:00:00Z', 'Plain move')
  const storageState = await page.context().storageState()
  const plain = await here.page({ javaScriptEnabled: false, storageState })
  await plain.goto('/calendar?view=list&date=2031-10-07')
  await expect.poll(() => freeTimesOn(plain).count()).toBe(61)
  await plain.getByLabel('Free times').uncheck()
  await plain.getByRole('button', { name: 'Show' }).click()
  await expect.poll(() => freeTimesOn(plain).count()).toBe(0)
  await plain.getByRole('link', { name: 'Move to…: Plain move' }).click()
  await plain.getByLabel('Date').fill('2031-10-09')
  await plain.getByRole('button', { name: 'Move' }).click()
  await plain.getByText('Moved to Thu 9 Oct 2031, 09:00. It left the queue Mornings.').waitFor()
  await plain.getByRole('button', { name: 'Undo' }).click()
  await plain.getByText('Moved back to Tue 7 Oct 2031, 09:00. It is in the queue Mornings again.').waitFor()
  expect(await calendar.queueOf(id)).toBe(queueId)
  await plain.goto(plain.url())
  await plain.getByRole('link', { name: 'Plain move', exact: true }).waitFor()
  expect(await plain.getByText(/^Moved/).count()).toBe(0)
})

test.each(['dark', 'light'] as const)(
  'on a small screen in %s colours, axe finds nothing and nothing is cut off',
  async (colorScheme) => {
    const storageState = await page.context().storageState()
    const phone = await here.page({ storageState, colorScheme, viewport: { width: 390, height: 800 } })
    for (const view of ['month', 'week', 'day', 'list']) {
      await phone.goto(`/calendar?view=${view}&date=2031-05-06`)
      await freeTimesOn(phone).first().or(eventOf(phone, 'Named')).first().waitFor()
      await isAccessible(phone, view)
      const overflow = await phone.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect([view, overflow]).toEqual([view, 0])
    }
  },
)
