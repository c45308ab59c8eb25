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

const kept = () => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('punctual:copy:')))

test('after a switch to another organisation, a reload begins a new text there, which is saved', async () => {
  const [other] = await here.db.execute<{ id: string }>(sql`
    with o as (insert into organisations (id, name) values (gen_random_uuid(), 'Other client') returning id)
    insert into memberships (organisation_id, account_id, role)
    select o.id, ${member.accountId}, 'owner' from o returning organisation_id as id`)
  await textOf(page).fill('For the first client')
  await savedIn(page)
  await page.waitForURL('**/posts/new?copy=*')
  const second = await page.context().newPage()
  await second.goto('/')
  await second.getByRole('button', { name: /^Organisation: / }).click()
  await second.getByRole('button', { name: 'Other client' }).click()
  await second.getByRole('button', { name: 'Organisation: Other client' }).waitFor()

  await page.reload()
  await expect.poll(() => textOf(page).inputValue()).toBe('')
  await textOf(page).fill('For the other client')
  await savedIn(page)
  const copies = await here.db.execute(sql`
    select content, organisation_id as organisation from working_copies where account_id = ${member.accountId} order by created_at`)
  expect(copies).toEqual([
    { content: 'For the first client', organisation: member.organisationId },
    { content: 'For the other client', organisation: other!.id },
  ])
})

test('a letter that is taken away while it is saved does not come back', async () => {
  const answer = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  await page.route(
    '**/posts/working-copy',
    async (route) => {
      asked.resolve()
      await answer.promise
      await route.continue()
    },
    { times: 1 },
  )
  await textOf(page).pressSequentially('x')
  await asked.promise
  await textOf(page).press('Backspace')
  answer.resolve()
  await expect.poll(member.copies).toEqual([''])
})

test('a server that does not answer a save counts as away, and the text is kept and saved later', async () => {
  const stop = Promise.withResolvers<void>()
  await page.route('**/posts/working-copy', async (route) => {
    await stop.promise
    await route.abort().catch(() => {})
  })
  await textOf(page).fill('On a line that hangs')
  await page.getByText('It is kept in this browser').waitFor({ timeout: 100_000 })
  await page.unroute('**/posts/working-copy')
  stop.resolve()
  await savedIn(page)
  expect(await member.copies()).toEqual(['On a line that hangs'])
})

test('signing out asks first if the server does not have the text, and removes nothing if the person stays', async () => {
  await page.route('**/posts/working-copy', (route) => route.abort())
  await textOf(page).fill('Only in this browser')
  await page.getByText('It is kept in this browser').waitFor()
  const asked = new Promise<string>((told) =>
    page.once('dialog', (dialog) => {
      told(dialog.message())
      void dialog.dismiss()
    }),
  )
  await page.getByRole('button', { name: 'Sign out' }).click()
  expect(await asked).toBe('The server does not have your last text. If you sign out, it is lost. Sign out?')
  expect(await kept()).toHaveLength(1)
  await page.unroute('**/posts/working-copy')
  await savedIn(page)
  expect(await member.copies()).toEqual(['Only in this browser'])
})

test('signing out everywhere removes what this browser kept', async () => {
  await page.route('**/posts/working-copy', (route) => route.abort())
  await textOf(page).fill('Not for the next person')
  await page.getByText('It is kept in this browser').waitFor()
  await page.goto('/settings/account')
  expect(await kept()).toHaveLength(1)
  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await kept()).toEqual([])
})

test('a time in words that is typed before the page is interactive counts', async () => {
  const scripts = Promise.withResolvers<void>()
  await page.route('**/*.js', (route) => scripts.promise.then(() => route.continue()))
  await page.goto('/posts/new', { waitUntil: 'commit' })
  await page.getByLabel('When', { exact: true }).fill('1 march 2031 9:15')
  scripts.resolve()
  await page.getByText('Saturday, 1 March 2031, 09:15 UTC').waitFor()
  await expect.poll(() => page.getByLabel('Date').inputValue()).toBe('2031-03-01')
  expect(await page.getByLabel('When', { exact: true }).inputValue()).toBe('1 march 2031 9:15')
})

test('while a new post is sent, its fields take no letters that nobody would get', async () => {
  await textOf(page).fill('Is sent')
  const answer = Promise.withResolvers<void>()
  await page.route(/\/posts\/new.*_data=/, async (route) => {
    if (route.request().method() === 'POST') await answer.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Save draft' }).click()
  await expect.poll(() => textOf(page).getAttribute('readonly')).not.toBeNull()
  await textOf(page).press('End')
  await page.keyboard.type(' and more')
  answer.resolve()
  await page.getByText('The draft is saved.').waitFor()
  await textOf(page).press('End')
  await textOf(page).pressSequentially('!')
  await savedIn(page)
  expect(await member.copies()).toEqual(['Is sent!'])
})
