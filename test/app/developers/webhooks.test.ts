import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { until } from '../../processes.ts'
import { startReceiver, verified } from '../../stand-ins/receiver.ts'
import { type BrowserSite, browserSite, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
let here: BrowserSite
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  receiver = await startReceiver()
  if (hasChromium) here = await browserSite()
})
afterEach(() => receiver.reset())
afterAll(async () => {
  await here?.end()
  await receiver.end()
})

const List = '/settings/developers/webhooks'

/** Somebody with an endpoint, added through its form: its page is open. */
async function anEndpoint(options: Parameters<BrowserSite['page']>[0] = {}) {
  const page = await here.page(options)
  await signUp(page, here.site, { organisation: 'Makers' })
  await page.goto(List)
  await press(page, 'Add endpoint')
  await page.getByLabel('URL').fill(receiver.url)
  await press(page, 'Add')
  const secret = await shownSecret(page)
  await page.getByRole('link', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: /^Developers › Webhooks › 127/ }).waitFor()
  return { page, secret, path: new URL(page.url()).pathname }
}

async function shownSecret(page: Page): Promise<string> {
  return (await page.locator('code', { hasText: /^whsec_/ }).textContent())!
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Send a test event; what arrives of it, once the page says so. */
async function tried(page: Page) {
  await press(page, 'Send test event')
  await page.getByText('A test event is on its way.').waitFor()
  const [told] = await until(() => receiver.told.length > 0 && receiver.told)
  await page.getByText('It answered 204').first().waitFor() // without a press: the page reads it by itself
  return told!
}

test('a secret is shown once, and a test event arrives signed with it and is in the log as it was sent', async () => {
  const { page, secret, path } = await anEndpoint()
  const told = await tried(page)
  expect(verified(secret, told)).toMatchObject({ type: 'webhook.test' })
  await page.getByText('Request and responses').click()
  await page.getByText(`webhook-id: ${told.headers['webhook-id']}`).waitFor()
  await page.getByText(told.body).waitFor()
  for (const place of [path, `${path}?change`, List, '/settings/activity'])
    expect(await (await page.request.get(place)).text()).not.toContain(secret.slice(6))
})

test('all of it works without scripts', async () => {
  const { page, secret } = await anEndpoint({ javaScriptEnabled: false })
  await press(page, 'Send test event')
  const [told] = await until(() => receiver.told.length > 0 && receiver.told)
  expect(verified(secret, told!)).toMatchObject({ type: 'webhook.test' })
  await press(page, 'Send again')
  await page.getByText("We're sending it again.").waitFor()
  await press(page, 'Delete')
  await press(page, 'Delete endpoint')
  await page.getByText('Endpoint deleted.').waitFor()
})

test('what is wrong with an endpoint stands beside its field, and a form without a tick adds nothing', async () => {
  const { page, path } = await anEndpoint()
  await page.goto(`${List}?add`)
  await page.getByLabel('URL').fill('ftp://example.org')
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
  await press(page, 'Add')
  await page.getByText('Must be a URL that starts with https:// or http://.').waitFor()
  await page.getByText('Choose at least one event.').waitFor()
  expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)
  await page.goto(`${path}?change`)
  await page.getByLabel('Description').fill('Order desk')
  await page.getByLabel('post.updated').uncheck()
  await press(page, 'Save')
  await page.getByText('Saved.').waitFor()
  await page.getByText('Order desk').waitFor()
  expect(await page.getByText('post.updated').count()).toBe(0)
  await page.goto(`${path}?change`)
  await page.getByLabel('Description').fill('')
  await press(page, 'Save')
  await page.getByText('Saved.').waitFor()
  expect(await page.getByText('Order desk').count()).toBe(0)
})

test('a description of two lines keeps them when something else is saved', async () => {
  const { page, path } = await anEndpoint()
  await here.db.execute(
    sql`update webhooks set description = ${'Orders\nteam A'} where id = ${path.split('/').at(-1)!}`,
  )
  await page.goto(`${path}?change`)
  await page.getByLabel('post.updated').uncheck()
  await press(page, 'Save')
  await page.getByText('Saved.').waitFor()
  const [webhook] = await here.db.execute(sql`select description from webhooks where id = ${path.split('/').at(-1)!}`)
  expect(webhook).toMatchObject({ description: 'Orders\nteam A' })
})

test('after a rotation the new secret is shown once, and calls are signed with both', async () => {
  const { page, secret, path } = await anEndpoint()
  await press(page, 'Rotate secret')
  await page.getByText('For 24 hours we sign each call with both').waitFor()
  await press(page, 'Make a new secret')
  const newSecret = await shownSecret(page)
  const told = await tried(page)
  for (const one of [secret, newSecret]) expect(verified(one, told)).toMatchObject({ type: 'webhook.test' })
  await page.goto(path)
  await page.getByText('We also sign calls with the old secret').waitFor()
  expect(await page.content()).not.toContain(newSecret.slice(6))
})

test('an endpoint is switched off and on, and deleted, and the audit log has it', async () => {
  const { page } = await anEndpoint()
  await press(page, 'Switch off')
  await page.getByText('Events that are waiting now are not sent').waitFor()
  await press(page, 'Switch off now')
  await page.getByText('by hand. We send it nothing until you switch it on.').waitFor()
  expect(await page.getByRole('button', { name: 'Send test event' }).count()).toBe(0)
  await press(page, 'Switch on')
  await page.getByText('Switched on.').waitFor()
  await press(page, 'Delete')
  await press(page, 'Delete endpoint')
  await page.getByText('Endpoint deleted.').waitFor()
  await page.getByText('No endpoints yet').waitFor()
  await page.goto('/settings/activity')
  for (const deed of ['added the webhook', 'switched the webhook', 'deleted the webhook'])
    await page.getByText(`Ada ${deed} ${receiver.url}`).first().waitFor()
})

test('an endpoint that fails, or is off for that, is named on top of the list with what to do', async () => {
  receiver.answer = (_told, res) => res.writeHead(500).end('Sorry, no.')
  const { page, path } = await anEndpoint()
  await press(page, 'Send test event')
  await page.getByText('Sorry, no.').first().waitFor()
  await page.getByText('This endpoint has been failing since').waitFor()
  await page.goto(List)
  await page.getByText('After three days of failures, we switch it off.').waitFor()
  await page.goto(path)
  receiver.answer = (_told, res) => res.writeHead(410).end()
  await press(page, 'Send again')
  await page.getByText('because it answered 410 Gone. Fix the receiver, then switch it on.').waitFor()
  await page.goto(List)
  await page.getByText('because it answered 410 Gone. Fix the receiver, then switch it on.').waitFor()
  await page.goto('/settings/activity')
  await page.getByText(`Punctual switched the webhook ${receiver.url} off`).waitFor()
  await page.getByText('it answered 410 Gone').waitFor()
})

test('an endpoint that is switched off while its page is read is shown as off', async () => {
  const { page, path } = await anEndpoint()
  await tried(page)
  let reading: Promise<unknown> = Promise.resolve()
  await here.db.transaction(async (tx) => {
    await tx.execute(sql`lock table webhook_deliveries in access exclusive mode`)
    reading = page.goto(path)
    await until(async () => {
      const waiting = await tx.execute(sql`
        select from pg_locks where relation = 'webhook_deliveries'::regclass and not granted`)
      return waiting.length > 0
    })
    await tx.execute(
      sql`update webhooks set off_since = now(), off_reason = 'gone' where id = ${path.split('/').at(-1)}`,
    )
  })
  await reading
  await page.getByText('because it answered 410 Gone.').waitFor()
})

test('the log is filtered by outcome and read page by page', async () => {
  const { page, path } = await anEndpoint()
  await here.db.execute(sql`
    with event as (
      insert into events (id, organisation_id, type, subject)
      select gen_random_uuid(), organisation_id, 'post.created', '{}' from webhooks where id = ${path.split('/').at(-1)}
      returning id, organisation_id
    )
    insert into webhook_deliveries (id, organisation_id, webhook_id, event_id, state, created_at)
    select gen_random_uuid(), e.organisation_id, ${path.split('/').at(-1)}, e.id, 'failed', now() - no * interval '1 minute'
    from event e, generate_series(1, 25) no`)
  await tried(page)
  const log = page.getByRole('region', { name: 'Deliveries' })
  expect(await log.getByText('webhook.test', { exact: true }).count()).toBe(1)
  await log.getByRole('link', { name: 'Failed' }).click()
  await expect.poll(() => log.getByText('webhook.test', { exact: true }).count()).toBe(0)
  expect(await log.getByText('Not sent').count()).toBe(20)
  await log.getByRole('link', { name: 'Older' }).click()
  await expect.poll(() => log.getByText('Not sent').count()).toBe(5)
  await log.getByRole('link', { name: 'Back to newest' }).click()
  await expect.poll(() => log.getByText('Not sent').count()).toBe(20)
})

test('an editor sees who manages webhooks, and no webhook', async () => {
  const { page, path } = await anEndpoint()
  const [row] = await here.db.execute<{ id: string }>(
    sql`select organisation_id as id from webhooks where id = ${path.split('/').at(-1)}`,
  )
  await here.db.execute(sql`update memberships set role = 'editor' where organisation_id = ${row!.id}`)
  await page.goto(List)
  await page.getByText('Owners and admins of this organisation add webhooks here.').waitFor()
  expect(await page.getByText(receiver.url).count()).toBe(0)
  expect((await page.request.get(path)).status()).toBe(403)
})
