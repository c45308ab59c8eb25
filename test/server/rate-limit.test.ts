import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anOrganisation } from '../builders.ts'
import { type Site, type Started, startWeb, testSite } from '../processes.ts'
import { type Answer, callApi, expectProblem, openWeb, type Web } from './web.ts'

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
