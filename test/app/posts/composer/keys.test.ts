import type { Locator, Page } from '@playwright/test'
import { expect, onTestFinished, test } from 'vitest'
import { aPhoto } from '../../../builders.ts'
import { type BrowserSite, inBrowser } from '../../browser.ts'
import { aMember } from '../../member.ts'

let here: BrowserSite
let page: Page
let cookies: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>['cookies']
const open = async (options: Parameters<BrowserSite['page']>[0] = {}) => {
  const made = await here.page({ storageState: { cookies, origins: [] }, ...options }) // no text of the test before
  onTestFinished(() => made.context().close())
  await made.goto('/posts/new')
  return made
}
inBrowser(
  async (site) => {
    here = site
    const member = await aMember(here, { feeds: ['My feed', 'Another feed'], timeZone: 'Europe/Berlin' })
    cookies = (await member.page.context().storageState()).cookies
  },
  async () => {
    page = await open()
  },
)

/** Press Tab, or Shift+Tab, until the element has the focus. */
async function tabTo(wanted: Locator, key = 'Tab') {
  for (let pressed = 0; pressed < 60; pressed++) {
    if (await wanted.evaluate((node) => node === document.activeElement)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${key} never reaches ${wanted}`)
}

test('a whole post is composed and scheduled with the keyboard alone', async () => {
  await tabTo(page.getByRole('checkbox', { name: 'My feed' }))
  await page.keyboard.press('Space')
  await tabTo(page.getByLabel('Text', { exact: true }))
  await page.keyboard.type('By keyboard')
  await tabTo(page.getByLabel('Add media'))
  const files = await Promise.all([40, 50].map((width) => aPhoto({ width, height: 30 })))
  const picking = page.waitForEvent('filechooser')
  let isOpen = false
  void picking.then(() => (isOpen = true))
  await expect
    .poll(
      async () => {
        if (!isOpen) await page.keyboard.press('Enter') // a busy browser may miss one
        return isOpen
      },
      { interval: 2000 },
    )
    .toBe(true)
  await (await picking).setFiles(files.map((buffer, at) => ({ name: `${at}.png`, mimeType: 'image/png', buffer })))
  const second = page.getByRole('group', { name: 'Image 2' })
  await second.waitFor()
  await tabTo(second.getByLabel('Alt text'), 'Shift+Tab')
  await page.keyboard.type('The second')
  await tabTo(page.getByRole('button', { name: 'Move up: Image 2' }), 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Moved to place 1 of 2.').waitFor()
  await tabTo(page.getByLabel('When', { exact: true }))
  await page.keyboard.type('tomorrow 9')
  await page.keyboard.press('Control+Enter')

  await page.getByText('The post is scheduled.').waitFor()
  await expect.poll(() => page.getByLabel('Alt text').first().inputValue()).toBe('The second')
  await expect.poll(() => page.getByLabel('Time').inputValue()).toBe('09:00')
})

test.each([true, false])('Enter in a field of one line sends nothing, with scripts: %s', async (javaScriptEnabled) => {
  const inside = await open({ javaScriptEnabled })
  const sent: string[] = []
  inside.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
  await inside.getByLabel('Text', { exact: true }).fill('Not yet')
  await inside.getByLabel('My feed').check()
  if (javaScriptEnabled) {
    const buffer = await aPhoto()
    await inside.getByLabel('Add media').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    await inside.getByLabel('Alt text').press('Enter')
    await inside.getByRole('button', { name: 'Add from a link' }).click()
    await inside.getByLabel('Link to an image or video').press('Enter')
    await inside.getByText('Enter a link that starts with https://.').waitFor()
    await inside.getByLabel('When', { exact: true }).press('Enter')
  }
  await inside.getByLabel('Date').press('Enter')
  await inside.getByLabel('Time').press('Enter')
  await inside.getByRole('checkbox', { name: 'My feed' }).press('Enter')

  await inside.getByRole('button', { name: 'Save draft' }).click()
  await inside.getByText('The draft is saved.').waitFor()
  const ofForm = sent.filter((path) => path.startsWith('/posts') && path !== '/posts/working-copy')
  expect(ofForm).toEqual(['/posts/new'])
})

test('Ctrl+Enter and ⌘+Enter anywhere in the form press the primary button, which names these keys', async () => {
  for (const [keys, field] of [
    ['Control+Enter', 'Text'],
    ['Meta+Enter', 'Time'],
  ] as const) {
    const inside = await open()
    const button = inside.getByRole('button', { name: 'Schedule' })
    expect(await button.getAttribute('aria-keyshortcuts')).toBe('Control+Enter Meta+Enter')
    expect(await button.getAttribute('title')).toBe('Ctrl+Enter, on a Mac ⌘+Enter')
    await inside.getByLabel('My feed').check()
    await inside.getByLabel('Text', { exact: true }).fill(`With ${keys}`)
    await inside.getByLabel(field, { exact: true }).press(keys)
    await inside.getByText('The post is scheduled.').waitFor()
  }
})

test('on a phone the buttons stay in view in one row, and never cover what has the focus', async () => {
  page = await open({ viewport: { width: 390, height: 700 }, hasTouch: true })
  const names = ['Schedule', 'Publish now', 'Save draft']
  const boxOf = async (name: string) => (await page.getByRole('button', { name, exact: true }).boundingBox())!
  const boxes = await Promise.all(names.map(boxOf))
  expect(new Set(boxes.map(({ y }) => Math.round(y))).size).toBe(1)
  expect(boxes.map(({ x }) => x)).toEqual(boxes.map(({ x }) => x).toSorted((one, other) => one - other))
  const navigation = (await page.getByRole('navigation').boundingBox())!
  for (const { x, y, width, height } of boxes) {
    expect(x + width).toBeLessThanOrEqual(390)
    expect(y + height).toBeLessThanOrEqual(navigation.y)
  }

  const bar = page.locator('[data-action-bar]')
  await page.getByRole('checkbox', { name: 'My feed' }).focus()
  for (let pressed = 0; pressed < 30; pressed++) {
    const focused = await page.evaluate(() => {
      const { id, tagName } = document.activeElement!
      const { top, bottom } = document.activeElement!.getBoundingClientRect()
      const isInBar = document.activeElement!.closest('[data-action-bar]') !== null
      return { what: id || tagName, top, bottom, isInBar }
    })
    if (focused.isInBar) return
    const { y } = (await bar.boundingBox())!
    expect([focused.what, focused.bottom <= y + 1]).toEqual([focused.what, true])
    await page.keyboard.press('Tab')
  }
  throw new Error('Tab never reaches the buttons')
})
