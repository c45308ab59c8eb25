import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember } from '../member.ts'

let here: BrowserSite
let page: Page
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    const { organisationId, accountId, channelIds, ...member } = await aMember(here)
    page = member.page
    await page.goto('/')
    for (const [content, tag, day] of [
      ['東京で桜が咲いた', 'spring', '2031-04-02'],
      ['Cherry blossoms in Tokyo', 'spring', '2031-04-05'],
      ['Summer fair', 'summer', '2031-07-01'],
    ])
      await here.db.execute(sql`
        with post as (
          insert into posts (id, organisation_id, type, date, content, tags, told, created_by_kind, created_by_id, created_by_name)
          values (gen_random_uuid(), ${organisationId}, 'schedule', ${`${day}T10:00:00Z`}::timestamptz, ${content}, array[${tag}],
            'SCHEDULED', 'member', ${accountId}, 'Ada') returning *
        )
        insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
        select gen_random_uuid(), organisation_id, id, ${channelIds[0]}, 0, 'scheduled', date, id::text from post`)
  },
)

const found = () =>
  page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Results' }) })
    .getByRole('link')
    .allInnerTexts()

test('posts are found from the list by a part of a word, in Japanese too', async () => {
  await page.getByRole('searchbox', { name: 'Find posts' }).fill('桜')
  await page.getByRole('searchbox', { name: 'Find posts' }).press('Enter')
  await page.waitForURL('**/posts/find?words=*')
  await expect.poll(found).toEqual(['東京で桜が咲いた'])

  await page.getByLabel('Words').fill('BLOSSOM toky')
  await page.getByRole('button', { name: 'Find' }).click()
  await expect.poll(found).toEqual(['Cherry blossoms in Tokyo'])
})

test('posts are found by tag, status, author and days, and the link to them can be shared', async () => {
  await page.goto('/posts/find')
  await page.getByRole('combobox', { name: 'Tag' }).selectOption('spring')
  await page.getByLabel('Status').selectOption('Scheduled')
  await page.getByLabel('Author').selectOption('Ada')
  await page.getByLabel('Channel').selectOption('My feed')
  await page.getByLabel('From').fill('2031-04-03')
  await page.getByLabel('To').fill('2031-04-05')
  await page.getByRole('button', { name: 'Find' }).click()
  await expect.poll(found).toEqual(['Cherry blossoms in Tokyo'])

  await page.goto(page.url())
  await expect.poll(() => page.getByRole('combobox', { name: 'Tag' }).inputValue()).toBe('spring')
  expect(await found()).toEqual(['Cherry blossoms in Tokyo'])

  await page.getByRole('link', { name: 'Clear' }).click()
  await page.waitForURL('**/posts/find')
  await expect.poll(found).toEqual([])
})

test('a date that does not exist has its problem beside its field', async () => {
  await page.goto('/posts/find?words=x&from=tomorrow')
  expect(await page.getByLabel('From').getAttribute('aria-invalid')).toBe('true')
})

test('tags are saved while they are typed into the composer, and find the post', async () => {
  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill('With tags')
  await page.getByLabel('Tags').fill('launch, 東京 ,launch,')
  await page.getByText('Your text is saved.').waitFor()
  await page.reload()
  await expect.poll(() => page.getByLabel('Tags').inputValue()).toBe('launch, 東京 ,launch,')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  await expect.poll(() => page.getByLabel('Tags').inputValue()).toBe('launch, 東京')

  await page.goto('/posts/find?tag=東京')
  expect(await found()).toEqual(['With tags'])
})

test('a tag that is too long has its problem beside the field', async () => {
  await page.goto('/posts/new')
  await page.getByLabel('Text', { exact: true }).fill('With a long tag')
  await page.getByLabel('Tags').fill('x'.repeat(51))
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('At most 50 characters.').waitFor()
  expect(await page.getByLabel('Tags').getAttribute('aria-invalid')).toBe('true')
})

test('a filter that is not in its list stays for the next search', async () => {
  await here.db.execute(sql`update channels set status = 'disconnected'`)
  const [channel] = await here.db.execute<{ id: string }>(sql`select channel_id as id from deliveries limit 1`)
  await page.goto(`/posts/find?channelId=${channel!.id}&tag=winter`)
  await page.getByLabel('Words').fill('fair')
  await page.getByRole('button', { name: 'Find', exact: true }).click()
  await page.waitForURL('**words=fair*')

  const { searchParams } = new URL(page.url())
  expect(Object.fromEntries(searchParams)).toMatchObject({ channelId: channel!.id, tag: 'winter' })
  await page.goto(`/calendar?channel=${channel!.id}`)
  expect(await page.getByLabel('Channel').inputValue()).toBe(channel!.id)
})
