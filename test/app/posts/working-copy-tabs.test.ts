import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember, type Member, savedIn, textOf } from '../member.ts'

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

test('two tabs with one text: nothing is overwritten, and both texts are shown', async () => {
  await textOf(page).fill('From the first tab')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto(page.url())
  await expect.poll(() => textOf(second).inputValue()).toBe('From the first tab')
  await textOf(second).fill('From the second tab')
  await savedIn(second)

  await textOf(page).fill('From the first tab again')
  await page.getByText('There is another text of this post').waitFor()
  await page.getByText('From the second tab').waitFor()
  expect(await member.copies()).toEqual(['From the second tab'])
  await page.getByRole('button', { name: 'Use this text' }).click()

  await savedIn(page)
  await expect.poll(() => textOf(page).inputValue()).toBe('From the second tab')
})

test('after a reload both texts are still there, also if the other tab has gone on', async () => {
  await textOf(page).fill('From the first tab')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto(page.url())
  await expect.poll(() => textOf(second).inputValue()).toBe('From the first tab')
  await textOf(second).fill('From the second tab')
  await savedIn(second)
  await textOf(page).fill('Nowhere else')
  await page.getByText('There is another text of this post').waitFor()
  await textOf(second).fill('From the second tab, and more')
  await expect.poll(member.copies).toEqual(['From the second tab, and more'])

  await page.reload()
  await expect.poll(() => textOf(page).inputValue()).toBe('From the second tab, and more')
  await page.getByText('There is another text of this post').waitFor()
  await page.getByText('Nowhere else').waitFor()
  await page.getByRole('button', { name: 'Use this text' }).click()
  await expect.poll(() => textOf(page).inputValue()).toBe('Nowhere else')
})

test('a text that another tab sent is not sent again, unless the person wants another post', async () => {
  await textOf(page).fill('Once only')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto(page.url())
  await second.getByRole('button', { name: 'Save draft' }).click()
  await second.getByText('The draft is saved.').waitFor()

  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This post was already created in another tab.').waitFor()
  expect(await posts()).toEqual(['Once only'])
  await page.getByRole('button', { name: 'Make another post of this text' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  expect(await posts()).toEqual(['Once only', 'Once only'])
})

test('a draft that another tab changed is not overwritten: both texts are shown', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const second = await page.context().newPage()
  await second.goto(page.url())
  await textOf(second).fill('Changed in the second tab')
  await second.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(posts).toEqual(['Changed in the second tab'])

  await textOf(page).fill('Changed in the first tab')
  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This post was changed while you wrote.').waitFor()
  await page.getByText('Changed in the second tab').waitFor()
  expect(await posts()).toEqual(['Changed in the second tab'])
  await page.getByRole('button', { name: 'Keep the text in the form' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(posts).toEqual(['Changed in the first tab'])
})

test('a press that waits for a choice leads to it, says that nothing is saved, and no older success stands there', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const second = await page.context().newPage()
  await second.goto(page.url())
  await textOf(second).fill('From the second tab')
  await savedIn(second)
  expect(await second.getByText('The draft is saved.').count()).toBe(0) // a success is told once

  await textOf(page).fill('From the first tab')
  await page.getByText('There is another text of this post').waitFor()
  await page.getByText('Not saved yet. See the note above the form.').waitFor()
  expect(await page.getByText('The draft is saved.').count()).toBe(0)
  await page.getByRole('button', { name: 'Save draft' }).click()

  const asked = page.locator(':focus').getByRole('button', { name: 'Use this text' })
  await asked.waitFor()
  expect(await posts()).toEqual(['The draft'])
  await page.getByRole('button', { name: 'Keep the text in the form' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(posts).toEqual(['From the first tab'])
})

test('a text that is left right after the last key is no other text when the page is opened again', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const address = page.url()
  for (const ms of [0, 200, 700]) {
    await textOf(page).fill(`Left after ${ms} ms`)
    await page.waitForTimeout(ms)
    await page.getByRole('link', { name: 'Calendar' }).first().click()
    await page.getByRole('heading', { name: 'Calendar' }).waitFor()
    await expect.poll(() => member.copies()).toEqual([`Left after ${ms} ms`])
    await page.goto(address)
    await expect.poll(() => textOf(page).inputValue()).toBe(`Left after ${ms} ms`)
    await page.getByText('This is your unfinished text.').waitFor()
    expect(await page.getByText('There is another text').count()).toBe(0)
  }
})

test('a text for a draft that another tab deleted becomes another post', async () => {
  await textOf(page).fill('The draft')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await here.db.execute(sql`delete from posts where content = 'The draft'`)
  await textOf(page).fill('Longer than the draft')

  await page.getByText('This post was deleted in another tab.').waitFor()
  await page.getByRole('button', { name: 'Make another post of this text' }).click()

  await page.waitForURL('**/posts/new?copy=*')
  await expect.poll(() => textOf(page).inputValue()).toBe('Longer than the draft')
  expect(await member.copies()).toEqual(['Longer than the draft'])
})

test('a text for a post that went out meanwhile becomes another post', async () => {
  await textOf(page).fill('Goes out')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await textOf(page).fill('Goes out, with a last word')
  await savedIn(page)
  const url = `${here.site.appUrl}/public/v1${new URL(page.url()).pathname}`
  const headers = { authorization: `Bearer ${member.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'now' })
  expect((await fetch(url, { method: 'PATCH', headers, body })).status).toBe(200)

  await page.reload()
  await page.getByText('the post can no longer be changed').waitFor()
  await page.getByRole('button', { name: 'Make another post of this text' }).click()
  await expect.poll(() => textOf(page).inputValue()).toBe('Goes out, with a last word')
})

test('after a switch to another organisation in another tab, no text goes to the wrong one', async () => {
  await here.db.execute(sql`
    with o as (insert into organisations (id, name) values (gen_random_uuid(), 'Other client') returning id)
    insert into memberships (organisation_id, account_id, role)
    select o.id, a.id, 'owner' from o, accounts a where a.email = ${member.email}`)
  await page.goto('/posts/new')
  await textOf(page).fill('For the first client')
  await savedIn(page)
  const second = await page.context().newPage()
  await second.goto('/')
  await second.getByRole('button', { name: 'Organisation: Analytical Engines' }).click()
  await second.getByRole('button', { name: 'Other client' }).click()
  await second.getByRole('button', { name: 'Organisation: Other client' }).waitFor()

  await page.getByRole('button', { name: 'Save draft' }).click()

  await page.getByText('This text belongs to Analytical Engines').waitFor()
  expect(await posts()).toEqual([])
  await page.getByRole('button', { name: 'Go back to Analytical Engines' }).click()
  await savedIn(page)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
})

async function posts(): Promise<string[]> {
  const rows = await here.db.execute<{ content: string }>(sql`
    select content from posts where organisation_id = ${member.organisationId} order by id`)
  return rows.map(({ content }) => content)
}
