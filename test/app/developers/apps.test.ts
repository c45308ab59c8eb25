import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountByEmail } from '../../../server/accounts/account.ts'
import { aPhoto } from '../../builders.ts'
import { type BrowserSite, browserSite, signUp, withChromium } from '../browser.ts'

const hasChromium = withChromium()
let here: BrowserSite

beforeAll(async () => {
  if (hasChromium) here = await browserSite()
})
afterAll(() => here?.end())

type App = { path: string; clientId: string; clientSecret: string }

/** Somebody with an app of theirs, made through its form. */
async function maker(name = 'Calendar'): Promise<{ page: Page; email: string; app: App }> {
  const page = await here.page()
  const email = await signUp(page, here.site, { organisation: 'Makers' })
  return { page, email, app: await make(page, name) }
}

async function make(page: Page, name: string, picture?: Buffer): Promise<App> {
  await page.goto('/settings/developers/apps?create')
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Redirect URL').fill('http://127.0.0.1:9/cb')
  if (picture) await page.getByLabel('Picture').setInputFiles({ name: 'p.png', mimeType: 'image/png', buffer: picture })
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText(`${name} is registered`).waitFor()
  const [clientId, clientSecret] = await page.locator('code').allTextContents()
  const path = await page.locator('#main').getByRole('link', { name }).getAttribute('href')
  return { path: path!, clientId: clientId!, clientSecret: clientSecret! }
}

/** How an endpoint, that of tokens unless another is named, likes a client: a good one has only its code wrong. */
async function errorFor({ clientId }: App, secret: string, endpoint = 'token'): Promise<string> {
  const form = { grant_type: 'authorization_code', code: 'none', client_id: clientId, client_secret: secret }
  const answer = await fetch(`${here.site.appUrl}/oauth/${endpoint}`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  return ((await answer.json()) as { error: string }).error
}

/** Approve the app in the page's browser, and swap the code for a token. */
async function tokenFor(page: Page, { clientId, clientSecret }: App): Promise<string> {
  const path = `/oauth/authorize?client_id=${clientId}&response_type=code`
  await page.goto(path)
  const request = await page.locator('input[name=request]').inputValue()
  const options = { maxRedirects: 0, headers: { origin: here.site.appUrl } }
  const sent = await page.request.post(path, { form: { request, decision: 'approve', reach: 'all' }, ...options })
  const code = new URL(sent.headers().location!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, client_id: clientId, client_secret: clientSecret }
  const answer = await fetch(`${here.site.appUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await answer.json()) as { access_token: string }).access_token
}

const statusOf = async (token: string) =>
  (await fetch(`${here.site.appUrl}/public/v1/me`, { headers: { authorization: token } })).status

const aPicture = () => aPhoto({ width: 900, height: 300 })

describe('Developers › Apps', () => {
  test('an app is changed, and its picture is fitted and shown', async () => {
    const { page, app } = await maker()
    await page.goto(app.path)
    await page.getByRole('heading', { name: 'Developers › Apps › Calendar' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Diary')
    await page.getByLabel('Redirect URL').fill('https://a.example/cb\nhttps://b.example/cb')
    const picture = { name: 'p.png', mimeType: 'image/png', buffer: await aPicture() }
    await page.getByLabel('Picture').setInputFiles(picture)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.reload()
    await expect
      .poll(() => page.getByLabel('Redirect URL').inputValue())
      .toBe('https://a.example/cb\nhttps://b.example/cb')
    const src = (await page.locator('main img').getAttribute('src'))!
    const { width, height } = await sharp(Buffer.from(await (await fetch(src)).arrayBuffer())).metadata()
    expect([width, height]).toEqual([256, 85])
    await page.getByRole('link', { name: 'Try it' }).click()
    const link = await page.getByRole('link', { name: 'Open it' }).getAttribute('href')
    expect(new URL(link!).searchParams.get('redirect_uri')).toBe('https://a.example/cb')
  })

  test('a removed picture is deleted with its file, and the audit log says who did it', async () => {
    const { page } = await maker()
    const app = await make(page, 'Pictured', await aPicture())
    await page.goto(app.path)
    const src = (await page.locator('main img').getAttribute('src'))!
    expect((await fetch(src)).status).toBe(200)
    await page.getByLabel('Description').fill('Half written')
    await page.getByRole('button', { name: 'Remove picture' }).click()
    await page.getByText('Picture removed.').waitFor()
    await expect.poll(() => page.locator('main img').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Remove picture' }).count()).toBe(0)
    await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('Half written')
    expect((await fetch(src)).status).toBe(404)
    await page.goto('/settings/activity')
    await page.getByText('Ada changed the app Pictured').first().waitFor()
    await page.getByText('picture removed').waitFor()
  })

  test('a picture that is none costs neither the app nor the one showing of its secret', async () => {
    const { page } = await maker()
    const app = await make(page, 'Blurred', Buffer.from('no picture'))
    await page.getByText("We couldn't use the picture.").waitFor()
    expect(await errorFor(app, app.clientSecret)).toBe('invalid_grant')
    await page.goto(app.path)
    await page
      .getByLabel('Picture')
      .setInputFiles({ name: 'p.png', mimeType: 'image/png', buffer: Buffer.from('none') })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByLabel('Picture').and(page.locator('[aria-invalid]')).waitFor()
    const large = { name: 'p.png', mimeType: 'image/png', buffer: Buffer.alloc(21 * 1024 * 1024) }
    const multipart = { intent: 'create', name: 'Vast', redirectUris: 'https://a.example/', picture: large }
    const headers = { origin: here.site.appUrl }
    const answer = await page.request.post('/settings/developers/apps?index', { multipart, headers })
    expect(await answer.text()).toContain('larger than 20 MB')
  })

  test('rotating ends the old secret at once, unless the overlap was chosen', async () => {
    const { page, app } = await maker()
    await page.goto(app.path)
    const rotated = async (overlap: string, before: string) => {
      await page.getByLabel(overlap).check()
      await page.getByRole('button', { name: 'Rotate secret' }).click()
      await page.getByText('New client secret', { exact: true }).waitFor()
      await expect.poll(() => shown.textContent()).not.toBe(before)
      return (await shown.textContent())!
    }
    const shown = page.locator('code', { hasText: /^pcs_/ })
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByText('Choose when the old secret stops working.').waitFor()
    expect(await errorFor(app, app.clientSecret)).toBe('invalid_grant')
    const second = await rotated('The old secret stops working at once', '')
    expect(await errorFor(app, app.clientSecret)).toBe('invalid_client')
    await rotated('The old secret works for another 24 hours', second)
    await page.getByText('valid until').first().waitFor()
    expect(await errorFor(app, second)).toBe('invalid_grant')
  })

  test('the last attempts say in words what went wrong', async () => {
    const { page, app } = await maker()
    await page.goto(`/oauth/authorize?client_id=${app.clientId}&redirect_uri=https://evil.example/`)
    await page.getByRole('heading', { name: 'This request is refused' }).waitFor()
    for (const endpoint of ['token', 'revoke', 'introspect']) await errorFor(app, 'wrong', endpoint)
    await page.goto(`${app.path}/try`)
    await page.getByText('Authorize link: Refused, without a redirect').waitFor()
    for (const step of ['Code exchange', 'Token revocation', 'Token introspection'])
      await page.getByText(`${step}: Refused (invalid_client)`).waitFor()
    expect(await page.getByText(/ from [\d.:a-f]+$/).count()).toBe(3)
  })

  test('an app is deleted once its name was typed, and its tokens with it', async () => {
    const { page, app } = await maker()
    const token = await tokenFor(page, app)
    await page.goto(app.path)
    await page.getByLabel('Type Calendar to delete it').fill('calendar')
    await page.getByRole('button', { name: 'Delete app' }).click()
    await page.getByText('Type Calendar to delete it.', { exact: true }).waitFor()
    expect(await statusOf(token)).toBe(200)
    await page.getByLabel('Type Calendar to delete it').fill('Calendar')
    await page.getByRole('button', { name: 'Delete app' }).click()
    await page.getByText('App deleted.').waitFor()
    expect(await statusOf(token)).toBe(401)
    await page.goto('/settings/approved-apps')
    await page.getByText('No approved apps').waitFor()
  })

  test('who is neither owner nor admin reads and changes nothing here', async () => {
    const { page, email, app } = await maker()
    const { id } = (await accountByEmail(here.db, email))!
    await here.db.execute(sql`update memberships set role = 'editor' where account_id = ${id}`)
    for (const path of ['/settings/developers/apps', '/settings/activity']) {
      await page.goto(path)
      await page.getByText('Owners and admins').waitFor()
      expect(await page.locator('#main').getByText('Calendar').count()).toBe(0)
    }
    expect((await page.goto(app.path))?.status()).toBe(403)
  })
})

test('an approved app is shown with what it may, to the person under their own, and stopped for this organisation', async () => {
  const { page, app } = await maker()
  const elsewhere = await here.page()
  const email = await signUp(elsewhere, here.site)
  const [mine, theirs] = [await tokenFor(elsewhere, app), await tokenFor(page, app)]
  expect(await statusOf(mine)).toBe(200)
  await elsewhere.goto('/settings/approved-apps?mine')
  for (const said of ['by Makers', 'Create, schedule, publish, change and cancel posts', 'All channels', 'Ada,'])
    await elsewhere.getByText(said).waitFor()
  const { id } = (await accountByEmail(here.db, email))!
  await here.db.execute(sql`update grants set approved_by = null where approved_by = ${id}`)
  await elsewhere.reload()
  await elsewhere.getByText('No apps that you approved').waitFor()
  await elsewhere.getByRole('link', { name: 'All' }).click()
  await elsewhere.getByRole('button', { name: 'Revoke' }).click()
  await elsewhere.getByText('Its token stops working from the next request').waitFor()
  expect(await statusOf(mine)).toBe(200) // asked first
  await elsewhere.getByRole('button', { name: 'Revoke app' }).click()
  await elsewhere.getByText('App revoked.').waitFor()
  expect([await statusOf(mine), await statusOf(theirs)]).toEqual([401, 200])
})

test('the audit log says who did what, newest first, page by page', async () => {
  const { page, app } = await maker()
  await tokenFor(page, app)
  await page.goto('/settings/activity')
  const lines = await page.getByRole('listitem').locator('p:first-child').allTextContents()
  expect(lines.slice(-3)).toEqual([
    'The app Calendar was given access',
    'Ada approved the app Calendar',
    'Ada created the app Calendar',
  ])
  await here.db.execute(sql`
    insert into activity (id, organisation_id, at, action, actor_kind, actor_name, subject_name, outcome)
    select gen_random_uuid(), a.organisation_id, now() - n * interval '1 hour', 'key.revoked', 'member', 'Ada', 'Key ' || n, 'ok'
    from apps a, generate_series(1, 60) n where a.client_id = ${app.clientId}`)
  await page.reload()
  await page.getByRole('link', { name: 'Older' }).click()
  await page.getByText('Ada revoked the API key Key 60').waitFor()
  await page.getByRole('link', { name: 'Back to newest' }).click()
  await page.getByText('Ada approved the app Calendar').waitFor()
})

describe.each([
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 390 },
  { colorScheme: 'dark', width: 1280 },
] as const)('$colorScheme, $width pixels wide', ({ colorScheme, width }) => {
  test('axe finds nothing on the pages of OAuth, and none is wider than the screen', async () => {
    const { page: first, app } = await maker('An app with a name that is rather long for a small screen')
    await tokenFor(first, app)
    await errorFor(app, 'wrong')
    const storageState = await first.context().storageState()
    const page = await here.page({ storageState, colorScheme, viewport: { width, height: 900 } })
    const settings = ['developers/apps', 'developers/apps?create', 'approved-apps', 'activity'].map(
      (p) => `/settings/${p}`,
    )
    const consent = `/oauth/authorize?client_id=${app.clientId}&response_type=code`
    for (const path of [...settings, app.path, `${app.path}/try`, consent, '/oauth/authorize'])
      await expectClean(page, path)
    await page.goto('/settings/approved-apps')
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke app' }).waitFor()
    await expectClean(page, null)
  }, 120_000)
})

async function expectClean(page: Page, path: string | null): Promise<void> {
  if (path) await page.goto(path)
  await page.locator('h1').waitFor()
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  expect(violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes.map(({ html }) => html)}`)).toEqual([])
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  )
  expect(`${path}: ${overflow}`).toBe(`${path}: 0`)
}
