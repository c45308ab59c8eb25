import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember, type Member } from '../member.ts'

let here: BrowserSite
let page: Page
let member: Member
inBrowser(async (site) => {
  here = site
  member = await aMember(here, { feeds: ['My feed', 'Another feed'] })
  page = member.page
})

/** A post without a shared text. The first channel has no text of its own either. */
function withoutSharedText(text: string, type: 'draft' | 'queue') {
  const [first, second] = member.channelIds as [string, string]
  const channelIds = type === 'queue' ? [second] : [first, second]
  return member.makePost({ type, channelIds, content: '', overrides: [{ channelId: second, content: text }] })
}

test('the list shows the first text of a channel where a post has no text for all', async () => {
  const id = await withoutSharedText('Only for the second', 'draft')
  await page.goto('/?status=DRAFT')
  const link = page.locator(`a[href="/posts/${id}"]`)
  await expect.poll(() => link.allTextContents()).toEqual(['Only for the second'])
})

test('a queue shows the text of a channel where a waiting post has no text for all, also on its arrows', async () => {
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Create a queue for this channel', description: 'Another feed' }).click()
  await page.getByRole('heading', { name: 'Another feed', level: 1 }).waitFor()
  await withoutSharedText('Waits first', 'queue')
  await withoutSharedText('Waits second', 'queue')
  await page.reload()
  const links = page.getByRole('region', { name: 'Waiting posts' }).getByRole('listitem').getByRole('link')
  await expect.poll(() => links.allTextContents()).toEqual(['Waits first', 'Waits second'])
  await page.getByRole('button', { name: 'Move up: Waits second' }).waitFor()
})
