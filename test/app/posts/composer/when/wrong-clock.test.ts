import { DateTime } from 'luxon'
import { expect, test } from 'vitest'
import { nextHour } from '../../../../../app/ui/time/time-zone.ts'
import { type BrowserSite, inBrowser } from '../../../browser.ts'
import { aMember, textOf } from '../../../member.ts'

const HoursOff = 30

let here: BrowserSite
inBrowser((site) => {
  here = site
})

test.each([HoursOff, -HoursOff])(
  'a browser whose clock is %i hours off suggests, reads and sends the right times',
  async (hours) => {
    const member = await aMember(here)
    const { page } = member
    await page.clock.install({ time: Date.now() + hours * 3_600_000 })
    await page.goto('/posts/new')
    const fields = async () => ({
      date: await page.getByLabel('Date').inputValue(),
      time: await page.getByLabel('Time').inputValue(),
    })
    await page.getByText(/^Suggested/).waitFor()
    await page.clock.runFor(60_000) // the page has looked whether the time is over
    expect([nextHour('UTC'), hourBefore(nextHour('UTC'))]).toContainEqual(await fields())
    const tomorrow = () => DateTime.utc().plus({ days: 1 }).toISODate()
    const day = tomorrow()
    await page.getByLabel('When', { exact: true }).fill('tomorrow 9')
    await expect
      .poll(fields)
      .toEqual({ date: expect.toSatisfy((date) => [day, tomorrow()].includes(date)), time: '09:00' })
    expect(await page.getByText('in the past').count()).toBe(0)
    await textOf(page).fill('By the right clock')
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('The post is scheduled.').waitFor()
    const post = await member.readPost(new URL(page.url()).pathname.split('/').at(-1)!)
    expect([`${day}T09:00:00.000Z`, `${tomorrow()}T09:00:00.000Z`]).toContain(post.date)
  },
)

// The hour may have changed since the page was written.
function hourBefore({ date, time }: { date: string; time: string }) {
  const before = DateTime.fromISO(`${date}T${time}`, { zone: 'utc' }).minus({ hours: 1 })
  return { date: before.toISODate(), time: before.toFormat('HH:mm') }
}

test('with a clock that is three days fast, the calendar shows the right day and opens the composer for a later one', async () => {
  const { page } = await aMember(here)
  await page.clock.install({ time: Date.now() + 3 * 24 * 3_600_000 })
  const day = DateTime.utc().plus({ days: 2 }).toISODate()
  await page.goto('/calendar?view=week')
  const today = () => page.locator('[role=columnheader][aria-current=date]').getAttribute('data-date')
  const before = DateTime.utc().toISODate()
  expect([before, DateTime.utc().toISODate()]).toContain(await today())
  await page.goto(`/calendar?view=month&date=${day}`)
  await page.locator(`[role=cell][data-date="${day}"], [role=gridcell][data-date="${day}"]`).click()
  await page.waitForURL(`**/posts/new?at=${day}T09:00`)
})
