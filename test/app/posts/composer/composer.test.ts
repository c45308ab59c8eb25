import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { aPhoto } from '../../../builders.ts'
import { aVideo } from '../../../video.ts'
import { inBrowser } from '../../browser.ts'
import { aMember } from '../../member.ts'

let page: Page
let channelId: string
inBrowser(
  async (here) => {
    const member = await aMember(here, { feeds: ['My feed', 'Another feed'], timeZone: 'Europe/Berlin' })
    page = member.page
    channelId = member.channelIds[0]!
  },
  async () => void (await page.goto('/posts/new')),
)

test('each problem of a post is shown beside its field, and the first one has the focus', async () => {
  await page.getByLabel('My feed').check()
  await page.getByLabel('Text', { exact: true }).fill('x'.repeat(5003))
  await page.getByText('My feed: 5003 of 5000, 3 characters too long').waitFor()
  await page.getByRole('status').getByText('Too long for My feed.').waitFor()
  await page.getByLabel('Date').fill('2020-01-01')

  await page.getByRole('button', { name: 'Schedule' }).click()

  await page.getByText('3 characters too long for My feed').waitFor()
  await page.getByText('This time is in the past. Choose a later time.').waitFor()
  expect(await page.getByLabel('Text', { exact: true }).getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByLabel('Date').getAttribute('aria-invalid')).toBe('true')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
})

test('a post with an image and its alt text goes out, and waits for the image to come up', async () => {
  const buffer = await aPhoto({ width: 40, height: 30 })
  const held = Promise.withResolvers<void>()
  await page.route('**/media', (route) => held.promise.then(() => route.continue()))
  await page.getByLabel('My feed').check()
  await page.getByLabel('Text', { exact: true }).fill('With a picture')
  await page.getByLabel('Add media').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
  await page.getByRole('button', { name: 'Publish now', disabled: true }).click({ force: true })
  await page.getByText('Files are still uploading.').waitFor()
  held.resolve()
  await page.getByLabel('Alt text').fill('Nothing but teal')
  await page.getByRole('button', { name: 'Publish now' }).click()

  await page.getByRole('status').getByText('Published').waitFor()
  await page.goto(`/feeds/${channelId}`)
  const image = page.getByRole('img', { name: 'Nothing but teal' })
  await image.waitFor()
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(40)
})

test('a video is shown with its buttons, and goes out on a channel that takes it', async () => {
  const buffer = await aVideo('webm')
  expect(await page.getByLabel('Add media').getAttribute('accept')).toContain('video/webm')
  await page.getByLabel('My feed').check()
  await page.getByLabel('Text', { exact: true }).fill('With a video')
  await page.getByLabel('Add media').setInputFiles({ name: 'a.webm', mimeType: 'video/webm', buffer })
  const preview = page.getByRole('group', { name: 'Video 1' }).locator('video')
  await preview.waitFor()
  expect(await preview.getAttribute('controls')).not.toBeNull()
  await page.getByLabel('Alt text').fill('A field')
  await page.getByRole('button', { name: 'Publish now' }).click()

  await page.getByRole('status').getByText('Published').waitFor()
  await page.goto(`/feeds/${channelId}`)
  const shown = page.locator('video[aria-label="A field"]')
  await shown.waitFor()
  await page.waitForFunction(() => (document.querySelector('video')?.readyState ?? 0) >= 1) // its length is known
  expect(await shown.evaluate((element: HTMLVideoElement) => [element.duration, element.videoWidth])).toEqual([2, 64])
})

test('a file that is no picture is refused with its name, and nothing of it is kept', async () => {
  const files = [{ name: 'page.png', mimeType: 'image/png', buffer: Buffer.from('<html></html>') }]
  await page.getByLabel('Add media').setInputFiles(files)
  await page.getByText('page.png: The file must be a JPEG').waitFor()
  expect(await page.getByLabel('Alt text').count()).toBe(0)
})

test('a time that the clocks skip becomes the first instant after it, and the page says so beforehand', async () => {
  const day = lastSundayOfMarch(new Date().getUTCFullYear() + 1)
  await page.getByLabel('Another feed').check()
  await page.getByLabel('Text', { exact: true }).fill('In the gap')
  await page.getByLabel('Date').fill(day)
  await page.getByLabel('Time').fill('01:30')
  await page.getByText('Europe/Berlin, UTC+01:00').waitFor()
  await page.getByLabel('Time').fill('02:30')
  await page.getByText('The clocks change that night and skip this time. The post goes out at 03:00.').waitFor()
  await page.getByRole('button', { name: 'Schedule' }).click()

  await page.getByText('The post is scheduled.').waitFor()
  expect(await page.locator('time').first().getAttribute('datetime')).toBe(`${day}T01:00:00.000Z`)
})

test('a draft is saved without channel or date, changed, scheduled, changed again and cancelled', async () => {
  await page.getByLabel('Text', { exact: true }).fill('An idea')
  await page.getByLabel('Date').fill('')
  await page.getByLabel('Time').fill('')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()

  await page.getByLabel('My feed').check()
  await page.getByLabel('Text', { exact: true }).fill('A plan')
  await page.getByLabel('Date').fill('')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('Required.').waitFor()
  await page.getByLabel('Date').fill(inDays(3))
  await page.getByLabel('Time').fill('09:00')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('The post is scheduled.').waitFor()

  const before = await page.locator('time').first().getAttribute('datetime')
  await page.getByLabel('Text', { exact: true }).fill('Another plan')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  await page.reload()
  await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue()).toBe('Another plan')
  expect(await page.locator('time').first().getAttribute('datetime')).toBe(before)

  await page.getByRole('button', { name: 'Unschedule' }).click()
  await page.getByText('Unscheduled.').waitFor()
  await page.getByRole('link', { name: 'Duplicate' }).click()
  await page.waitForURL('**/posts/new?from=*')
  await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue()).toBe('Another plan')
})

test('Delete draft deletes the draft', async () => {
  await page.getByLabel('Text', { exact: true }).fill('Not needed')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const draft = page.url()
  await page.getByRole('button', { name: 'Delete draft' }).click()
  await page.getByText('Draft deleted.').waitFor()
  expect((await page.request.get(draft)).status()).toBe(404)
})

test('two people who change one post at once do not overwrite each other', async () => {
  await page.getByLabel('Text', { exact: true }).fill('First')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const other = await page.context().newPage()
  await other.goto(page.url())
  await other.getByLabel('Text', { exact: true }).fill('Second')
  const saved = other.waitForResponse(
    (answer) => answer.url().includes('_data=') && answer.request().method() === 'POST',
  )
  await other.getByRole('button', { name: 'Save draft' }).click()
  await saved

  await page.getByLabel('Text', { exact: true }).fill('Third')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByRole('alert').getByText('The post has changed since you read it.').waitFor()
  await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue()).toBe('Third')
  await other.close()
})

function lastSundayOfMarch(year: number): string {
  const last = new Date(Date.UTC(year, 2, 31))
  last.setUTCDate(31 - last.getUTCDay())
  return last.toISOString().slice(0, 10)
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
}
