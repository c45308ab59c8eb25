import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { DeliveryState } from '../../../db/schema/ledger.ts'
import { aDelivery } from '../../builders.ts'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember } from '../member.ts'

// A post that failed, or that is published on some of its channels, opens in the composer.

let here: BrowserSite
let page: Page
let first: string
let second: string
let organisationId: string
inBrowser(async (site) => {
  here = site
  const member = await aMember(here, { feeds: ['First feed', 'Second feed'] })
  ;({ page, organisationId } = member)
  ;[first, second] = member.channelIds as [string, string]
})

const text = () => page.getByLabel('Text', { exact: true })
const status = (name: string) => page.getByRole('status').getByText(name, { exact: true })
const onFeed = async (channelId: string) => {
  const answer = await page.request.get(`/feeds/${channelId}/feed.json`)
  return (await answer.json()).items.map((item: { content_text: string }) => item.content_text)
}

test('a post that failed is changed and sent again with one button', async () => {
  const post = await aPost(['failed', 'failed'])
  await page.goto(post.path)
  await page
    .getByText('2 channels failed. Saving sends this post to them again, at once or at a new time that you choose.')
    .waitFor()
  await text().fill('Shorter now')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await status('Published').waitFor()
  expect(await onFeed(first)).toContain('Shorter now')
  expect(await onFeed(second)).toContain('Shorter now')
})

test('a change of a partly published post can choose only the failed channel, which gets the new text', async () => {
  const post = await aPost(['published', 'failed'])
  await page.goto(post.path)
  await page
    .getByText(
      'Second feed failed. Saving sends this post there again. First feed already published it and keeps its text.',
    )
    .waitFor()
  expect(await page.getByRole('checkbox').count()).toBe(1)
  await expect.poll(() => page.getByLabel('Second feed').isChecked()).toBe(true)
  expect(await page.getByLabel('Date').count()).toBe(0)
  await text().fill('Only for the second')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await status('Published').waitFor()
  expect(await onFeed(second)).toContain('Only for the second')
  expect(await onFeed(first)).not.toContain('Only for the second')
  await page.getByRole('main').getByText(post.text, { exact: true }).waitFor() // what is really on the first one
})

test('a failed post gets a new date, and waits for it', async () => {
  const post = await aPost(['failed'])
  await page.goto(post.path)
  await page.getByText('First feed failed.').waitFor()
  await page.getByLabel('Date').fill(new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10))
  await page.getByRole('button', { name: 'Save and send' }).click()
  await status('Scheduled').waitFor()
  await page.getByRole('button', { name: 'Unschedule' }).waitFor()
})

test('a form whose post moved on meanwhile is refused with the new state, and keeps its text', async () => {
  const post = await aPost(['scheduled', 'scheduled'], 86_400_000)
  await page.goto(post.path)
  await text().fill('Written before it went out')
  await setState(post.id, first, 'published')
  await setState(post.id, second, 'failed')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('The status of this post changed while you were writing.').waitFor()
  await page.getByText('Second feed failed. Saving sends this post there again.').waitFor()
  await expect.poll(() => text().inputValue()).toBe('Written before it went out')
  await page.getByRole('button', { name: 'Save and send' }).click()
  await status('Published').waitFor()
  expect(await onFeed(second)).toContain('Written before it went out')
  expect(await onFeed(first)).not.toContain('Written before it went out')
})

test('a post that is partly out and waits for a reconnect says so, and its change is saved', async () => {
  const post = await aPost(['published', 'held'])
  await here.db.execute(sql`update channels set status = 'needs_reconnect' where id = ${second}`)
  await page.goto(post.path)
  await page.getByText('Second feed waits for a reconnect. Then it gets the changed post.').waitFor()
  await text().fill('For later')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Your changes are saved.').waitFor()
  await status('Waiting for reconnect').first().waitFor()
  await here.db.execute(sql`update channels set status = 'active' where id = ${second}`)
})

test('a viewer is shown a failed post without the composer', async () => {
  const post = await aPost(['failed'])
  await here.db.execute(sql`update memberships set role = 'viewer' where organisation_id = ${organisationId}`)
  await page.goto(post.path)
  await page.getByText(post.text).waitFor()
  expect(await text().count()).toBe(0)
  expect(await page.getByText('Saving sends').count()).toBe(0)
  await here.db.execute(sql`update memberships set role = 'owner' where organisation_id = ${organisationId}`)
})

test.each(['scheduled', 'failed', 'published', 'needs_review', 'cancelled', 'draft'] as const)(
  'Duplicate of a post that is %s opens a new post with its text and channels, and creates nothing',
  async (state) => {
    const post = await aPost([state, state])
    if (state === 'draft') await here.db.execute(sql`update posts set type = 'draft' where id = ${post.id}`)
    const [before] = await here.db.execute(sql`select count(*) from posts`)
    await page.goto(post.path)
    await page.getByRole('link', { name: 'Duplicate' }).click()
    await page.getByRole('heading', { name: 'New post' }).waitFor()
    await expect.poll(() => text().inputValue()).toBe(post.text)
    for (const name of ['First feed', 'Second feed'])
      await expect.poll(() => page.getByLabel(name).isChecked()).toBe(true)
    expect(await here.db.execute(sql`select count(*) from posts`)).toEqual([before])
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.getByText('The draft is saved.').waitFor()
    expect(page.url()).not.toContain(post.id)
  },
)

test('Duplicate leaves out a channel that was disconnected', async () => {
  const post = await aPost(['published', 'published'])
  await here.db.execute(sql`update channels set status = 'disconnected' where id = ${second}`)
  await page.goto(`/posts/new?from=${post.id}`)
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.getByText('The draft is saved.').waitFor()
  const [made] = await here.db.execute(sql`
    select array_agg(channel_id) as channels from deliveries where post_id = ${page.url().match(/posts\/([^?]+)/)![1]}`)
  expect(made).toEqual({ channels: [first] })
  await here.db.execute(sql`update channels set status = 'active' where id = ${second}`)
})

let made = 0

/** A post with a delivery in each state, on the first feed and on the second. */
async function aPost(states: DeliveryState[], inMs = -60_000) {
  const text = `Post no. ${made++} of this test`
  const dueAt = new Date(Date.now() + inMs)
  const delivery = await aDelivery(here.db, { organisationId, channelId: first, dueAt, text, state: 'failed' })
  const [row] = await here.db.execute<{ post_id: string }>(sql`select post_id from deliveries where id = ${delivery}`)
  const id = row!.post_id
  if (states[1])
    await here.db.execute(sql`
      insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key)
      select gen_random_uuid(), organisation_id, post_id, ${second}, 1, state, due_at, gen_random_uuid()::text
      from deliveries where id = ${delivery}`)
  for (const [i, state] of states.entries()) await setState(id, [first, second][i]!, state)
  return { id, path: `/posts/${id}`, text }
}

async function setState(postId: string, channelId: string, state: DeliveryState): Promise<void> {
  const error = { code: 'refused', message: 'The network refused it.', nextStep: 'Change something.' }
  const isOut = state === 'published'
  await here.db.execute(sql`
    update deliveries set state = ${state}::delivery_state,
      published_at = case when ${isOut} then now() end, evidence = case when ${isOut} then 'answered'::evidence end,
      maybe_out = ${state === 'needs_review'}, prepared = case when ${state === 'needs_review'} then '{}' end,
      error = case when ${state === 'failed'} then ${JSON.stringify(error)}::jsonb end
    where post_id = ${postId} and channel_id = ${channelId}`)
}
