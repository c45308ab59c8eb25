import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anOrganisation } from '../../builders.ts'
import { type Site, type Started, startWeb, testSite, until } from '../../processes.ts'
import { type Answer, callApi, expectProblem, openWeb, type Web } from '../web.ts'

const Limit = 40
const AuthLimit = 20
const limits = { RATE_LIMIT: String(Limit), AUTH_RATE_LIMIT: String(AuthLimit), TRUST_PROXY: '1' }
let w: Web
let site: Site // of a second web process on the same database
let second: Started
beforeAll(async () => {
  w = await openWeb(limits)
  site = await testSite(w.site.databaseUrl, limits)
  second = await startWeb(site)
})
afterAll(async () => {
  await second.stop()
  await Promise.all([site.end(), w.end()])
})

const remaining = ({ headers }: Answer) => Number(/^"\w+";r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1])

test('the requests of an organisation are counted over all its keys and our processes, and others are not touched', async () => {
  const other = await anOrganisation(w.db)
  const urls = [w.site.appUrl, site.appUrl]
  const burst = await Promise.all(
    Array.from({ length: Limit + 10 }, (_, i) => callApi(urls[i % 2]!, 'GET', '/me', { key: w.key })),
  )
  const good = burst.filter(({ status }) => status === 200)
  const bad = burst.filter(({ status }) => status !== 200)

  expect(good).toHaveLength(Limit)
  expect(good.map(remaining).sort((a, b) => a - b)).toEqual(Array.from({ length: Limit }, (_, i) => i))
  for (const answer of bad) {
    expectProblem(answer, 429, 'rate_limited')
    expect(answer.headers.get('ratelimit-policy')).toBe(`"organisation";q=${Limit};w=60`)
    expect(remaining(answer)).toBe(0)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  }
  expect((await callApi(site.appUrl, 'GET', '/me', { key: other.key })).status).toBe(200)

  await w.db.execute(sql`update throttles set expire = now() - interval '1 second'`)
  expect(remaining(await w.call('GET', '/me'))).toBe(Limit - 1)
})

test('refused credentials are counted by address, and a right one is not refused for another’s wrong ones', async () => {
  const from = (address: string, key: string) =>
    callApi(w.site.appUrl, 'GET', '/me', { key, headers: { 'x-forwarded-for': address } })
  const wrong = 'pak_live_000000000000000000000000000000000000'
  const answers = []
  for (let i = 0; i < AuthLimit; i++) answers.push(await from('192.0.2.1', wrong))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  expect(answers.at(-1)!.headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/)

  const past = await from('192.0.2.1', wrong)
  expectProblem(past, 429, 'rate_limited')
  expect(past.headers.get('retry-after')).toMatch(/^\d+$/)
  expect((await from('192.0.2.1', w.key)).status).toBe(200)
  expect((await from('192.0.2.2', wrong)).status).toBe(401)
})

test('a wrong path counts as well, stays 404 past the limit, and of such calls one a second is kept', async () => {
  await w.db.execute(sql`delete from throttles`)
  const stray = await w.call('GET', '/post')
  expectProblem(stray, 404, 'not_found')
  expect(remaining(stray)).toBe(Limit - 1)
  await w.db.execute(sql`update throttles set points = ${Limit}`)
  const past = await Promise.all(Array.from({ length: 30 }, () => w.call('PUT', '/posts')))
  expect(new Set(past.map(({ status }) => status))).toEqual(new Set([405]))
  expect(past.map(remaining)).toEqual(past.map(() => 0))
  expectProblem(await w.call('GET', '/me'), 429, 'rate_limited')

  const kept = async () => {
    const rows = await w.db.execute<{ path: string }>(sql`select path from api_requests where method = 'PUT'`)
    return rows.length
  }
  await until(async () => {
    past.push(await w.call('PUT', '/posts')) // the first ones may be of a second that had its one
    return kept()
  })
  expect(await kept()).toBeLessThan(past.length)
})

test('a refused credential on a wrong path is 404, and is counted by its address', async () => {
  const stray = (key: string) =>
    callApi(w.site.appUrl, 'GET', '/post', { key, headers: { 'x-forwarded-for': '192.0.2.9' } })
  const answer = await stray('pak_live_000000000000000000000000000000000000')
  expectProblem(answer, 404, 'not_found')
  expect(answer.headers.get('ratelimit')).toMatch(new RegExp(`^"address";r=${AuthLimit - 1};t=\\d+$`))
  expect((await stray('')).headers.get('ratelimit')).toBeNull()
})
