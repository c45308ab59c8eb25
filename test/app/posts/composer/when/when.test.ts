import type { Page } from '@playwright/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../../../browser.ts'
import { aMember, textOf } from '../../../member.ts'

let here: BrowserSite
let page: Page
inBrowser(async (site) => {
  here = site
  page = (await aMember(here, { timeZone: 'Europe/Berlin' })).page
})

const when = () => page.getByLabel('When', { exact: true })
const fields = async () => [await page.getByLabel('Date').inputValue(), await page.getByLabel('Time').inputValue()]

// The server keeps its own time, which the page goes by: no test here sends the form, and the document tells this time.
describe('on Tuesday, 24 November 2026, 21:45', () => {
  let live: Page
  beforeAll(async () => {
    live = page
    page = await here.page({ storageState: await live.context().storageState() })
    await page.clock.setFixedTime('2026-11-24T20:45:00Z')
    await page.route('**/posts/new', async (route) => {
      const response = await route.fetch()
      const written = (await response.text()).replace(/(<meta name="now" content=")[^"]+/, '$12026-11-24T20:45:00Z')
      await route.fulfill({ response, body: written })
    })
    await page.goto('/posts/new')
  })
  afterAll(() => {
    page = live
  })

  test('words fill Date and Time, and the page says in full what they mean', async () => {
    await when().click() // makes the page interactive, if it is not yet
    await when().fill('fri 17:30')
    await page.getByText('Friday, 27 November 2026, 17:30 Europe/Berlin, UTC+01:00').waitFor()
    expect(await fields()).toEqual(['2026-11-27', '17:30'])

    await page.getByLabel('Time').fill('18:00') // the words would say another time
    await expect.poll(() => when().inputValue()).toBe('')
    await page.getByText('Friday, 27 November 2026, 18:00 Europe/Berlin').waitFor()
  })

  test('words that are not understood change nothing, and the page says how to write them', async () => {
    const before = await fields()
    await when().fill('some day')
    expect(await when().getAttribute('aria-invalid')).toBeNull() // they may be half written
    await when().blur()
    await page.getByText("We don't understand this time. Write it like “tomorrow 9”").waitFor()
    expect(await when().getAttribute('aria-invalid')).toBe('true')
    await when().fill('24 november 2025')
    await when().blur()
    await page.getByText('This day is in the past. Enter a later one.').waitFor()
    expect(await fields()).toEqual(before)
  })

  test('a time that is past, skipped or shown twice is named before the form is sent', async () => {
    for (const [phrase, sentence] of [
      ['28 march 2027 2:30', 'The clocks change that night and skip this time. The post goes out at 03:00.'],
      [
        '31 october 2027 2:30',
        'The clocks change that night, so this time happens twice. The post goes out the first time, at UTC+02:00.',
      ],
      ['today 9', 'This time is in the past.'],
    ] as const) {
      await when().fill(phrase)
      await page.getByRole('status').getByText(sentence).waitFor()
    }
    await when().fill('tomorrow 9')
    await page.getByText('Wednesday, 25 November 2026, 09:00 Europe/Berlin').waitFor()
    expect(await page.getByText(/clocks change|is in the past/).count()).toBe(0)
  })

  test('no time is shown as an ISO string', async () => {
    expect(await page.locator('main').textContent()).not.toMatch(/\d{4}-\d\d-\d\d|T\d\d:\d\d/)
  })
})

test.each(['a click', 'Control+Enter'])(
  'by %s, nothing is scheduled while the words are not understood',
  async (way) => {
    await page.goto('/posts/new')
    await page.getByLabel('Text', { exact: true }).fill(`For another time, by ${way}`)
    await when().fill('morgen 9')
    if (way === 'a click') await page.getByRole('button', { name: 'Schedule' }).click()
    else await when().press(way)

    await page.getByText("We don't understand this time.").waitFor()
    expect(await when().getAttribute('aria-invalid')).toBe('true')
    expect(new URL(page.url()).pathname).toBe('/posts/new')
    await when().fill('tomorrow 9')
    await page.getByText(/, 09:00 Europe\/Berlin/).waitFor()
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('The post is scheduled.').waitFor()
  },
)

// A field says what is wrong with it when it is left: also by the press on a button, which must not move before the click.
test.each([390, 1280])('a press on a button counts, whatever the field then says, %i pixels wide', async (width) => {
  await page.setViewportSize({ width, height: 1100 })
  await page.goto('/posts/new')
  await textOf(page).fill(`Pressed at ${width}`)
  await when().fill('morgen 9')
  await press('Schedule', async () => {
    expect(await page.getByText("We don't understand this time.").count()).toBe(0)
  })
  await page.getByText("We don't understand this time.").waitFor()
  await expect.poll(() => when().evaluate((field) => field === document.activeElement)).toBe(true)

  await when().fill('morgen 10')
  await press('Save draft')
  await page.getByText('The draft is saved.').waitFor()
  await when().fill('tomorrow 9')
  await press('Schedule')
  await page.getByText('The post is scheduled.').waitFor()
})

test('a tap on a button counts, too', async () => {
  const storageState = await page.context().storageState()
  const phone = await here.page({
    hasTouch: true,
    isMobile: true,
    viewport: { width: 390, height: 1400 },
    storageState,
  })
  await phone.goto('/posts/new')
  await textOf(phone).fill('Tapped')
  await phone.getByLabel('When', { exact: true }).fill('morgen 9')
  await phone.mouse.wheel(0, 2000) // where the buttons are below the fields, not over them
  const { x, y } = (await phone.getByRole('button', { name: 'Save draft' }).boundingBox())!
  await phone.touchscreen.tap(x + 10, y + 4)
  await phone.getByText('The draft is saved.').waitFor()
})

test('after a press beside the field, it says what is wrong', async () => {
  await page.goto('/posts/new')
  await when().click()
  await when().fill('morgen 9')
  await page.getByText('Tags', { exact: true }).click()
  await page.getByText("We don't understand this time.").waitFor()
})

test('a refused date is one sentence, as wide as the form, until it is changed', async () => {
  await page.setViewportSize({ width: 390, height: 900 })
  await page.goto('/posts/new')
  await textOf(page).fill('Too late')
  await page.getByLabel('Date').fill('2020-01-01')
  await page.getByRole('status').getByText('This time is in the past.').waitFor()
  await page.getByRole('button', { name: 'Schedule' }).click()

  const sentence = page.getByRole('listitem').getByText('This time is in the past. Choose a later time.')
  await sentence.waitFor()
  expect(await page.locator('main').getByText('is in the past').count()).toBe(1)
  const form = (await page.getByLabel('Text', { exact: true }).boundingBox())!
  expect((await sentence.boundingBox())!.width).toBeGreaterThan(form.width - 30)
  await page.getByLabel('Date').fill('2031-01-01')
  await expect.poll(() => sentence.count()).toBe(0)
  expect(await page.getByLabel('Date').getAttribute('aria-invalid')).toBeNull()
  await page.setViewportSize({ width: 1280, height: 720 })
})

/** Press and let go of the mouse near the upper edge of a button, where it is at first. */
async function press(name: string, meanwhile = async () => {}): Promise<void> {
  const button = page.getByRole('button', { name, exact: true })
  await button.scrollIntoViewIfNeeded()
  const { x, y } = (await button.boundingBox())!
  await page.mouse.move(x + 10, y + 4)
  await page.mouse.down()
  await meanwhile().finally(() => page.mouse.up())
}
