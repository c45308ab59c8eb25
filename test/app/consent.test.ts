import type { Page } from '@playwright/test'
import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountByEmail } from '../../server/account.ts'
import { until } from '../processes.ts'
import { type BrowserSite, browserSite, connectFeed, Password, signUp, withChromium } from './browser.ts'
import { aSite } from './elsewhere.ts'

// The consent page in a real browser. An app's callback and the pages of an attacker are on other ports of localhost:
// another origin, and still the same site, so that the session's cookie goes along with whatever they send.

const hasChromium = withChromium()
const State = 'a%2Bb%20%C3%A9%26%3D%2f'
let here: BrowserSite
let callback: Awaited<ReturnType<typeof aSite>> // the app's
let app: { id: string; clientId: string; clientSecret: string }

beforeAll(async () => {
  if (!hasChromium) return
  here = await browserSite()
  const third = await aSite(() => ({ body: 'the end' }))
  callback = await aSite(({ url }) =>
    url!.startsWith('/hop') ? { location: `${third.origin}/there` } : { body: 'here' },
  )
  app = await register(callback.origin)
})
afterAll(() => here?.end())

/** Register an app through its form; its callbacks are at `origin`. */
async function register(origin: string) {
  const page = await here.page()
  await signUp(page, here.site, { organisation: 'Makers' })
  await page.goto('/settings/developers/apps')
  await page.getByRole('button', { name: 'Create app' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Calendar')
  await page.getByLabel('Description').fill('Posts beside your meetings.')
  await page.getByLabel('Redirect URL').fill(`${origin}/cb?kept=1\nhttp://elsewhere.example/`)
  await page.getByText('http://elsewhere.example/: Must be https').waitFor() // as it is typed
  await page.getByLabel('Redirect URL').fill(`${origin}/cb?kept=1\n${origin}/hop`)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Calendar is registered').waitFor()
  const [clientId, clientSecret] = await page.locator('code').allTextContents()
  const id = (await page.getByRole('link', { name: 'Calendar' }).getAttribute('href'))!.split('/').at(-1)!
  return { id, clientId: clientId!, clientSecret: clientSecret! }
}

function authorizePath(more = ''): string {
  return `/oauth/authorize?client_id=${app.clientId}&response_type=code&state=${State}${more}`
}

async function grantsOf(email: string) {
  const { id } = (await accountByEmail(here.db, email))!
  const rows = await here.db.execute<{ organisation: string; channels: string[] | null }>(sql`
    select o.name as organisation, g.channel_ids as channels from grants g
    join organisations o on o.id = g.organisation_id where g.approved_by = ${id} order by g.created_at`)
  return [...rows]
}

/** A person at the consent page, signed in. */
async function asked(options = {}): Promise<{ page: Page; email: string }> {
  const page = await here.page(options)
  const email = await signUp(page, here.site)
  await page.goto(authorizePath())
  return { page, email }
}

const approve = (page: Page) => page.getByRole('button', { name: 'Approve' })

test('a person without an account signs up and is back at the same request; the app gets its code and state', async () => {
  const page = await here.page()
  await page.goto(authorizePath())
  expect(new URL(page.url()).pathname).toBe('/login')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Una')
  await page.getByLabel('E-mail').fill('una@example.org')
  await page.getByLabel('Password').fill(Password)
  await page.getByLabel('Organisation').fill('Una & Co')
  await page.getByRole('button', { name: 'Create account' }).click()

  await page.getByRole('heading', { name: 'Calendar wants to use Una & Co' }).waitFor()
  expect(page.url()).toBe(here.site.appUrl + authorizePath())
  for (const said of [
    'Made by Makers',
    'Posts beside your meetings.',
    'Publish and schedule posts, change and cancel them',
  ])
    await page.getByText(said).waitFor()
  await page.getByText(callback.origin).waitFor()
  await approve(page).click()
  await page.getByText('here').waitFor()

  expect(page.url()).toMatch(new RegExp(`^${callback.origin}/cb\\?kept=1&code=[\\w-]{43}&iss=[^&]+&state=${State}$`))
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code: new URL(page.url()).searchParams.get('code')!,
    client_id: app.clientId,
    client_secret: app.clientSecret,
  })
  expect((await fetch(`${here.site.appUrl}/oauth/token`, { method: 'POST', body })).status).toBe(200)
})

test('who has an account signs in and is back at the same request', async () => {
  const { page, email } = await asked()
  await page.context().clearCookies()
  await page.goto(authorizePath())
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(Password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await approve(page).waitFor()
  expect(page.url()).toBe(here.site.appUrl + authorizePath())
})

test('signing in leads nowhere but to a path of ours, whatever its query', async () => {
  const { page } = await asked()
  const strange = [
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '',
  ]
  for (const next of [...strange, '/oauth/authorize?state=a\\b//c&x=https://d']) {
    const answer = await page.request.get(`/login?next=${encodeURIComponent(next)}`, { maxRedirects: 0 })
    expect(answer.headers().location).toBe(next.startsWith('/oauth') ? next : '/')
  }
})

test('who denies goes back with access_denied and lets nobody in', async () => {
  const { page, email } = await asked()
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('here').waitFor()
  const answer = new URL(page.url())
  expect(answer.searchParams.get('error')).toBe('access_denied')
  expect(answer.search.endsWith(`&state=${State}`)).toBe(true)
  expect(await grantsOf(email)).toEqual([])
})

describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
  test('the channels are those of the chosen organisation, and a choice without one is asked again', async () => {
    const page = await here.page({ javaScriptEnabled })
    const email = await signUp(page, here.site, { organisation: 'First' })
    await connectFeed(page, 'Only feed')
    await joinAnother(email)
    await page.goto(authorizePath())
    await page.getByRole('heading', { name: 'Calendar wants to use First' }).waitFor()
    await page.getByLabel('Organisation').selectOption('Another')
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show its channels' }).click()
    await page.getByRole('heading', { name: 'Calendar wants to use Another' }).waitFor()
    expect(await page.getByLabel('Only these').count()).toBe(0)
    await page.getByLabel('Organisation').selectOption('First')
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show its channels' }).click()
    await page.getByLabel('Only these').check()
    await approve(page).click()
    await page.getByText('Choose at least one channel.').waitFor()
    await page.getByLabel('Only feed').check()
    await approve(page).click()
    await page.getByText('here').waitFor()
    expect(await grantsOf(email)).toEqual([{ organisation: 'First', channels: [expect.any(String)] }])
  })
})

async function joinAnother(email: string): Promise<void> {
  const { id } = (await accountByEmail(here.db, email))!
  const organisationId = uuidv7()
  await here.db.execute(sql`insert into organisations (id, name) values (${organisationId}, 'Another')`)
  await here.db.execute(sql`
    insert into memberships (organisation_id, account_id, role) values (${organisationId}, ${id}, 'admin')`)
}

test('who may approve for no organisation can only deny', async () => {
  const page = await here.page()
  const { id } = (await accountByEmail(here.db, await signUp(page, here.site)))!
  await here.db.execute(sql`update memberships set role = 'editor' where account_id = ${id}`)
  await page.goto(authorizePath())
  await page.getByText('Only owners and admins').waitFor()
  expect(await approve(page).count()).toBe(0)
  await page.getByRole('button', { name: 'Go back' }).click()
  await page.getByText('here').waitFor()
  expect(page.url()).toContain('error=access_denied')
})

test.each([true, false])('Enter decides nothing, with scripts: %s', async (javaScriptEnabled) => {
  const page = await here.page({ javaScriptEnabled })
  await signUp(page, here.site)
  await connectFeed(page, 'Only feed')
  await page.goto(authorizePath())
  await page.getByLabel('Only these').check()
  await page.getByLabel('Only these').press('Enter')
  await page.getByLabel('Only feed').check()
  await page.getByLabel('Only feed').press('Enter')
  expect(await page.getByLabel('Only feed').isChecked()).toBe(true)
  await approve(page).click()
  await page.getByText('here').waitFor()
  expect(new URL(page.url()).searchParams.has('code')).toBe(true)
})

test('who is signed in as somebody else signs in anew and is back at the same request', async () => {
  const { page } = await asked()
  const before = await page.context().cookies()
  const email = await signUp(await here.page(), here.site, { organisation: 'The right one' })
  await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(Password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Calendar wants to use The right one' }).waitFor()
  expect(page.url()).toBe(here.site.appUrl + authorizePath())
  await page.context().addCookies(before)
  await page.goto('/settings/account')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor() // the former session has ended
})

test('who chose some channels, and then an organisation without any, is not taken to have chosen all', async () => {
  const page = await here.page({ javaScriptEnabled: false })
  const email = await signUp(page, here.site, { organisation: 'First' })
  await connectFeed(page, 'Only feed')
  await joinAnother(email)
  await page.goto(authorizePath())
  await page.getByLabel('Organisation').selectOption('Another')
  await page.getByLabel('Only these').check()
  await page.getByLabel('Only feed').check()
  await approve(page).click()
  await page.getByText('There is no such channel').waitFor()
  await page.getByRole('heading', { name: 'Calendar wants to use Another' }).waitFor()
  expect(await page.getByLabel('All channels').isChecked()).toBe(false)
  await approve(page).click()
  expect(await page.getByLabel('All channels').evaluate((radio) => radio.matches(':invalid'))).toBe(true)
  expect(await grantsOf(email)).toEqual([])
})

test('an app whose callback redirects on to a third origin works', async () => {
  const { page } = await asked()
  await page.goto(authorizePath(`&redirect_uri=${encodeURIComponent(`${callback.origin}/hop`)}`))
  await approve(page).click()
  await page.getByText('the end').waitFor()
})

test('a double click, and the same form sent twice at once, give one code; later it is over', async () => {
  const { page, email } = await asked()
  const form = { request: await page.locator('input[name=request]').inputValue(), decision: 'approve', reach: 'all' }
  await approve(page).dblclick()
  await page.getByText('here').waitFor()
  const send = () =>
    page.request.post(authorizePath(), { form, maxRedirects: 0, headers: { origin: here.site.appUrl } })
  const [one, two] = await Promise.all([send(), send()])
  expect([one!.status(), two!.status()]).toEqual([303, 303])
  expect([one!.headers().location, two!.headers().location]).toEqual([page.url(), page.url()])
  expect(await grantsOf(email)).toHaveLength(1)

  await here.db.execute(sql`update authorization_requests set decided_at = decided_at - interval '61 seconds'`)
  const late = await send()
  expect([late.status(), late.headers().location]).toEqual([409, undefined])
  const said = await late.text()
  expect(said).toContain('This page has expired')
  expect(said).not.toContain('Nothing was sent')
})

describe('what another page does', () => {
  /** Open a page of an attacker in the browser of somebody who is signed in. */
  async function lured(page: Page, body: string): Promise<Page> {
    const attacker = await aSite(() => ({ body }))
    const other = await page.context().newPage() // its complaints are expected
    await other.goto(attacker.origin)
    return other
  }

  const formOf = (fields: Record<string, string>) => `
    <form method="post" action="${here.site.appUrl}${authorizePath().replaceAll('&', '&amp;')}">
      ${Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`)}
    </form><script>document.forms[0].submit()</script>`

  test('a frame shows no consent', async () => {
    const { page } = await asked()
    const other = await lured(
      page,
      `<iframe src="${here.site.appUrl}${authorizePath().replaceAll('&', '&amp;')}"></iframe>`,
    )
    const frame = await until(() => other.frames()[1])
    await until(() => frame.url().startsWith('chrome-error:'))
    expect(await frame.getByRole('button').count()).toBe(0)
  })

  test('a form that it sends by itself is refused, with the very token of the page as well', async () => {
    const { page, email } = await asked()
    const request = await page.locator('input[name=request]').inputValue()
    for (const token of [request, '']) {
      const other = await lured(page, formOf({ request: token, decision: 'approve', reach: 'all' }))
      await other.getByText('another site').waitFor()
    }
    expect(await grantsOf(email)).toEqual([])
  })

  test('a link that carries a decision asks like any other', async () => {
    const { page, email } = await asked()
    const request = await page.locator('input[name=request]').inputValue()
    await page.goto(authorizePath(`&request=${request}&decision=approve`))
    await approve(page).waitFor()
    expect(await grantsOf(email)).toEqual([])
  })
})

test('a form without a token, or with that of another session, is refused and lets nobody in', async () => {
  const [{ page, email }, victim] = [await asked(), await asked()]
  const request = await page.locator('input[name=request]').inputValue()
  for (const form of [
    { decision: 'approve', reach: 'all' },
    { decision: 'approve', reach: 'all', request },
  ]) {
    const answer = await victim.page.request.post(authorizePath(), {
      form,
      maxRedirects: 0,
      headers: { origin: here.site.appUrl },
    })
    expect(answer.status()).toBe(409)
  }
  expect([await grantsOf(email), await grantsOf(victim.email)]).toEqual([[], []])
})

test('a form of ours that a browser sends with Origin: null is taken, with its token and from no other site', async () => {
  const { page } = await asked()
  const request = await page.locator('input[name=request]').inputValue()
  const send = async (headers: Record<string, string>, token = request) => {
    const form = { request: token, decision: 'approve', reach: 'all' }
    const sent = { form, maxRedirects: 0, headers: { origin: 'null', ...headers } }
    return (await page.request.post(authorizePath(), sent)).status()
  }
  for (const site of ['same-site', 'cross-site', 'none']) expect(await send({ 'sec-fetch-site': site })).toBe(403)
  expect(await send({}, 'guessed')).toBe(409)
  expect(await send({})).toBe(303)
  expect(await send({ 'sec-fetch-site': 'same-origin' })).toBe(303)
  expect((await page.request.post('/logout', { headers: { origin: 'null' } })).status()).toBe(403)
})
