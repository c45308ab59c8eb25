import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../../browser.ts'
import { aMember, type Member, savedIn, textOf } from '../../member.ts'
import { withSettings } from './unknown-parts.ts'

let here: BrowserSite
let member: Member
let page: Page
let first: string
let second: string
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    member = await aMember(here, { feeds: ['First feed', 'Second feed'] })
    page = member.page
    ;[first, second] = member.channelIds as [string, string]
  },
)

const ownTextOf = (where: Page) => where.getByLabel('Text for Second feed')
const aPost = (parts: object) => member.makePost({ channelIds: [first, second], ...parts })

test('a text that the API made for one channel is shown, can be changed, and is kept by saving', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  await page.goto(`/posts/${id}`)
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('Only for the second')

  await textOf(page).fill('Another text for all')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  expect((await member.readPost(id)).overrides).toEqual([{ channelId: second, content: 'Only for the second' }])

  await ownTextOf(page).fill('Changed for the second')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await expect
    .poll(async () => (await member.readPost(id)).overrides)
    .toEqual([{ channelId: second, content: 'Changed for the second' }])
  expect((await member.readPost(id)).content).toBe('Another text for all')
})

test('parts of an override that the page does not know are sent back as they came, also to the working copy', async () => {
  await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  const settings = { title: 'Known to a later version', board: { name: 'b', id: 1 } }
  await withSettings(page, settings)
  await page.goto('/')
  await page.getByRole('link', { name: 'For all' }).click()
  await ownTextOf(page).fill('Changed for the second')
  await savedIn(page)
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes('_data='))
  await page.getByRole('button', { name: 'Save changes' }).click()

  const form = new URLSearchParams((await sent).postData() ?? '')
  expect(form.getAll('overrides').map((own) => JSON.parse(own))).toEqual([
    { channelId: second, content: 'Changed for the second', settings },
  ])
  expect(await member.copiedOverrides()).toEqual([{ channelId: second, content: 'Changed for the second', settings }])
})

test('a channel gets a text of its own, and goes back to the shared one', async () => {
  await page.goto('/posts/new')
  await textOf(page).fill('For all')
  for (const name of ['First feed', 'Second feed']) await page.getByRole('checkbox', { name }).check()
  await page.getByRole('button', { name: 'Write a text for this channel' }).last().click()
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('For all')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
  await ownTextOf(page).fill('For the second')
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('The post is scheduled.').waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  expect((await member.readPost(id)).overrides).toEqual([{ channelId: second, content: 'For the second' }])

  await page.getByRole('button', { name: 'Use the shared text' }).click()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  expect((await member.readPost(id)).overrides).toEqual([])
})

test('a problem with the text of one channel is beside that text, and has the focus', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Fits' }] })
  await page.goto(`/posts/${id}`)
  await ownTextOf(page).fill('x'.repeat(5003))
  await page.getByRole('button', { name: 'Save changes' }).click()

  await page.getByText('3 characters too long for Second feed. The limit is').waitFor()
  await expect
    .poll(() => page.evaluate(() => (document.activeElement as HTMLTextAreaElement).name))
    .toBe(`own.${second}`)
  expect(await textOf(page).getAttribute('aria-invalid')).toBe(null)
})

test('without scripts, a text for one channel can be changed too, and is not lost to an error', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  const storageState = await page.context().storageState()
  const plain = await here.page({ javaScriptEnabled: false, storageState })
  await plain.goto(`/posts/${id}`)
  await ownTextOf(plain).fill('Line one\nline two')
  await plain.getByLabel('Date').fill('2020-01-01')
  await plain.getByRole('button', { name: 'Save changes' }).click()
  await plain.getByText('This time is in the past. Choose a later time.').waitFor()
  await expect.poll(() => ownTextOf(plain).inputValue()).toBe('Line one\nline two')
  await plain.getByLabel('Date').fill('2031-01-01')
  await plain.getByRole('button', { name: 'Save changes' }).click()
  await plain.getByText('Your changes are saved.').waitFor()

  expect((await member.readPost(id)).overrides).toEqual([{ channelId: second, content: 'Line one\nline two' }])
})

test('a post that went out shows what each channel had of its own', async () => {
  const file = await member.uploadPhoto('Its own one')
  const overrides = [{ channelId: second, content: 'Only for the second', mediaIds: [file] }]
  const id = await aPost({ type: 'now', overrides })
  await expect.poll(async () => (await member.readPost(id)).status).toBe('PUBLISHED')
  await page.goto(`/posts/${id}`)

  await page.getByText('Text for Second feed').waitFor()
  await page.getByText('Only for the second').waitFor()
  await page.getByRole('img', { name: 'Its own one' }).waitFor()
})
