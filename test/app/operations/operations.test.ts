import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../../db/client.ts'
import { showPresence } from '../../../jobs/monitoring/presence.ts'
import { atCommandLine } from '../../../server/access/audit.ts'
import { suspendOrganisation, unsuspendOrganisation } from '../../../server/operations/suspension.ts'
import { anOrganisation } from '../../builders.ts'
import { deliveryOf } from '../../world.ts'
import { type BrowserSite, browserSite, connectFeed, signUp, withChromium } from '../browser.ts'
import { aDayOfMinutes, Operator, signInOperator, troubles } from './installation.ts'

const hasChromium = withChromium()
let here: BrowserSite
let page: Page
let state: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>
let stuck: Awaited<ReturnType<typeof troubles>>

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite({ operators: Operator })
  page = await here.page()
  await signInOperator(page, here.db, here.site)
  stuck = await troubles(here.db, here.site.secretKey)
  await aDayOfMinutes(here.db)
  state = await page.context().storageState()
})
afterAll(() => here?.end())

const press = (name: string, on = page) => on.getByRole('button', { name, exact: true }).click()
const row = (text: string, on = page) => on.getByRole('listitem').filter({ hasText: text })
const tab = (name: string) => page.getByRole('link', { name, exact: false })

test('an operator stops everything and lets it go on: what is due then goes out', async () => {
  await connectFeed(page, 'Harbour news')
  await page.getByRole('link', { name: 'Operations' }).click()
  await page.getByRole('heading', { name: 'Operations' }).waitFor()
  await page.getByText('The workers send due posts.').waitFor()
  await press('Pause all')
  await press('Pause all sending')
  await page.getByText('Paused. Posts that are being sent now will finish.').waitFor()
  await page.getByText('An operator paused all sending on').waitFor()
  await page.goto('/posts/new')
  await page.getByLabel('Harbour news').check()
  await page.getByLabel('Text', { exact: true }).fill('After the pause')
  await press('Publish now')
  await page.getByText('Scheduled, but the operator has paused sending').waitFor()
  const post = page.url()
  await page.goto('/operations')
  await press('Resume')
  await page.getByText('Resumed, except what is still paused or suspended below.').waitFor()
  await page.goto(post)
  await page.getByRole('status').getByText('Published').waitFor()
})

test('a restored backup is shown with what to do, and resuming ends it', async () => {
  await here.db.execute(sql`update installation set restored_at = now() - interval '2 days'`) // what was due before waits for a person
  await page.goto('/operations')
  await page.getByText('This database is a restored backup.').waitFor()
  await press('Resume')
  await page.getByText('The workers send due posts.').waitFor()
})

test('a suspended organisation is named until its suspension ends', async () => {
  const { organisationId } = await anOrganisation(here.db, 'Quiet Works')
  await suspendOrganisation(here.db, atCommandLine, organisationId)
  await page.goto('/operations')
  await page.getByRole('heading', { name: 'Suspended organisations' }).waitFor()
  expect(await row('Quiet Works').textContent()).toContain(organisationId)
  await unsuspendOrganisation(here.db, atCommandLine, organisationId)
  await page.goto('/operations')
  expect(await page.getByText('Quiet Works').count()).toBe(0)
})

test('to everybody else the page is one that is not there', async () => {
  const stranger = await here.page()
  const seen = async (path: string) => {
    const answer = await stranger.goto(path)
    return {
      status: answer!.status(),
      title: await stranger.title(),
      text: await stranger.getByRole('main').textContent(),
    }
  }
  const posted = async (path: string) =>
    (
      await stranger.request.post(path, {
        form: { intent: 'pause', scope: 'all' },
        headers: { origin: here.site.appUrl },
      })
    ).status()
  expect(await seen('/operations')).toEqual(await seen('/nothing/here'))
  expect(await posted('/operations')).toBe(404)
  await signUp(stranger, here.site)
  expect(await seen('/operations')).toEqual(await seen('/nothing/here'))
  expect((await seen('/operations')).status).toBe(404)
  expect(await posted('/operations')).toBe(404)
  expect(await stranger.getByRole('link', { name: 'Operations' }).count()).toBe(0)
  const [installation] = await here.db.execute(sql`select paused_at from installation`)
  expect(installation).toEqual({ paused_at: null })
})

test('each kind of what is stuck is listed with whose it is and why, and no text of a post', async () => {
  await page.goto('/operations')
  await row('Notes on the engine of Analytical Engines').first().waitFor()
  for (const [name, sentence] of [
    ['Overdue', 'The server could not be reached.'],
    ['Uncertain', 'It took too long.'],
    ['Needs review', 'Nobody can tell whether the post went out.'],
    ['Waiting for reconnect', 'The network no longer accepts this connection.'],
    ['Suspects', 'Three workers ended while they were at it.'],
  ]) {
    await tab(`${name} `).click()
    await page.getByText(sentence!).waitFor()
    expect(await page.getByRole('main').textContent()).not.toContain('hello')
  }
})

test('a suspect that failed is sent again, and what lost its wake-up is woken', async () => {
  await here.db.execute(sql`
    update deliveries set look_at = now(), look_token = gen_random_uuid(), lease_until = now() + interval '1 hour',
      lease_owner = (select owner from workers where gone_at is null limit 1) where id = ${stuck.uncertain}`)
  await page.goto('/operations?stuck=uncertain')
  await row(stuck.uncertain).getByRole('button', { name: 'Wake now' }).click()
  await page.getByText('Wake-up sent to the workers.').waitFor()
  await page.goto('/operations')
  for (const id of [stuck.overdue, stuck.waiting]) {
    await row(id).waitFor()
    expect(await row(id).getByRole('button', { name: 'Wake now' }).count()).toBe(0)
  }
  await page.goto('/operations?stuck=suspects')
  await row(stuck.suspect).getByRole('button', { name: 'Retry' }).click()
  await page.getByText('Retrying now.').waitFor()
  expect(await deliveryOf(here.db, stuck.suspect)).toMatchObject({ state: 'scheduled', crashCount: 0 })
})

test('an action that someone else has done meanwhile gets an explanation', async () => {
  await here.db.execute(sql`update deliveries set state = 'failed', crash_count = 3 where id = ${stuck.suspect}`)
  await page.goto('/operations?stuck=suspects')
  await here.db.execute(sql`update deliveries set state = 'cancelled' where id = ${stuck.suspect}`)
  await row(stuck.suspect).getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('alert').getByText('This post has no failed deliveries.').waitFor()
})

test('a network and a channel are paused and resumed, and the channel’s organisation reads it in its activity', async () => {
  await page.goto('/operations?stuck=uncertain')
  await row(stuck.uncertain).getByRole('button', { name: 'Pause channel' }).click()
  await press('Pause it')
  await page.getByRole('heading', { name: 'Paused channels' }).waitFor()
  await row('charles.example.org of').getByRole('button', { name: 'Resume channel' }).last().click()
  await row(stuck.uncertain).getByRole('button', { name: 'Pause channel' }).waitFor()
  const network = row('Bluesky').filter({ hasText: 'in progress' })
  await network.getByRole('button', { name: 'Pause network' }).click()
  await page.getByRole('heading', { name: 'Pause Bluesky?' }).waitFor()
  await press('Pause it')
  await network.getByText('paused on').waitFor()
  await press('Pause all')
  await press('Pause all sending')
  await page.getByText('Paused. Posts that are being sent now will finish.').waitFor()
  await row(stuck.uncertain).getByRole('button', { name: 'Pause channel' }).click()
  await press('Pause it')
  await row(stuck.uncertain).getByRole('button', { name: 'Resume channel' }).click()
  await page.getByText('Resumed, but all sending is still stopped.').waitFor()
  await press('Resume')
  await page.getByText('Resumed, except what is still paused or suspended below.').waitFor()
  await row(stuck.uncertain).getByRole('button', { name: 'Pause channel' }).click()
  await press('Pause it')
  await row(stuck.uncertain).getByRole('button', { name: 'Resume channel' }).click()
  await page.getByText('Resumed, but its network is still paused.').waitFor()
  await network.getByRole('button', { name: 'Resume network' }).click()
  await network.getByRole('button', { name: 'Pause network' }).waitFor()
  await here.db.execute(sql`
    insert into memberships (organisation_id, account_id, role)
    select ${stuck.organisationId}, id, 'owner' from accounts where email = ${Operator}`)
  const form = { id: stuck.organisationId }
  await page.request.post('/organisation', { form, headers: { origin: here.site.appUrl } })
  await page.goto('/settings/activity')
  await page.getByText('The operator Grace paused the channel charles.example.org').first().waitFor()
})

test('a pause asks first and names what happens; nothing is paused before, nor after Keep sending', async () => {
  await page.goto('/operations')
  await press('Pause all')
  await page.getByText('No posts go out until you resume, in any organisation.').waitFor()
  const paused = () => here.db.execute(sql`select paused_at from installation`)
  expect(await paused()).toEqual([{ paused_at: null }])
  await page.getByRole('link', { name: 'Keep sending' }).click()
  await page.getByRole('heading', { name: 'Pause all sending?' }).waitFor({ state: 'detached' })
  expect(await paused()).toEqual([{ paused_at: null }])
})

test('depth and lateness of a day are drawn, said in a sentence and given as numbers', async () => {
  await page.goto('/operations')
  await page
    .getByRole('img', { name: /^Due but not sent, over the last 24 hours: at most 1,330, in the half hour from/ })
    .waitFor()
  await page.getByRole('img', { name: /^Lateness of sent posts, over the last 24 hours: at most 3.2 min, / }).waitFor()
  await page.getByText('The numbers').click()
  await page.getByRole('cell', { name: '1,330', exact: true }).waitFor()
})

test('a worker is shown alive, and one that lives without a heartbeat as silent', async () => {
  const frozen = connect(here.site.databaseUrl, { connections: 1, name: 'test' })
  await showPresence(frozen.db, 'frozen')
  await here.db.execute(sql`
    insert into workers (owner, host, pid, concurrency, started_at, seen_at)
    values ('frozen', 'worker-2.internal.example', 4711, 50, now() - interval '3 days', now() - interval '2 minutes')`)
  await page.goto('/operations')
  await row('worker-2.internal.example, process 4711').getByText('Silent').waitFor()
  expect(await row('process').getByText('Alive').count()).toBe(1)
  await frozen.end()
})

test('all of it works without scripts', async () => {
  const plain = await here.page({ javaScriptEnabled: false, storageState: state })
  await plain.goto('/operations?stuck=held')
  await row(stuck.held, plain).getByRole('button', { name: 'Pause channel' }).click()
  await press('Pause it', plain)
  await plain.getByText('Paused. Posts that are being sent now will finish.').waitFor()
  await row(stuck.held, plain).getByRole('button', { name: 'Resume channel' }).click()
  await plain.getByText('Resumed. Due posts go out now.').waitFor()
})

test.each([
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 390 },
  { colorScheme: 'dark', width: 1280 },
] as const)(
  'axe finds nothing, and the page fits: $colorScheme, $width pixels wide',
  async ({ colorScheme, width }) => {
    const look = await here.page({ colorScheme, viewport: { width, height: 900 }, storageState: state })
    for (const kind of ['overdue', 'suspects']) {
      await look.goto(`/operations?stuck=${kind}`)
      await look.getByText('The numbers').click()
      const { violations } = await new AxeBuilder({ page: look }).setLegacyMode().analyze()
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
      const { scrollWidth, clientWidth } = await look.evaluate(() => document.documentElement)
      expect(scrollWidth).toBe(clientWidth)
    }
  },
  180_000,
)
