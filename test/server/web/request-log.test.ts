import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../processes.ts'
import { aBrowser } from '../browser.ts'
import { apiAs, memberWith, openWeb, type Web } from '../web.ts'

let w: Web
beforeAll(async () => {
  w = await openWeb()
})
afterAll(() => w.end())

type Line = {
  msg: string
  level: number
  req?: { id: string }
  organisation?: string
  api_key?: string
  app?: string
  member?: string
}

/** The log's lines about one request, once its last is there. */
async function linesOf({ headers }: { headers: Headers }): Promise<Line[]> {
  const id = headers.get('x-request-id')
  const lines = () =>
    w.web
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
  return until(() => {
    const own = lines().filter(({ req }) => req?.id === id)
    return own.some(({ msg }) => /^request (completed|errored)$/.test(msg)) && own
  })
}

test('each line about a request of the API names the request, the organisation and the credential', async () => {
  expect(await linesOf(await w.call('GET', '/me'))).toMatchObject([
    { msg: 'request completed', organisation: w.organisationId, api_key: expect.any(String) },
  ])
  expect((await linesOf(await w.call('GET', '/me', { key: '' })))[0]).not.toHaveProperty('organisation')
})

test('so does each line about what fails on our side: on a page, over the API, at an endpoint of OAuth', async () => {
  const browser = aBrowser(w.site.appUrl)
  const person = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
  await browser.post('/signup', person)
  const maker = apiAs(w.installation, await memberWith(w, w))
  const app = await maker.apps.create({ name: 'Shop', redirectUris: ['https://shop.example/'] })
  for (const table of ['webhooks', 'access_tokens'])
    await w.db.execute(sql.raw(`alter table ${table} rename to ${table}_gone`))
  const form = new URLSearchParams({ client_id: app.clientId, client_secret: app.clientSecret, token: 'pos_any' })

  const overApi = await linesOf(await w.call('GET', '/webhooks'))
  const onPage = await linesOf(await browser.get('/settings/developers/webhooks'))
  const atOAuth = await linesOf(await fetch(`${w.site.appUrl}/oauth/revoke`, { method: 'POST', body: form }))

  const failed = { level: 50, msg: 'request failed' }
  const errored = { level: 50, msg: 'request errored' }
  const own = { organisation: w.organisationId }
  expect(overApi).toMatchObject([
    { ...failed, ...own, api_key: expect.any(String) },
    { ...errored, ...own },
  ])
  const theirs = { organisation: expect.any(String), member: expect.any(String) }
  expect(onPage).toMatchObject([
    { ...theirs, level: 50, msg: 'page failed' },
    { ...errored, ...theirs },
  ])
  expect(atOAuth).toMatchObject([
    { ...failed, ...own, app: app.id },
    { ...errored, ...own },
  ])
})
