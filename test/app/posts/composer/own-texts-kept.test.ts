import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../../browser.ts'
import { aBrowserToKill, aMember, type Member, savedIn, textOf } from '../../member.ts'

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

test('a channel that is deselected keeps its text while the page is open and in the copy, and the post does not get it', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  await page.goto(`/posts/${id}`)
  await ownTextOf(page).fill('Changed for the second')
  await page.getByRole('checkbox', { name: 'Second feed' }).uncheck()
  expect(await ownTextOf(page).count()).toBe(0)
  await savedIn(page)
  await page.reload()
  await expect.poll(() => page.getByRole('checkbox', { name: 'Second feed' }).isChecked()).toBe(false)
  await page.getByRole('checkbox', { name: 'Second feed' }).check()
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('Changed for the second')

  await page.getByRole('checkbox', { name: 'Second feed' }).uncheck()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  expect(await member.readPost(id)).toMatchObject({ channelIds: [first], overrides: [] })
})

test('a reload keeps the text of one channel, right after the last key', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Half' }] })
  await page.goto(`/posts/${id}`)
  await ownTextOf(page).press('End')
  await ownTextOf(page).pressSequentially(' a sen')
  await page.reload()

  await expect.poll(() => ownTextOf(page).inputValue()).toBe('Half a sen')
  await expect.poll(member.copiedOverrides).toEqual([{ channelId: second, content: 'Half a sen' }])
})

test('what is typed for one channel before the page is interactive is there afterwards, and is saved', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Slow' }] })
  const scripts = Promise.withResolvers<void>()
  await page.route('**/*.js', (route) => scripts.promise.then(() => route.continue()))
  await page.goto(`/posts/${id}`, { waitUntil: 'commit' })
  await ownTextOf(page).fill('Faster than the page')
  scripts.resolve()

  await savedIn(page)
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('Faster than the page')
  expect(await member.copiedOverrides()).toEqual([{ channelId: second, content: 'Faster than the page' }])
})

test('a killed browser loses nothing that was saved for one channel', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  const killed = await aBrowserToKill(here, member)
  await killed.page.goto(`/posts/${id}`)
  await ownTextOf(killed.page).fill('Before the crash')
  await expect.poll(member.copiedOverrides).toEqual([{ channelId: second, content: 'Before the crash' }])
  killed.kill()

  await page.goto(`/posts/${id}`)
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('Before the crash')
  await killed.end()
})

test('two tabs with another text for one channel: nothing is overwritten, and both are shown', async () => {
  const id = await aPost({ overrides: [{ channelId: second, content: 'Only for the second' }] })
  await page.goto(`/posts/${id}`)
  await ownTextOf(page).fill('From the first tab')
  await savedIn(page)
  const tab = await page.context().newPage()
  await tab.goto(`/posts/${id}`)
  await ownTextOf(tab).fill('From the second tab')
  await savedIn(tab)

  await ownTextOf(page).fill('From the first tab again')
  await page.getByText('There is another text of this post').waitFor()
  await page.getByText('From the second tab').waitFor()
  expect(await member.copiedOverrides()).toEqual([{ channelId: second, content: 'From the second tab' }])
  await page.getByRole('button', { name: 'Use this text' }).click()

  await savedIn(page)
  await expect.poll(() => ownTextOf(page).inputValue()).toBe('From the second tab')
})

test('a text that the browser kept for a page of the previous version is read', async () => {
  await page.goto('/posts/new')
  await textOf(page).fill('Typed')
  await savedIn(page)
  await page.goto('/channels')
  const owner = `${member.accountId}:${member.organisationId}`
  await page.evaluate(keepOldEntry, `punctual:copy:${owner}:01890000-0000-7000-8000-0000000000aa`)

  await page.goto('/posts/new')

  await expect.poll(() => textOf(page).inputValue()).toBe('From an older page')
  await savedIn(page)
})

// In the browser.
function keepOldEntry(name: string): void {
  const typed = { content: 'From an older page', channelIds: [], mediaIds: [], alts: {}, date: '', time: '' }
  const entry = { isNew: true, revision: 0, postVersion: null, typed, media: [], at: Date.now() + 1000 }
  localStorage.setItem(name, JSON.stringify(entry))
}
