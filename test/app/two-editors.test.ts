import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from './browser.ts'
import { aMember, type Member } from './member.ts'

// Somebody saves a form that was open while somebody else changed another part of the same thing.

let here: BrowserSite
let member: Member
let page: Page
let other: Page
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    member = await aMember(here, { feeds: ['News', 'Events'] })
    page = member.page
  },
)
beforeEach(async () => {
  other = await page.context().newPage()
})

const save = async (on: Page, said = 'Saved.') => {
  await on.getByRole('button', { name: 'Save', exact: true }).click()
  await on.getByText(said).waitFor()
}

test('a queue keeps the channel and the time zone that someone else gave it', async () => {
  const times = [{ weekday: 1, time: '09:00' }]
  const queue = { name: 'Weekdays', timeZone: 'UTC', times, channelIds: member.channelIds.slice(0, 1) }
  const { id } = await member.callApi<{ id: string }>('POST', '/queues', queue)
  await page.goto(`/queues/${id}`)
  await member.callApi('PATCH', `/queues/${id}`, { timeZone: 'Asia/Tokyo', channelIds: member.channelIds })
  const now = () => member.callApi<{ channelIds: string[] }>('GET', `/queues/${id}`)

  await page.getByLabel('Name').fill('Weekends')
  await save(page)
  expect(await now()).toMatchObject({ name: 'Weekends', timeZone: 'Asia/Tokyo' })
  expect((await now()).channelIds.toSorted()).toEqual(member.channelIds.toSorted())

  await member.callApi('PATCH', `/queues/${id}`, { name: 'Renamed by a caller' })
  await page.getByLabel('Time zone').selectOption('Europe/Berlin')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect.poll(now).toMatchObject({ name: 'Renamed by a caller', timeZone: 'Europe/Berlin' })
})

test('a redirect URL that someone removed from an app stays removed', async () => {
  await page.goto('/settings/developers/apps?create')
  await page.getByLabel('Name').fill('Planner')
  await page.getByLabel('Redirect URL').fill('https://a.example/back\nhttps://leaked.example/back')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('link', { name: 'Planner' }).first().click()
  await page.getByLabel('Redirect URL').waitFor()
  await other.goto(page.url())
  await other.getByLabel('Redirect URL').fill('https://a.example/back')
  await save(other)

  await page.getByLabel('Description').fill('Plans posts.')
  await save(page)
  const apps = await here.db.execute(
    sql`select redirect_uris as uris, description from apps where organisation_id = ${member.organisationId}`,
  )
  expect(apps).toMatchObject([{ uris: ['https://a.example/back'], description: 'Plans posts.' }])
})

test('an endpoint keeps the URL and the events that someone else gave it', async () => {
  const { id } = await member.callApi<{ id: string }>('POST', '/webhooks', { url: 'http://127.0.0.1:9/old' })
  await page.goto(`/settings/developers/webhooks/${id}?change`)
  await member.callApi('PATCH', `/webhooks/${id}`, { url: 'http://127.0.0.1:9/new', events: ['post.published'] })

  await page.getByLabel('Description').fill('Order desk')
  await save(page)
  expect(await member.callApi('GET', `/webhooks/${id}`)).toMatchObject({
    url: 'http://127.0.0.1:9/new',
    events: ['post.published'],
    description: 'Order desk',
  })
})

test('a profile keeps the time zone that its owner chose in another tab', async () => {
  await page.goto('/settings/account')
  await other.goto('/settings/account')
  await other.getByLabel('Time zone').selectOption('Asia/Tokyo')
  await save(other)

  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
  await save(page)
  const [account] = await here.db.execute(
    sql`select name, time_zone as zone from accounts where id = ${member.accountId}`,
  )
  expect(account).toEqual({ name: 'Ada Lovelace', zone: 'Asia/Tokyo' })
})
