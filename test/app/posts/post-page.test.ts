import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { aChannel, aDelivery } from '../../builders.ts'
import { type BrowserSite, connectFeed, inBrowser } from '../browser.ts'
import { aMember } from '../member.ts'

let here: BrowserSite
let page: Page
let feedId: string
let organisationId: string
inBrowser(async (site) => {
  here = site
  const member = await aMember(here)
  ;({ page, organisationId } = member)
  feedId = member.channelIds[0]!
})

test('a post that failed says why and what to do, and Retry sends it', async () => {
  const { path } = await aPost('failed')
  await page.goto(path)
  await page.getByText('The network refused it.').waitFor()
  await page.getByText('Change something.').waitFor()
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('status').getByText('Published').waitFor()
  await page.getByText('Attempts').click()
  await page.getByRole('listitem').getByText('Published').nth(1).waitFor()
})

test('an attempt whose post was found by a look says when', async () => {
  const { path } = await aPost('failed')
  await here.db.execute(sql`
    insert into attempts (id, organisation_id, delivery_id, no, owner, credential_version, started_at, ended_at, found_at, outcome)
    select gen_random_uuid(), organisation_id, id, 1, 'a worker', 1, now(), now(), now(), 'unknown'
    from deliveries where post_id = ${path.split('/').at(-1)}`)
  await page.goto(path)
  await page.getByText('Attempts').click()
  await page.getByText('Found on the account').waitFor()
})

test('while the operator has paused a channel, its row and its posts say that they wait', async () => {
  const paused = await connectFeed(page, 'A paused feed')
  await here.db.execute(sql`update channels set paused_at = now() where id = ${paused}`)
  await page.goto('/channels')
  await page.getByText('Paused by the operator. Its posts wait.').waitFor()
  await page.goto('/posts/new')
  await page.getByText('Paused by the operator: posts to it wait.').waitFor()
  await page.getByLabel('A paused feed').check()
  await page.getByLabel('Text', { exact: true }).fill('Waits')
  await page.getByLabel('Date').fill(new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10))
  await page.getByRole('button', { name: 'Schedule' }).click()
  await page.getByText('Scheduled, but the operator has paused sending').waitFor()
  await here.db.execute(sql`update channels set paused_at = null where id = ${paused}`)
  await page.reload()
  expect(await page.getByText('the operator has paused sending').count()).toBe(0)
})

test('It was published resolves an unknown outcome with the link that the person found', async () => {
  const { path } = await aPost('needs_review')
  await page.goto(path)
  await page.getByRole('textbox').fill('https://example.org/@ada/1')
  await page.getByRole('button', { name: 'It was published' }).click()
  await page.getByText('Marked as published.').waitFor()
  expect(await page.getByRole('link', { name: 'View post' }).getAttribute('href')).toBe('https://example.org/@ada/1')
})

test('It wasn’t: send it sends a post with an unknown outcome again', async () => {
  const { path, text } = await aPost('needs_review')
  await page.goto(path)
  await page.getByRole('button', { name: "It wasn't: send it" }).click()
  await page.getByRole('status').getByText('Published').waitFor()
  await page.getByRole('link', { name: 'View post' }).click()
  await page.getByRole('article').getByText(text).waitFor()
})

test('Don’t send ends a post with an unknown outcome', async () => {
  const { path } = await aPost('needs_review')
  await page.goto(path)
  await page.getByRole('button', { name: "Don't send" }).click()
  await page.getByText("We won't send it to that channel.").waitFor()
  await page.getByRole('status').getByText('Cancelled').waitFor()
})

test.each(['missed', 'organisation_suspended'])(
  'a post that was never sent (%s) is sent or cancelled, and no address is asked for',
  async (code) => {
    const sent = await neverSent(code)
    await page.goto(sent.path)
    await page.getByRole('button', { name: "Don't send" }).waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'It was published' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Send now' }).click()
    await page.getByRole('status').getByText('Published').waitFor()
    await page.getByRole('link', { name: 'View post' }).click()
    await page.getByRole('article').getByText(sent.text).waitFor()

    await page.goto((await neverSent(code)).path)
    await page.getByRole('button', { name: "Don't send" }).click()
    await page.getByRole('status').getByText('Cancelled').waitFor()
  },
)

test('a refused button shows the reason, and the page stays', async () => {
  const channelId = await aChannel(here.db, here.site.secretKey, { organisationId, network: 'mastodon' })
  await here.db.execute(sql`update channels set status = 'needs_reconnect', name = 'Ada' where id = ${channelId}`)
  const { path } = await aPost('failed', channelId)
  await page.goto(path)
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('alert').getByText('Reconnect Ada first.').waitFor()
})

test('the list shows a post go out while it is looked at', async () => {
  const { text } = await aPost('scheduled', feedId, 10_000)
  await page.goto('/')
  const row = page.getByRole('listitem').filter({ hasText: text })
  await row.getByText('Scheduled').waitFor()
  await row.getByText('Published').waitFor()
})

test('what needs a person stands above the posts of the coming days, soonest first', async () => {
  const { text } = await aPost('needs_review')
  const later = await aPost('scheduled', feedId, 3 * 86_400_000)
  const sooner = await aPost('scheduled', feedId, 2 * 86_400_000)
  await page.goto('/')
  await page.getByRole('link', { name: sooner.text }).waitFor()
  const links = await page.getByRole('main').getByRole('listitem').getByRole('link').allTextContents()
  const places = [text, sooner.text, later.text].map((name) => links.indexOf(name))
  expect(places.every((place) => place >= 0)).toBe(true)
  expect(places).toEqual(places.toSorted((one, other) => one - other))
})

test('on a small screen the chosen filter is in view', async () => {
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 390, height: 800 })
  await page.goto('/?status=ALL', { waitUntil: 'networkidle' })
  const all = page.getByRole('navigation', { name: 'Filter' }).getByRole('link', { name: 'All', exact: true })
  const edges = () => all.evaluate((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])
  await expect.poll(edges).toSatisfy(([left, right]) => left >= 0 && right <= 390)
  await page.setViewportSize(size)
})

test('a list longer than a page goes on where it stopped while posts are added', async () => {
  const inAYear = 365 * 86_400_000
  const texts: string[] = []
  for (let day = 0; day < 55; day++) texts.push((await aPost('scheduled', feedId, inAYear + day * 86_400_000)).text)
  await page.goto('/?status=SCHEDULED')
  await page.getByRole('link', { name: texts[0]!, exact: true }).waitFor()
  const first = await textsOnPage()
  await aPost('scheduled', feedId, inAYear - 1)
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.getByRole('link', { name: texts.at(-1)!, exact: true }).waitFor()
  const second = await textsOnPage()
  expect([...first, ...second].filter((text) => texts.includes(text))).toEqual(texts)
}, 60_000)

function textsOnPage(): Promise<string[]> {
  return page.getByRole('main').getByRole('listitem').getByRole('link').allTextContents()
}

let made = 0

/** A post of one delivery in `state`; `inMs` from now it is due. */
async function aPost(state: 'scheduled' | 'failed' | 'needs_review', channelId = feedId, inMs = -60_000) {
  const text = `Post no. ${made++} of this test`
  const dueAt = new Date(Date.now() + inMs)
  const first = state === 'needs_review' ? 'failed' : state
  const id = await aDelivery(here.db, { organisationId, channelId, dueAt, text, state: first })
  const error = JSON.stringify({ code: 'refused', message: 'The network refused it.', nextStep: 'Change something.' })
  if (state !== 'scheduled') await here.db.execute(sql`update deliveries set error = ${error}::jsonb where id = ${id}`)
  if (state === 'needs_review') {
    const prepared = JSON.stringify({ content: text, media: [] })
    await here.db.execute(
      sql`update deliveries set state = 'needs_review', maybe_out = true, prepared = ${prepared} where id = ${id}`,
    )
  }
  const [row] = await here.db.execute<{ post_id: string }>(sql`select post_id from deliveries where id = ${id}`)
  return { path: `/posts/${row!.post_id}`, text }
}

/** A post that a person must decide on, of which nothing can be out. */
async function neverSent(code: string) {
  const post = await aPost('failed')
  const error = JSON.stringify({ code, message: 'It was not sent.', nextStep: 'Send it now or cancel it.' })
  await here.db.execute(sql`
    update deliveries set state = 'needs_review', error = ${error}::jsonb where post_id = ${post.path.split('/').at(-1)}`)
  return post
}

test('a post that failed is not said to be in the queue', async () => {
  const { path } = await aPost('failed')
  await page.goto(`${path}?said=queue`)
  await page.getByText('The network refused it.').waitFor()
  expect(await page.getByText('The post is in the queue.').count()).toBe(0)
})
