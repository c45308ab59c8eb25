import { connect } from 'node:net'
import { eq, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKeys } from '../../../db/schema/accounts.ts'
import { apiRequests } from '../../../db/schema/api.ts'
import { accessTokens, apps, grants } from '../../../db/schema/oauth.ts'
import { digest, mintAccessToken } from '../../../server/access/secrets.ts'
import { createKey } from '../../../server/accounts/api-keys.ts'
import { type ApiRequestRow, startRequestRecorder } from '../../../server/api-requests/write.ts'
import { problemFrom } from '../../../server/errors.ts'
import type { Api } from '../../../server/router.ts'
import { anOrganisation } from '../../builders.ts'
import { startWeb, testSite, until } from '../../processes.ts'
import { type Answer, apiAs, callApi, expectProblem, memberWith, openWeb, type Web } from '../web.ts'

let w: Web
let api: Api
beforeAll(async () => {
  w = await openWeb()
  api = apiAs(w.installation, await memberWith(w.installation, w))
})
afterAll(() => w.end())

type Filters = Parameters<Api['requests']['list']>[0]
const idOf = ({ headers }: Answer) => headers.get('x-request-id')!
/** What is kept of a call, once it is. */
const keptOf = (answer: Answer) =>
  until(async () => (await api.requests.list({ limit: 100 })).data.find(({ requestId }) => requestId === idOf(answer)))
const pathsOf = async (filters: Filters) => (await api.requests.list(filters)).data.map(({ path }) => path)

async function aKey(scope: 'posts:read' | 'posts:write' = 'posts:read') {
  const made = { organisationId: w.organisationId, createdBy: w.accountId, name: 'reads', expiresAt: null }
  return createKey(w.db, { ...made, scopes: [scope] })
}

test('a call is stored within seconds with its time, caller, result and duration, and nothing else', async () => {
  const before = Date.now()
  const answer = await w.call('GET', `/posts?status=DRAFT&limit=2`)
  const kept = await keptOf(answer)
  const [key] = await w.db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.keyHash, digest(w.key)))
  expect(kept).toEqual({
    ...{ id: expect.any(String), at: expect.any(String), requestId: idOf(answer), durationMs: expect.any(Number) },
    ...{ method: 'GET', path: '/public/v1/posts', status: 200, problem: null },
    ...{ credentialKind: 'api_key', credentialId: key!.id, credentialName: 'test' },
  })
  expect(new Date(kept.at).getTime()).toBeGreaterThanOrEqual(before)
  expect(kept.durationMs).toBeLessThanOrEqual(Date.now() - before)
})

test('a refusal is kept with its code, and nothing of a body or a credential ever is', async () => {
  const { key } = await aKey()
  const json = { type: 'draft', content: 'a secret plan', channelIds: [] }
  const refused = [
    await w.call('POST', '/posts', { key, json }),
    await w.call('POST', '/posts', { json: { ...json, typo: 1 } }),
    await w.call('GET', `/posts/${w.key}`),
    await w.call('DELETE', `/posts/${'x'.repeat(5000)}`),
  ]
  const kept = await Promise.all(refused.map(keptOf))
  expect(kept.map(({ status, problem }) => [status, problem])).toEqual([
    [403, 'insufficient_scope'],
    [400, 'invalid_request'],
    [404, 'not_found'],
    [404, 'not_found'],
  ])
  expect(kept[2]!.path).toBe('/public/v1/posts/pak_live_…')
  expect(kept[3]!.path).toHaveLength(300)
  const all = JSON.stringify(await w.db.select().from(apiRequests))
  for (const secret of ['a secret plan', 'typo', key, w.key]) expect(all).not.toContain(secret)
})

test('a call with a wrong path or method is stored for its caller, and answered as without a credential', async () => {
  const wrong: [string, string, number, string][] = [
    ['GET', '/post', 404, 'not_found'],
    ['POST', '/posts/', 404, 'not_found'],
    ['GET', '//posts', 404, 'not_found'],
    ['PUT', '/posts', 405, 'method_not_allowed'],
    ['PROPFIND', '/me', 405, 'method_not_allowed'],
    ['GET', `/${'x/'.repeat(4000)}${w.key}`, 404, 'not_found'],
  ]
  for (const [method, path, status, problem] of wrong) {
    const [mine, nobodys] = [await w.call(method, path), await w.call(method, path, { key: '' })]
    expectProblem(mine, status, problem)
    expect({ ...nobodys.json, requestId: mine.json.requestId }).toEqual(mine.json)
    expect(nobodys.headers.get('allow')).toBe(mine.headers.get('allow'))
    const kept = await keptOf(mine)
    expect(kept).toMatchObject({ method, status, problem, path: `/public/v1${path}`.slice(0, 300) })
    expect(kept.credentialName).toBe('test')
    const ids = (await w.db.select().from(apiRequests)).map(({ requestId }) => requestId)
    expect(ids).not.toContain(idOf(nobodys))
  }
  expect(await pathsOf({ method: 'PUT' })).toEqual(['/public/v1/posts'])
})

test('a wrong path is refused before the body is read, with a credential too', async () => {
  const socket = connect(w.site.port, 'localhost')
  let answered = ''
  socket.on('data', (bytes: Buffer) => {
    answered += bytes
  })
  socket.write(
    `POST /public/v1/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: ${w.key}\r\nContent-Length: 100000000\r\n\r\n`,
  )
  await until(() => answered.includes('not_found'))
  socket.destroy()
  const kept = await until(async () => (await api.requests.list({ path: '/nothing', method: 'POST' })).data[0])
  expect(kept).toMatchObject({ path: '/public/v1/nothing', status: 404 })
})

test('a call without a good credential belongs to nobody, and is not kept', async () => {
  const lost = [
    await w.call('GET', '/me', { key: '' }),
    await w.call('GET', '/me', { key: 'pak_live_000000000000000000000000000000000000' }),
    await w.call('GET', '/openapi.json'),
  ]
  await keptOf(await w.call('GET', '/me')) // it came after them, and is there
  const ids = (await w.db.select().from(apiRequests)).map(({ requestId }) => requestId)
  for (const answer of lost) expect(ids).not.toContain(idOf(answer))
})

test('a call with an access token is the app’s, in the organisation that let it in, and no other sees it', async () => {
  const { organisationId } = w
  const maker = await anOrganisation(w.db)
  const row = {
    organisationId: maker.organisationId,
    clientId: 'pca_1',
    name: 'Calendar',
    redirectUris: ['https://a.example/'],
  }
  const [app] = await w.db.insert(apps).values(row).returning()
  const consent = { organisationId, appId: app!.id, approvedByName: 'Ada', scopes: ['posts:read'] }
  const [grant] = await w.db.insert(grants).values(consent).returning()
  const token = mintAccessToken()
  await w.db
    .insert(accessTokens)
    .values({ organisationId, appId: app!.id, grantId: grant!.id, tokenHash: digest(token) })
  const answer = await w.call('GET', '/me', { key: `Bearer ${token}` })
  const about = { credentialKind: 'app', credentialId: app!.id, credentialName: 'Calendar' }
  expect(await keptOf(answer)).toMatchObject(about)
  const makers = apiAs(w.installation, { ...(await memberWith(w.installation, maker)), ...maker })
  expect((await makers.requests.list({})).data).toEqual([])
})

test('the list is filtered by credential, method, status, problem, path and time, a page at a time, newest first', async () => {
  const { key, id } = await aKey()
  const calls = [
    await w.call('GET', '/posts', { key }),
    await w.call('GET', '/me', { key }),
    await w.call('POST', '/posts', { key, json: {} }),
    await w.call('GET', '/posts/x', { key }),
    await w.call('GET', '/media', { key }),
  ]
  const kept = await Promise.all(calls.map(keptOf))
  const mine = (more: Filters) => pathsOf({ credential: id, ...more })
  const all = ['media', 'posts/x', 'posts', 'me', 'posts'].map((path) => `/public/v1/${path}`)
  expect(await mine({})).toEqual(all)
  expect(await mine({ method: 'POST' })).toEqual([all[2]])
  expect(await mine({ status: '403' })).toEqual([all[0], all[2]])
  expect(await mine({ status: '4xx' })).toEqual(all.slice(0, 3))
  expect(await mine({ status: '5XX' })).toEqual([])
  expect(await mine({ problem: 'not_found' })).toEqual([all[1]])
  expect(await mine({ requestId: idOf(calls[1]!) })).toEqual([all[3]])
  for (const path of ['posts', '/posts', '/public/v1/posts'])
    expect(await mine({ path })).toEqual([all[1], all[2], all[4]])
  expect(await mine({ path: '/%' })).toEqual([]) // its letters, and no pattern
  expect(await mine({ from: kept[1]!.at, to: kept[3]!.at })).toEqual([all[2], all[3]])

  const first = await api.requests.list({ credential: id, limit: 3 })
  await keptOf(await w.call('GET', '/channels', { key }))
  expect(first.data.map(({ path }) => path)).toEqual(all.slice(0, 3))
  const second = await api.requests.list({ credential: id, limit: 3, cursor: first.nextCursor! })
  expect([second.data.map(({ path }) => path), second.nextCursor]).toEqual([all.slice(3), null])
  for (const wrong of [
    { status: '40' },
    { status: '4x' },
    { from: 'today' },
    { cursor: 'x' },
    { method: 'LIST' as never },
  ])
    expect(await api.requests.list(wrong).catch(problemFrom)).toMatchObject({ code: 'invalid_request' })
})

test('a caller who hangs up before the answer is shown as such', async () => {
  const { key, id } = await aKey('posts:write')
  const socket = connect(w.site.port, 'localhost')
  const length = 'Content-Type: application/json\r\nContent-Length: 100'
  socket.write(`POST /public/v1/posts?gone HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n${length}\r\n\r\n{`)
  const lastUsedAt = async () => (await w.db.select().from(apiKeys).where(eq(apiKeys.id, id)))[0]!.lastUsedAt
  await until(lastUsedAt) // it is being read
  socket.destroy()
  const kept = await until(async () => (await api.requests.list({ status: '499' })).data[0])
  expect(kept).toMatchObject({ method: 'POST', path: '/public/v1/posts', problem: null })
  const logged = () =>
    w.web
      .log()
      .split('\n')
      .filter((line) => line.includes(kept.requestId))
  await until(() => logged().some((line) => line.includes('the caller went away')))
  for (const line of logged()) expect(JSON.parse(line).level).toBe(30) // info: nobody here is at fault
})

test('a process that stops writes what it has gathered', async () => {
  const site = await testSite(w.site.databaseUrl)
  const web = await startWeb(site)
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => callApi(site.appUrl, 'GET', '/me', { key: w.key })),
  )
  expect(await web.stop()).toBe(0)
  await site.end()
  const ids = new Set((await w.db.select().from(apiRequests)).map(({ requestId }) => requestId))
  for (const answer of answers) expect(ids).toContain(idOf(answer))
})

test('while they cannot be kept, requests are answered as ever, and the log says that they are lost', async () => {
  await w.db.execute(sql`alter table api_requests rename to away`)
  const lost = await w.call('GET', '/me')
  expect(lost.status).toBe(200)
  await until(() => w.web.log().includes('API calls were not recorded'))
  await w.db.execute(sql`alter table away rename to api_requests`)
  await keptOf(await w.call('GET', '/me'))
  const ids = (await w.db.select().from(apiRequests)).map(({ requestId }) => requestId)
  expect(ids).not.toContain(idOf(lost))
})

function aCall(requestId: string, problem: string | null = null): ApiRequestRow {
  return {
    ...{
      organisationId: w.organisationId,
      at: new Date(),
      requestId,
      method: 'GET',
      path: '/public/v1/me',
      status: 200,
    },
    ...{ durationMs: 1, credentialKind: 'api_key', credentialId: w.accountId, credentialName: 'loop', problem },
  }
}

const keptIn = async (name: string) => {
  const rows = await w.db
    .select()
    .from(apiRequests)
    .where(sql`request_id like ${`${name} %`}`)
  return rows.map(({ requestId }) => Number(requestId.split(' ')[1])).sort((a, b) => a - b)
}

test('of more than 5,000 that wait the oldest go, with one warning, and the rest is written at once', async () => {
  const said: string[] = []
  const recorder = startRequestRecorder(w.db, pino({}, { write: (line: string) => said.push(line) }))
  for (let n = 0; n < 5100; n++) recorder.note(aCall(`many ${n}`))
  await recorder.end()
  const kept = await keptIn('many')
  expect([kept.length, kept[0]]).toEqual([5000, 100])
  expect(said.filter((line) => line.includes('dropping the oldest'))).toHaveLength(1)
})

test('of calls that a credential is refused for being too many, one a second is kept', async () => {
  const recorder = startRequestRecorder(w.db, pino({ level: 'silent' }))
  for (let n = 0; n < 50; n++) recorder.note(aCall(`loop ${n}`, n < 10 ? null : 'rate_limited'))
  await recorder.end()
  expect(await keptIn('loop')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})
