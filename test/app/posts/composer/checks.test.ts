import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { aPhoto } from '../../../builders.ts'
import { type BrowserSite, inBrowser } from '../../browser.ts'
import { aMember, type Member } from '../../member.ts'

let here: BrowserSite
let member: Member
let page: Page
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>
const ids: Record<string, string> = {}
inBrowser(
  async (site) => {
    here = site
    member = await aMember(here, { feeds: ['Wide', 'Narrow'] })
    ;[ids.Wide, ids.Narrow] = member.channelIds as [string, string]
    state = await member.page.context().storageState()
    await limit('Narrow', { textLength: 20, mediaCount: 1, altLength: 5, mediaTypes: ['image/png'] })
  },
  async () => {
    page = await here.page({ storageState: state }) // without what the test before did not save yet
    await page.goto('/posts/new')
    for (const name of ['Wide', 'Narrow']) await page.getByRole('checkbox', { name }).check()
  },
)

const textField = () => page.getByLabel('Text', { exact: true })

test('problems of text and media are beside their cause before the form is sent, in the words of the API', async () => {
  await textField().fill('More than twenty characters')
  const media = [await addFile('a.png', 'Too long an alt text'), await addFile('b.png', '')]

  const verdict = await validated({ content: 'More than twenty characters', mediaIds: media })
  expect(verdict.map(({ code }) => code)).toEqual(['content_too_long', 'media_not_supported', 'media_not_supported'])
  for (const { message } of verdict) await page.getByRole('listitem').getByText(message, { exact: true }).waitFor()
  expect(await textField().getAttribute('aria-invalid')).toBe('true')
  const described = page.locator('#content-problems').getByRole('listitem')
  expect(await described.allInnerTexts()).toEqual([verdict[0]!.message])

  await page.getByRole('button', { name: 'Schedule' }).click()
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('content')
  expect(await page.getByText(verdict[0]!.message).count()).toBe(1)

  await textField().fill('Short')
  await expect.poll(() => page.getByText(verdict[0]!.message).count()).toBe(0)
  expect(await textField().getAttribute('aria-invalid')).toBe(null)
})

test('what was said about channels and tags goes once these change', async () => {
  for (const name of ['Wide', 'Narrow']) await page.getByRole('checkbox', { name }).uncheck()
  await textField().fill('For nobody')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('Choose at least one channel.').waitFor()
  await page.getByRole('checkbox', { name: 'Wide' }).check()
  await expect.poll(() => page.getByText('Choose at least one channel.').count()).toBe(0)

  await page.getByLabel('Tags').fill('x'.repeat(51))
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.locator('[name=tags][aria-invalid]').waitFor()
  await page.getByLabel('Tags').fill('x')
  await expect.poll(() => page.locator('[name=tags][aria-invalid]').count()).toBe(0)
})

test('a counter and the problems follow what a channel really gets', async () => {
  await textField().fill('More than twenty characters')
  await page.getByText('Narrow: 27 of 20, 7 characters too long').waitFor()
  await page.getByRole('button', { name: 'Write a text for this channel' }).last().click()
  await page.getByLabel('Text for Narrow').fill('Short')

  await page.getByText('Narrow: 5 of 20').waitFor()
  expect(await page.locator('#content-counters').getByRole('listitem').allInnerTexts()).toEqual(['Wide: 27 of 5000'])
  expect(await textField().getAttribute('aria-invalid')).toBe(null)
})

test('screen readers announce a new problem once, and not again while it lasts', async () => {
  await page.evaluate(listenToStatus)
  await textField().fill('x'.repeat(20))
  await textField().press('End')
  await textField().pressSequentially('yyyy')
  await page.getByText('Narrow: 24 of 20').waitFor()
  await page.getByRole('status').getByText('Too long for Narrow.').waitFor()
  const heard = await page.evaluate(() => (window as unknown as { heard: string[] }).heard)
  expect(heard).toEqual(['Too long for Narrow.'])
})

// In the browser: each new sentence that a screen reader would say about the checks.
function listenToStatus(): void {
  const heard: string[] = []
  let last = ''
  const listen = () => {
    const now = [...document.querySelectorAll('[role=status].sr-only')].map((node) => node.textContent).join('')
    if (now && now !== last) heard.push(now)
    last = now
  }
  new MutationObserver(listen).observe(document.body, { subtree: true, characterData: true, childList: true })
  Object.assign(window, { heard })
}

async function limit(name: string, limits: object): Promise<void> {
  await here.db.execute(sql`
    update channels set limits = limits || ${JSON.stringify(limits)}::jsonb where id = ${ids[name]}`)
}

async function addFile(name: string, alt: string): Promise<string> {
  const before = await page.getByLabel('Alt text').count()
  const buffer = await aPhoto({ width: 40 + before, height: 30 })
  await page.getByLabel('Add media').setInputFiles({ name, mimeType: 'image/png', buffer })
  const field = page.getByLabel('Alt text').nth(before)
  await field.fill(alt)
  return (await field.getAttribute('name'))!.replace('alt.', '')
}

async function validated(parts: object): Promise<{ code: string; message: string }[]> {
  for (const file of await page.getByLabel('Alt text').all()) {
    const id = (await file.getAttribute('name'))!.replace('alt.', '')
    await member.callApi('PATCH', `/media/${id}`, { alt: await file.inputValue() })
  }
  const date = new Date(Date.now() + 86_400_000).toISOString()
  const post = { type: 'schedule', date, channelIds: [ids.Wide, ids.Narrow], ...parts }
  const answer = await member.callApi<{ errors: { code: string; message: string }[] }>('POST', '/posts/validate', post)
  return answer.errors
}
