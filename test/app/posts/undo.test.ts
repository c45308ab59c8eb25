import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember } from '../member.ts'

// What is unscheduled or deleted is so at once, and Undo takes it back.

let here: BrowserSite
let page: Page
inBrowser(async (site) => {
  here = site
  page = (await aMember(here)).page
})

const text = () => page.getByLabel('Text', { exact: true })
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const undo = () => page.getByRole('button', { name: 'Undo' })

async function write(content: string, button: 'Schedule' | 'Save draft') {
  await page.goto('/posts/new')
  await text().fill(content)
  await page.getByLabel('Date').fill(inDays(3))
  await page.getByRole('button', { name: button }).click()
  await page.getByText(button === 'Schedule' ? 'The post is scheduled.' : 'The draft is saved.').waitFor()
  return new URL(page.url()).pathname
}

test('Unschedule is done at once, and Undo schedules the post again at its time', async () => {
  await write('Unscheduled by mistake', 'Schedule')
  const date = await page.locator('time').first().getAttribute('datetime')
  await page.getByRole('button', { name: 'Unschedule' }).click()
  await page.getByText('Unscheduled.').waitFor()
  await page.getByRole('status').getByText('Cancelled', { exact: true }).waitFor()
  await undo().click()
  await page.getByText('The post is scheduled again.').waitFor()
  await page.getByRole('status').getByText('Scheduled', { exact: true }).waitFor()
  expect(await page.locator('time').first().getAttribute('datetime')).toBe(date)
  await expect.poll(() => text().inputValue()).toBe('Unscheduled by mistake')
})

test('a button that said Unschedule deletes no draft, and one that said Delete unschedules nothing', async () => {
  const path = await write('Someone else is faster', 'Save draft')
  const organisation = await page.locator('input[name=forOrganisation]').first().inputValue()
  const press = (type: string) => {
    const form = { intent: 'cancel', type, forOrganisation: organisation }
    return page.request.post(path, { form, headers: { origin: here.site.appUrl }, maxRedirects: 0 })
  }
  const refused = await press('schedule')
  expect(refused.status()).toBe(409)
  expect(await refused.text()).toContain('Nothing was changed. This post is now: Draft.')
  expect((await press('draft')).status()).toBe(302)

  const scheduled = await write('Scheduled by someone else', 'Schedule')
  const form = { intent: 'cancel', type: 'draft', forOrganisation: organisation }
  const late = await page.request.post(scheduled, { form, headers: { origin: here.site.appUrl }, maxRedirects: 0 })
  expect(late.status()).toBe(409)
})

test('Undo after the time of a post says that its time is in the past', async () => {
  const path = await write('Too late', 'Schedule')
  await page.getByRole('button', { name: 'Unschedule' }).click()
  await undo().waitFor()
  await here.db.execute(sql`update posts set date = now() - interval '1 second' where id = ${path.split('/').at(-1)}`)
  await undo().click()
  await page.getByRole('alert').getByText('Its time is in the past').waitFor()
  await page.getByRole('status').getByText('Cancelled', { exact: true }).waitFor()
})

test('once a post is scheduled again in another tab, no page says that it is unscheduled', async () => {
  await write('In two tabs', 'Schedule')
  await page.getByRole('button', { name: 'Unschedule' }).click()
  await undo().waitFor()
  const before = page.url()
  await undo().click()
  await page.getByText('The post is scheduled again.').waitFor()
  await page.goto(before)
  await page.getByRole('status').getByText('Scheduled', { exact: true }).waitFor()
  expect(await page.getByText('Unscheduled.').count()).toBe(0)
})

test('Delete draft is done at once, and Undo brings it back with its text and channels', async () => {
  const path = await write('Deleted by mistake', 'Save draft')
  await page.getByRole('button', { name: 'Delete draft' }).click()
  await page.getByText('Draft deleted.').waitFor()
  expect(await page.getByText('Deleted by mistake').count()).toBe(0)
  expect((await page.request.get(path)).status()).toBe(404)
  await undo().click()
  await page.getByText('The draft is back.').waitFor()
  expect(new URL(page.url()).pathname).toBe(path)
  await expect.poll(() => text().inputValue()).toBe('Deleted by mistake')
  await expect.poll(() => page.getByLabel('My feed').isChecked()).toBe(true)
})

test('a button whose post moved on answers with the new state, and the answer goes when the state goes', async () => {
  const path = await write('Moves on', 'Schedule')
  const id = path.split('/').at(-1)
  await here.db.execute(sql`
    update deliveries set state = 'published', published_at = now(), evidence = 'answered' where post_id = ${id}`)
  await page.getByRole('button', { name: 'Unschedule' }).click()
  await page.getByRole('alert').getByText('Nothing was changed. This post is now: Published.').waitFor()
  await page.getByRole('status').getByText('Published', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Unschedule' }).count()).toBe(0)
})

test('a page that reloads its data keeps the version that its text was typed on', async () => {
  const path = await write('Mine', 'Schedule')
  const id = path.split('/').at(-1)
  // Due, and kept by a pause: the page reads itself again every two seconds.
  await here.db.execute(sql`update channels set paused_at = now()`)
  await here.db.execute(sql`update deliveries set due_at = now() where post_id = ${id}`)
  await here.db.execute(sql`update posts set date = now() where id = ${id}`)
  await page.goto(path)
  const reads = page.waitForResponse((answer) => answer.url().includes('_data=') && answer.url().includes(id!))
  await here.db.execute(sql`update posts set content = 'A colleague’s', version = version + 1 where id = ${id}`)
  await reads
  await page.getByText('This post was changed while you wrote.').waitFor()
  await text().fill('Mine, typed on the old version')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('The post has changed since you read it.').waitFor()
  const [row] = await here.db.execute(sql`select content from posts where id = ${id}`)
  expect(row).toEqual({ content: 'A colleague’s' })
  await here.db.execute(sql`update channels set paused_at = null`)
})
