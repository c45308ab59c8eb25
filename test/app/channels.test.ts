import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { someDeliveries } from '../builders.ts'
import { until } from '../processes.ts'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from './browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
let mastodon: { origin: string; server: Server; says: { allow: boolean } }

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  mastodon = await startMastodon()
  page = await here.page()
  await signUp(page, here.site)
})
afterAll(async () => {
  mastodon?.server.close()
  await here?.end()
})

test('Mastodon is connected over a link to the instance, and reconnected without typing it again', async () => {
  await page.goto('/channels')
  await page.getByRole('button', { name: 'Connect Mastodon' }).click()
  await page.getByLabel('Server').fill(mastodon.origin)
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('link', { name: 'Continue to localhost' }).click()
  await page.getByText('Ada of the engine is connected.').waitFor()

  await page.getByRole('button', { name: 'Reconnect' }).click()
  await expect.poll(() => page.getByLabel('Server').inputValue()).toBe(mastodon.origin)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('link', { name: 'Continue to localhost' }).click()
  await page.getByText('Ada of the engine is connected.').waitFor()
  expect(await page.getByRole('button', { name: 'Disconnect' }).count()).toBe(1)
})

test('a disconnected channel is connected again by one button, and the page says what happens to its posts', async () => {
  const { db } = here
  const [channel] = await db.execute<{ id: string; organisationId: string }>(
    sql`select id, organisation_id as "organisationId" from channels where name = 'Ada of the engine'`,
  )
  const { id: channelId, organisationId } = channel!
  const in9Days = new Date(Date.now() + 9 * 86_400_000)
  const posts = { organisationId, channelId, dueAt: in9Days }
  const [, review] = await someDeliveries(db, [posts, { ...posts, state: 'needs_review' }])
  await page.goto(`/channels?disconnect=${channelId}`)
  await page.getByLabel('Hold them').check()
  await page.getByRole('button', { name: 'Disconnect channel' }).click()
  await page.getByText('We are ending our access to the account').waitFor()
  await until(async () => {
    const [row] = await db.execute<{ isErased: boolean }>(
      sql`select credential is null as "isErased" from channels where id = ${channelId}`,
    )
    return row!.isErased
  })

  await page.goto(`/channels?reconnect=${channelId}`)
  await expect.poll(() => page.getByLabel('Server').inputValue()).toBe(mastodon.origin)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('link', { name: 'Continue to localhost' }).click()
  await page.getByText('Ada of the engine is connected. 1 post is scheduled. 1 post needs attention.').waitFor()
  await db.execute(sql`delete from posts where id in (select post_id from deliveries where id = ${review!})`)
})

test('a person who refuses the consent there reads it here', async () => {
  mastodon.says.allow = false
  await page.goto('/channels?connect=mastodon')
  await page.getByLabel('Server').fill(mastodon.origin)
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('link', { name: 'Continue to localhost' }).click()
  await page.getByText(`You did not approve the connection on ${new URL(mastodon.origin).host}.`).waitFor()
  expect(new URL(page.url()).pathname).toMatch(/^\/channels\/connected\/[\w-]{22}$/)
})

test('a code that nobody asked for connects nothing', async () => {
  await page.goto('/channels/connected?state=made-up&code=made-up')
  await page.getByText('Start again.').waitFor()
})

test('what is wrong with a connection stands beside its field', async () => {
  await page.goto('/channels?connect=bluesky')
  await page.getByLabel('Handle').fill('not a handle')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('Type the full handle').waitFor()
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('input.handle')
})

test('a disconnect asks what to do with the waiting posts, and does it', async () => {
  for (const { choice, status } of [
    { choice: 'Cancel them', status: 'Cancelled' },
    { choice: 'Hold them', status: 'Waiting for reconnect' },
  ]) {
    const name = `Feed to ${status}`
    const id = await connectFeed(page, name)
    await page.goto('/posts/new')
    await page.getByLabel(name).check()
    await page.getByLabel('Text', { exact: true }).fill(`Waits on ${name}`)
    await page.getByLabel('Date').fill(new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10))
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('The post is scheduled.').waitFor()
    const post = page.url()

    await page.goto(`/channels?disconnect=${id}`)
    await page.getByText('1 post has not gone out there yet.').waitFor()
    await page.getByLabel(choice).check()
    await page.getByRole('button', { name: 'Disconnect channel' }).click()
    await page.getByText('The channel is disconnected.').waitFor()
    await page.goto(post)
    await page.getByRole('status').getByText(status).waitFor()
  }
  await page.goto('/settings/activity')
  for (const said of ['1 unsent post was cancelled', '1 unsent post was held'])
    await page.getByText(said).first().waitFor()
})

test('a post that is scheduled while the page says that none waits is held, not cancelled', async () => {
  const id = await connectFeed(page, 'Feed without posts')
  await page.goto(`/channels?disconnect=${id}`)
  await page.getByText('No posts are waiting for this channel.').waitFor()
  const other = await page.context().newPage()
  await other.goto('/posts/new')
  await other.getByLabel('Feed without posts').check()
  await other.getByLabel('Text', { exact: true }).fill('Just in time')
  await other.getByLabel('Date').fill(new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10))
  await other.getByRole('button', { name: 'Schedule' }).click()
  await other.getByText('The post is scheduled.').waitFor()

  await page.getByRole('button', { name: 'Disconnect channel' }).click()
  await page.getByText('The channel is disconnected.').waitFor()
  await other.reload()
  await other.getByRole('status').getByText('Waiting for reconnect').waitFor()
  await other.close()
})

/** What a Mastodon server does while a channel is connected: https://docs.joinmastodon.org/client/token/ */
async function startMastodon() {
  const says = { allow: true }
  const answers: Record<string, object> = {
    '/api/v1/apps': { client_id: 'an id', client_secret: 'a secret' },
    '/oauth/token': { access_token: 'a token' },
    '/api/v1/accounts/verify_credentials': { id: '1', username: 'ada', display_name: 'Ada of the engine' },
  }
  const server = createServer((request, response) => {
    request.resume()
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    if (pathname === '/oauth/authorize') {
      const back = new URL(searchParams.get('redirect_uri')!)
      back.search = new URLSearchParams({
        state: searchParams.get('state')!,
        ...(says.allow ? { code: 'a code' } : { error: 'access_denied' }),
      }).toString()
      return response.writeHead(302, { location: back.href }).end()
    }
    const answer = answers[pathname]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    return response.end(JSON.stringify(answer ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, says, origin: `http://localhost:${(server.address() as AddressInfo).port}` }
}
