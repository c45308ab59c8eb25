import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aChannel, anOrganisation } from '../../builders.ts'
import { someoneWaits, testDatabase } from '../../postgres/database.ts'
import { type Site, type Started, startWeb, testSite, until } from '../../processes.ts'
import { aDoor } from '../../stand-ins/door.ts'
import { aBrowser } from '../browser.ts'
import { callApi, expectProblem } from '../web.ts'

let database: Awaited<ReturnType<typeof testDatabase>>
let door: Awaited<ReturnType<typeof aDoor>>
let site: Site
let web: Started
let key: string
let feed: string
let channelId: string
let browser: ReturnType<typeof aBrowser>
const password = 'a good password'
const ada = { email: 'ada@example.org', password }
const works = { name: 'Ada', organisation: 'Works' }
beforeAll(async () => {
  database = await testDatabase()
  door = await aDoor(database.url)
  site = await testSite(door.url)
  web = await startWeb(site)
  const own = await anOrganisation(database.db)
  key = own.key
  channelId = await aChannel(database.db, site.secretKey, { ...own, network: 'feed' })
  feed = `/feeds/${channelId}`
  browser = aBrowser(site.appUrl)
  expect((await browser.post('/signup', { ...ada, ...works })).status).toBe(302)
})
afterAll(async () => {
  await web.stop()
  await door.shut()
  await site.end()
  await database.end()
})

const strange = () => aBrowser(site.appUrl)
const asked: [string, () => Promise<{ status: number; headers: Headers; text: string }>][] = [
  ['signing in', () => strange().post('/login', ada)],
  ['signing up', () => strange().post('/signup', { ...ada, ...works, email: 'eve@example.org' })],
  ['a feed', () => strange().get(feed)],
  ['an item of a feed', () => strange().get(`${feed}/01890000-0000-7000-8000-000000000000`)],
  ['Atom', () => strange().get(`${feed}/atom.xml`)],
  ['JSON Feed', () => strange().get(`${feed}/feed.json`)],
  ['a consent page', () => strange().get('/oauth/authorize?client_id=app&response_type=code')],
  ['a page with a session', () => browser.get('/')],
  ['a form with a session', () => browser.post('/settings/account', { intent: 'everywhere' })],
]

describe('while the database is away', () => {
  beforeEach(async () => {
    await door.shut()
    return async () => {
      await door.open()
      await until(async () => (await fetch(`${site.appUrl}/readyz`)).ok)
    }
  })

  test.each(asked)('%s explains it and says when to try again', async (_, ask) => {
    const { status, headers, text } = await ask()
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    expect(text).toContain('temporarily unavailable')
    expect(text).not.toMatch(/ECONN|postgres|select .* from|\bat .*:\d+:\d+/)
  })

  test('the form of who signs in keeps what was typed, the password aside', async () => {
    const { text } = await strange().post('/login', ada)
    expect(text).toContain('value="ada@example.org"')
    expect(text).not.toContain(password)
  })

  test('the API explains it', async () => {
    const answer = await callApi(site.appUrl, 'GET', '/me', { key })
    expectProblem(answer, 503, 'unavailable')
    expect(answer.headers.get('retry-after')).toBe('5')
  })
})

test('when the database is back, so is everything, and nobody was signed out', async () => {
  expect((await browser.get('/settings/account')).status).toBe(200)
  expect((await strange().get(feed)).status).toBe(200)
  expect((await strange().post('/login', ada)).status).toBe(302)
})

test('a change that loses a deadlock has changed nothing, and says when to try again', async () => {
  const call = (method: string, path: string, json?: unknown) => callApi(site.appUrl, method, path, { key, json })
  const [asked, changed] = [1, 2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString())
  const made = await call('POST', '/posts', { type: 'schedule', content: 'x', channelIds: [channelId], date: asked })
  expect(made.status).toBe(201)
  const path = `/posts/${made.json.id}`
  const lost = await database.db.transaction(async (tx) => {
    await tx.execute(sql`set local deadlock_timeout = '1min'`) // the change looks for a deadlock first, so it loses
    await tx.execute(sql`select from graphile_worker._private_jobs for update`)
    const changing = call('PATCH', path, { date: changed })
    await until(() => someoneWaits(database.db))
    await tx.execute(sql`select from posts where id = ${made.json.id} for update`)
    return changing
  })
  expectProblem(lost, 503, 'unavailable')
  expect(lost.headers.get('retry-after')).toBe('5')
  expect((await call('GET', path)).json.date).toBe(asked)
  expect((await call('PATCH', path, { date: changed })).json.date).toBe(changed)
})

test("a network's server that refuses the call is not taken for the database", async () => {
  const form = { network: 'mastodon', 'input.instance': 'http://127.0.0.1:9' }
  const { status, text } = await browser.post('/channels?connect=mastodon', form)
  expect(status).toBe(422)
  expect(text).toContain('127.0.0.1:9 did not answer.')
})

test('a web process that starts while the database is away logs it, and is ready once the database is back', async () => {
  await door.shut()
  const beside = await testSite(door.url)
  const starting = startWeb(beside)
  const early = await until(() => fetch(`${beside.appUrl}/readyz`).catch(() => null))
  expect([early.status, await early.text()]).toEqual([503, 'not ready: the database cannot be reached\n'])

  await door.open()

  const late = await starting
  expect(late.log()).toContain('the database cannot be reached yet')
  await late.stop()
  await beside.end()
})
