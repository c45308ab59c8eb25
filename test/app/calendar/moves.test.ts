import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accounts, sessions } from '../../../db/schema/accounts.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { createOrganisation } from '../../../server/accounts/account.ts'
import { type BrowserSite, browserSite, withChromium } from '../browser.ts'
import { aCalendar, cellOf, drag, slotOf } from './stage.ts'

const hasChromium = withChromium()
let here: BrowserSite
let calendar: Awaited<ReturnType<typeof aCalendar>>
beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  calendar = await aCalendar(here)
})
afterAll(() => here?.end())

const alert = () => calendar.page.getByRole('alert')
const open = async (address: string, text: string) => {
  await calendar.page.goto(`/calendar?${address}`)
  await calendar.event(text).waitFor()
}

test('dragging a post to another day of the month moves it to the same time there, on the person’s clock', async () => {
  const id = await calendar.post({ at: '2031-03-28T08:30:00Z', text: 'Over the change' })
  await open('view=month&date=2031-03-01', 'Over the change')
  await drag(calendar.page, 'Over the change', await cellOf(calendar.page, '2031-03-31'))
  await calendar.page.getByText('Moved to Mon 31 Mar 2031, 09:30.').waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-03-31T07:30:00.000Z') // summer time by then
})

test('dragging a post in the week moves it to the time where it is dropped', async () => {
  const id = await calendar.post({ at: '2031-05-06T07:00:00Z', text: 'In the week' })
  await open('view=week&date=2031-05-06', 'In the week')
  await drag(calendar.page, 'In the week', await slotOf(calendar.page, '2031-05-08', '14:30'))
  await calendar.page.getByText('Moved to Thu 8 May 2031, 14:30.').waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-05-08T12:30:00.000Z')
})

test('a post that is dropped on a time that the clocks skip goes to the first time after it, and the page says so', async () => {
  const id = await calendar.post({ at: '2031-03-29T01:30:00Z', text: 'Into the gap' }) // 02:30
  await open('view=week&date=2031-03-29', 'Into the gap')
  await drag(calendar.page, 'Into the gap', await slotOf(calendar.page, '2031-03-30', '02:30'))
  await calendar.page
    .getByText('The clocks change that night and skip this time. Moved to Sun 30 Mar 2031, 03:00.')
    .waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-03-30T01:00:00.000Z')
})

test('a post that is being sent is not moved: it goes back to its place, and the page says why', async () => {
  const id = await calendar.post({ at: '2031-06-03T08:00:00Z', text: 'Sending now' })
  await open('view=week&date=2031-06-03', 'Sending now')
  const lease = { leaseToken: uuidv7(), leaseOwner: 'a worker', leaseUntil: new Date('2031-06-03') }
  await here.db
    .update(deliveries)
    .set({ state: 'sending', ...lease })
    .where(eq(deliveries.postId, id))
  const before = (await calendar.event('Sending now').boundingBox())!
  await drag(calendar.page, 'Sending now', await slotOf(calendar.page, '2031-06-05', '12:00'))
  await alert().getByText('This post is being sent, or may already be published.').waitFor()
  await expect.poll(() => calendar.event('Sending now').boundingBox()).toMatchObject({ x: before.x })
  expect(await calendar.dateOf(id)).toBe('2031-06-03T08:00:00.000Z')
})

test('a post that someone has changed meanwhile is not moved', async () => {
  const id = await calendar.post({ at: '2031-07-01T08:00:00Z', text: 'Changed elsewhere' })
  await open('view=week&date=2031-07-01', 'Changed elsewhere')
  await here.db.update(posts).set({ version: 2, content: 'Changed elsewhere, by a colleague' }).where(eq(posts.id, id))
  await drag(calendar.page, 'Changed elsewhere', await slotOf(calendar.page, '2031-07-03', '12:00'))
  await alert().waitFor()
  expect(await alert().textContent()).toMatch(/changed/)
  expect(await calendar.dateOf(id)).toBe('2031-07-01T08:00:00.000Z')
})

test('a post that is dropped in the past is refused with the sentence of the API, and goes back', async () => {
  const id = await calendar.post({ at: '2020-05-12T08:00:00Z', text: 'Back in time', state: 'held' })
  await open('view=month&date=2020-05-12', 'Back in time')
  const before = (await calendar.event('Back in time').boundingBox())!
  await drag(calendar.page, 'Back in time', await cellOf(calendar.page, '2020-05-21'))
  await alert().getByText('This time is in the past. Choose a later time.').waitFor()
  await expect.poll(() => calendar.event('Back in time').boundingBox()).toMatchObject({ x: before.x })
  expect(await calendar.dateOf(id)).toBe('2020-05-12T08:00:00.000Z')
})

test('a second drag while the first is saved changes nothing, and one request is sent', async () => {
  const id = await calendar.post({ at: '2031-08-05T08:00:00Z', text: 'Only once' })
  await open('view=week&date=2031-08-05', 'Only once')
  const { page } = calendar
  let requests = 0
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/calendar?*', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    requests++
    await released
    await route.continue()
  })
  await drag(page, 'Only once', await slotOf(page, '2031-08-06', '12:00'))
  await drag(page, 'Only once', await slotOf(page, '2031-08-08', '16:00'))
  release()
  await page.getByText('Moved to Wed 6 Aug 2031, 12:00.').waitFor()
  await page.unroute('**/calendar?*')
  expect([requests, await calendar.dateOf(id)]).toEqual([1, '2031-08-06T10:00:00.000Z'])
})

test('with keys alone, a post opens, moves to a date and a time, and what is refused stays in the form', async () => {
  const id = await calendar.post({ at: '2031-09-02T08:00:00Z', text: 'By keys' })
  await open('view=month&date=2031-09-02', 'By keys')
  const { page } = calendar
  await calendar.event('By keys').focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Scheduled').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await expect.poll(() => calendar.event('By keys').evaluate((one) => one === document.activeElement)).toBe(true)

  await page.keyboard.press('Enter')
  await dialog.getByLabel('Date').fill('2020-01-01')
  await dialog.getByLabel('Time').fill('18:45')
  await page.keyboard.press('Enter')
  await dialog.getByRole('alert').getByText('This time is in the past. Choose a later time.').waitFor()
  await expect.poll(() => dialog.getByLabel('Time').inputValue()).toBe('18:45')
  await dialog.getByLabel('Date').fill('2031-09-04')
  await dialog.getByRole('button', { name: 'Move' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Moved to Thu 4 Sep 2031, 18:45.').waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-09-04T16:45:00.000Z')
  await calendar.event('By keys').waitFor()
})

test('a post moves to the time that the page shows, also if the person has another time zone by now', async () => {
  const { page } = calendar
  const id = await calendar.post({ at: '2031-09-16T08:00:00Z', text: 'Zones' })
  const zone = (timeZone: string) =>
    here.db.update(accounts).set({ timeZone }).where(eq(accounts.email, calendar.email))
  await open('view=week&date=2031-09-16', 'Zones')
  await zone('America/New_York')
  await drag(page, 'Zones', await slotOf(page, '2031-09-18', '12:00'))
  await page.getByText(/^Moved to /).waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-09-18T10:00:00.000Z')

  await zone('Europe/Berlin')
  await open('view=week&date=2031-09-16', 'Zones')
  await calendar.event('Zones').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Time').fill('15:00')
  await zone('America/New_York')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await calendar.dateOf(id)).toBe('2031-09-18T13:00:00.000Z')
  await zone('Europe/Berlin')
})

test('a move to the date and time that a post has changes nothing, also in an hour that comes twice', async () => {
  const at = '2031-10-26T01:30:15.500Z' // the second 02:30
  const id = await calendar.post({ at, text: 'Twice' })
  await open('view=month&date=2031-10-01', 'Twice')
  await calendar.event('Twice').click()
  const dialog = calendar.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Move' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await calendar.page.getByText('Nothing was changed. The time of this post is Sun 26 Oct 2031, 02:30.').waitFor()
  expect(await calendar.page.getByRole('button', { name: 'Undo' }).count()).toBe(0)
  expect(await calendar.dateOf(id)).toBe(at)
})

test('a click on an empty time opens the composer with that date and time', async () => {
  const { page } = calendar
  await calendar.post({ at: '2031-10-07T08:00:00Z', text: 'Beside it' })
  await open('view=week&date=2031-10-07', 'Beside it')
  const { x, y } = await slotOf(page, '2031-10-09', '09:30')
  await page.mouse.click(x, y)
  await page.waitForURL('**/posts/new?at=2031-10-09T09:30')
  await expect.poll(() => page.getByLabel('Date').inputValue()).toBe('2031-10-09')
  await expect.poll(() => page.getByLabel('Time').inputValue()).toBe('09:30')

  await open('view=month&date=2031-10-07', 'Beside it')
  const cell = await cellOf(page, '2031-10-15')
  await page.mouse.click(cell.x, cell.y)
  await page.waitForURL('**/posts/new?at=2031-10-15T09:00')
  await page.goto('/posts/new?at=2031-99-99T09:00')
  await expect.poll(() => page.getByLabel('Date').inputValue()).toMatch(/^20\d\d-/)
})

test('a move from a page of another organisation changes nothing', async () => {
  const id = await calendar.post({ at: '2031-11-04T08:00:00Z', text: 'Of the first' })
  await open('view=week&date=2031-11-04', 'Of the first')
  const [person] = await here.db.select().from(accounts).where(eq(accounts.email, calendar.email))
  const other = await createOrganisation(here.db, 'Another', person!.id)
  await here.db.update(sessions).set({ organisationId: other }).where(eq(sessions.accountId, person!.id))
  await drag(calendar.page, 'Of the first', await slotOf(calendar.page, '2031-11-06', '12:00'))
  await calendar.page.getByText('You switched to another organisation in another tab.').waitFor()
  expect(await calendar.dateOf(id)).toBe('2031-11-04T08:00:00.000Z')
})
