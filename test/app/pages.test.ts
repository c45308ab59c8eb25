import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aChannel, aDelivery } from '../builders.ts'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from './browser.ts'
import { documentationPaths } from './docs/documentation.ts'

const looks = [
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 390 },
  { colorScheme: 'dark', width: 1280 },
] as const

const hasChromium = withChromium()
let here: BrowserSite
const paths: Record<string, string> = {}
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  const page = await here.page()
  await signUp(page, here.site)
  await describeAll(page)
  state = await page.context().storageState()
})
afterAll(() => here?.end())

describe.each(looks)('$colorScheme, $width pixels wide', ({ colorScheme, width }) => {
  test('no page has anything that axe finds, and none is wider than the screen', async () => {
    const look = { colorScheme, viewport: { width, height: 900 } }
    const inside = await here.page({ ...look, storageState: state })
    for (const path of Object.values(paths)) await expectClean(inside, path, colorScheme)
    const outside = await here.page(look)
    const alone = ['/', '/login', '/signup', '/forgot', '/reset', '/verify', '/confirm']
    for (const path of [...alone, ...documentationPaths, paths.feed!]) await expectClean(outside, path, colorScheme)
  }, 600_000)
})

async function expectClean(page: Page, path: string, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.goto(path)
  await page.locator('h1').waitFor()
  const axe = new AxeBuilder({ page }).setLegacyMode() // there are no frames to go into
  // In the dark only colours differ.
  const { violations } = await (colorScheme === 'dark' ? axe.withRules(['color-contrast']) : axe).analyze()
  const found = violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  expect(found).toEqual([])
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(`${path}: ${overflow}`).toBe(`${path}: 0`)
}

/** Every page there is, with something in each of its states. */
async function describeAll(page: Page): Promise<void> {
  const channelId = await connectFeed(page, 'A feed with a name that is rather long for a small screen')
  const [channel] = await here.db.execute<{ organisation_id: string }>(
    sql`select organisation_id from channels where id = ${channelId}`,
  )
  const organisationId = channel!.organisation_id
  const secretKey = here.site.secretKey
  const broken = await aChannel(here.db, secretKey, { organisationId, network: 'mastodon' })
  await here.db.execute(sql`update channels set status = 'needs_reconnect' where id = ${broken}`)
  await here.db.execute(sql`
    insert into feed_items (id, organisation_id, channel_id, content, media)
    values (gen_random_uuid(), ${organisationId}, ${channelId}, 'Read https://example.org/about.', '[]')`)
  const post = async (state: 'scheduled' | 'failed' | 'held', inMs: number) => {
    const dueAt = new Date(Date.now() + inMs)
    const id = await aDelivery(here.db, {
      organisationId,
      channelId: state === 'held' ? broken : channelId,
      dueAt,
      state,
    })
    const error = JSON.stringify({ code: 'refused', message: 'It was refused.', nextStep: 'Change it.' })
    if (state !== 'scheduled')
      await here.db.execute(sql`update deliveries set error = ${error}::jsonb where id = ${id}`)
    const [row] = await here.db.execute<{ post_id: string }>(sql`select post_id from deliveries where id = ${id}`)
    return row!.post_id
  }
  for (const [status, problem] of [
    [200, null],
    [404, 'not_found'],
    [500, 'internal'],
    [499, null],
  ])
    await here.db.execute(sql`
      insert into api_requests (id, organisation_id, at, request_id, method, path, status, duration_ms,
        credential_kind, credential_id, credential_name, problem)
      values (gen_random_uuid(), ${organisationId}, now(), gen_random_uuid()::text, 'POST',
        '/public/v1/posts/01890000-0000-7000-8000-000000000000/deliveries/01890000-0000-7000-8000-000000000000/resolve',
        ${status}, 12, 'api_key', gen_random_uuid(), 'A key with a name that is rather long for a small screen', ${problem})`)
  const review = await post('failed', -3_600_000)
  await here.db.execute(sql`
    update deliveries set state = 'needs_review', maybe_out = true, prepared = '{}' where post_id = ${review}`)
  await here.db.execute(sql`update posts set told = 'NEEDS_REVIEW' where id = ${review}`)
  Object.assign(paths, {
    posts: '/',
    published: '/?status=PUBLISHED',
    find: '/posts/find?words=e',
    findNothing: '/posts/find?words=nothing-has-this&from=not-a-day',
    compose: '/posts/new',
    scheduled: `/posts/${await post('scheduled', 86_400_000)}`,
    failed: `/posts/${await post('failed', -86_400_000)}`,
    held: `/posts/${await post('held', 3_600_000)}`,
    review: `/posts/${review}`,
    calendar: '/calendar?view=month',
    channels: '/channels',
    connect: '/channels?connect=bluesky',
    reconnect: `/channels?reconnect=${broken}`,
    disconnect: `/channels?disconnect=${channelId}`,
    refused: '/channels/connected?error=access_denied',
    account: '/settings/account',
    newAddress: '/new-address',
    access: '/settings/developers/access',
    generate: '/settings/developers/access?generate',
    ...(await describeWebhooks(page, organisationId)),
    requests: '/settings/developers/requests',
    filtered: '/settings/developers/requests?status=4xx',
    misfiltered: '/settings/developers/requests?status=40&problem=%00&from=today',
    feed: `/feeds/${channelId}`,
    nothing: '/there/is/no/such/page',
  })
}

/** A webhook that fails, with a log of what it answered, and one that is off for each reason. */
async function describeWebhooks(page: Page, organisationId: string): Promise<Record<string, string>> {
  const list = '/settings/developers/webhooks'
  const url = 'https://hooks.example/an/address/that-is-rather-long-for-a-small-screen-and-cannot-be-broken?key=value'
  for (const offReason of [null, 'failing', 'gone', 'person']) {
    const form = { intent: 'add', url, events: 'post.failed' }
    await page.request.post(`${list}?index`, { form, headers: { origin: here.site.appUrl } })
    await here.db.execute(sql`
      update webhooks set failing_since = now(), off_reason = ${offReason}, off_since = case when ${offReason}::text is not null then now() end
      where organisation_id = ${organisationId} and failing_since is null`)
  }
  await here.db.execute(sql`
    with event as (
      insert into events (id, organisation_id, type, subject, body)
      values (gen_random_uuid(), ${organisationId}, 'post.failed', '{}', '{"type":"post.failed"}') returning id
    ), delivery as (
      insert into webhook_deliveries (id, organisation_id, webhook_id, event_id, state)
      select gen_random_uuid(), ${organisationId}, w.id, e.id, 'failed' from webhooks w, event e
      where w.organisation_id = ${organisationId} returning id
    )
    insert into webhook_attempts (id, organisation_id, delivery_id, no, started_at, duration_ms, status, reply, error, request_headers)
    select gen_random_uuid(), ${organisationId}, id, 1, now(), 9, 500, 'Sorry.', 'It answered 500.', '{"webhook-id":"1"}' from delivery`)
  const [failing] = await here.db.execute<{ id: string }>(
    sql`select id from webhooks where organisation_id = ${organisationId} and off_since is null`,
  )
  const one = `${list}/${failing!.id}`
  return { webhooks: list, addWebhook: `${list}?add`, webhook: one, changeWebhook: `${one}?change`, off: `${one}?off` }
}
