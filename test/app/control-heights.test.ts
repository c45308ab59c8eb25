import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { inBrowser } from './browser.ts'
import { aMember, textOf } from './member.ts'

let page: Page
let queue: { id: string }
inBrowser(async (here) => {
  const { channelIds, callApi, ...member } = await aMember(here, { feeds: ['My feed', 'Another feed'] })
  page = member.page
  const settings = { timeZone: 'UTC', times: [{ weekday: 1, time: '09:00' }], channelIds }
  for (const name of ['Mondays', 'Other Mondays']) queue = await callApi('POST', '/queues', { name, ...settings })
})

/** The controls of the page whose heights differ from 40 pixels: fields of one line, and the buttons beside them. */
function oddControls(): Promise<string[]> {
  return page.evaluate(() => {
    const boxOf = (node: Element) => node.getBoundingClientRect()
    const isSeen = (node: Element) => boxOf(node).width > 2 && node.checkVisibility()
    const all = (selector: string) => [...document.querySelectorAll(`main ${selector}`)].filter(isSeen)
    const fields = [...all('input:not([type=checkbox], [type=radio], [type=file])'), ...all('select')]
    const isBeside = (button: Element) =>
      fields.some((field) => {
        const [one, other] = [boxOf(button), boxOf(field)]
        return button.closest('form') === field.closest('form') && one.top < other.bottom && other.top < one.bottom
      })
    const buttons = [...all('form button'), ...all('form a'), ...all('label:has([type=file])')].filter(isBeside)
    return [...fields, ...buttons].flatMap((node) => {
      const height = Math.round(boxOf(node).height * 10) / 10
      return height === 40 ? [] : [`${node.tagName} ${node.id || node.textContent}: ${height}`]
    })
  })
}

test.each([390, 1280])('fields and the buttons beside them are of one height, %i pixels wide', async (width) => {
  await page.setViewportSize({ width, height: 900 })
  for (const path of [
    '/posts/new',
    '/posts/find',
    '/calendar',
    '/queues/new',
    `/queues/${queue.id}`,
    '/settings/account',
    '/',
  ]) {
    await page.goto(path)
    if (path === '/posts/new') {
      await textOf(page).fill('With all of its fields')
      await page.getByRole('button', { name: 'Choose all' }).click()
      await page.getByRole('button', { name: 'Add from a link' }).click()
    }
    expect([path, await oddControls()]).toEqual([path, []])
  }
})
