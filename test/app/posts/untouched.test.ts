import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember, type Member, textOf } from '../member.ts'

let here: BrowserSite
inBrowser((site) => {
  here = site
})

// Fields of a browser end every line with one character. Callers of the API send others too.
const content = '\r\nOne\r\ntwo\rthree'
const alt = 'A hill.\r\nOn it a house.'

test('a text of a caller is not changed by opening it, whatever its line breaks are', async () => {
  const member = await aMember(here)
  const { page } = member
  const id = await aDraft(member)

  for (const path of [`/posts/${id}`, `/posts/new?from=${id}`]) {
    await page.goto(path)
    await leave(page)
    await page.goto(path)
    await expectShown(page)
    expect(await member.copies()).toEqual([])
  }
})

test('saving something else keeps the line breaks of a caller', async () => {
  const member = await aMember(here)
  const { page } = member
  const id = await aDraft(member)

  await page.goto(`/posts/${id}`)
  await page.getByLabel('Tags').fill('summer')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()

  const post = await member.readPost(id)
  expect(post).toMatchObject({ content, tags: ['summer'], overrides: [{ content }] })
  const [file] = (await member.callApi<{ data: { alt: string }[] }>('GET', '/media')).data
  expect(file!.alt).toBe(alt)
})

test('what is typed into an alt text before the page is interactive is there afterwards', async () => {
  const member = await aMember(here)
  const { page } = member
  const id = await aDraft(member)
  const scripts = Promise.withResolvers<void>()
  await page.route('**/*.js', (route) => scripts.promise.then(() => route.continue()))

  await page.goto(`/posts/${id}`, { waitUntil: 'commit' })
  await page.getByLabel('Alt text').fill('A lake')
  scripts.resolve()

  await page.getByText(/^Your text is saved/).waitFor()
  expect(await page.getByLabel('Alt text').inputValue()).toBe('A lake')
})

/** A draft of a caller, with a picture, and the same text once more as the channel's own. */
async function aDraft({ channelIds, makePost, uploadPhoto }: Member): Promise<string> {
  const mediaIds = [await uploadPhoto(alt)]
  return makePost({ channelIds, type: 'draft', content, mediaIds, overrides: [{ channelId: channelIds[0], content }] })
}

async function leave(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Posts', exact: true }).click()
  await page.getByRole('heading', { name: 'Posts' }).waitFor()
}

async function expectShown(page: Page): Promise<void> {
  const text = '\nOne\ntwo\nthree'
  expect(await textOf(page).inputValue()).toBe(text)
  expect(await page.locator('textarea[name^="own."]').inputValue()).toBe(text)
  expect(await page.getByLabel('Alt text').inputValue()).toBe('A hill.\nOn it a house.')
}
