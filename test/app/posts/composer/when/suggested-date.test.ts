import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../../../browser.ts'
import { aMember, type Member, savedIn, textOf } from '../../../member.ts'

// The page suggests a time. It becomes the post's when the person touches it, or schedules the post.

let here: BrowserSite
let member: Member
let page: Page
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    member = await aMember(here)
    page = member.page
    await page.goto('/posts/new')
  },
)

const suggestion = (where = page) => where.getByText(/^Suggested: \w+day, /)
const dateOf = async () => (await member.readPost(new URL(page.url()).pathname.split('/').at(-1)!)).date

async function saveDraft(where = page): Promise<void> {
  await where.getByRole('button', { name: 'Save draft' }).click()
  await where.getByText('The draft is saved.').waitFor()
}

test('a draft gets no date that nobody chose, also after a reload and at the next save', async () => {
  await suggestion().waitFor()
  expect((await new AxeBuilder({ page }).setLegacyMode().analyze()).violations).toEqual([])
  await textOf(page).fill('An idea')
  await savedIn(page)
  await page.reload()
  await suggestion().waitFor()
  await saveDraft()
  expect(await dateOf()).toBeNull()

  await suggestion().waitFor()
  await textOf(page).fill('The same idea')
  await savedIn(page)
  await saveDraft()
  await expect.poll(dateOf).toBeNull()
})

test('a draft keeps the date that somebody chose, in words or in the fields', async () => {
  await textOf(page).fill('A plan')
  await page.getByLabel('When', { exact: true }).fill('1 march 2031 9:15')
  expect(await suggestion().count()).toBe(0)
  await saveDraft()
  expect(await dateOf()).toBe('2031-03-01T09:15:00.000Z')
  await page.getByText('Saturday, 1 March 2031, 09:15 UTC').waitFor()

  await page.getByLabel('Time').fill('10:15')
  await saveDraft()
  expect(await dateOf()).toBe('2031-03-01T10:15:00.000Z')
  await page.getByLabel('Date').fill('')
  await page.getByLabel('Time').fill('')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(dateOf).toBeNull()
})

test.each([true, false])(
  'Schedule takes the suggested time, and a draft does not, with scripts: %s',
  async (scripts) => {
    const storageState = await page.context().storageState()
    page = await here.page({ javaScriptEnabled: scripts, storageState })
    await page.goto('/posts/new')
    await textOf(page).fill('As suggested')
    await page.getByLabel('My feed').check()
    await saveDraft()
    expect(await dateOf()).toBeNull()

    const shown = [await page.getByLabel('Date').inputValue(), await page.getByLabel('Time').inputValue()]
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('The post is scheduled.').waitFor()
    expect(await dateOf()).toBe(`${shown[0]}T${shown[1]}:00.000Z`)
    await expect.poll(() => suggestion().count()).toBe(0)
  },
)

test('a draft that gets the time of a queue shows that time', async () => {
  const times = [{ weekday: 1, time: '09:05' }]
  await member.callApi('POST', '/queues', { name: 'Mondays', timeZone: 'UTC', times, channelIds: member.channelIds })
  await page.goto('/posts/new')
  await textOf(page).fill('For the queue')
  await saveDraft()
  await page.getByRole('button', { name: 'Add to queue' }).click()
  await page.getByText('The post is in the queue.').waitFor()
  await expect.poll(() => page.getByLabel('Time').inputValue()).toBe('09:05')
  expect(await suggestion().count()).toBe(0)
})

test('a page that stays open suggests a later time once the first has passed, and leaves a chosen time', async () => {
  page = await here.page({ storageState: await page.context().storageState() })
  await page.clock.install()
  await page.goto('/posts/new')
  await suggestion().waitFor()
  const shown = async () =>
    `${await page.getByLabel('Date').inputValue()}T${await page.getByLabel('Time').inputValue()}Z`
  const first = Date.parse(await shown())
  await page.clock.fastForward('03:00:00')
  const hoursLater = async () => (Date.parse(await shown()) - first) / 3_600_000
  await expect.poll(async () => [3, 4].includes(await hoursLater())).toBe(true) // at ten to the hour, one more
  await suggestion().waitFor()
  await page.getByLabel('Time').fill('00:01') // none of the suggestions, which are whole hours
  const chosen = await shown()
  await page.clock.fastForward('30:00:00')
  await page.getByText('This time is in the past.').waitFor()
  expect(await shown()).toBe(chosen)
})

test('a refusal keeps the suggestion without scripts', async () => {
  const storageState = await page.context().storageState()
  const plain = await here.page({ javaScriptEnabled: false, storageState })
  await plain.goto('/posts/new')
  const time = await plain.getByLabel('Time').inputValue()
  await plain.getByRole('button', { name: 'Schedule' }).click() // without a text
  await plain.locator('[aria-invalid]').first().waitFor()
  await suggestion(plain).waitFor()
  expect(await plain.getByLabel('Time').inputValue()).toBe(time)
})
