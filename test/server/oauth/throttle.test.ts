import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { throttles } from '../../../db/schema/api.ts'
import { type Site, type Started, startWeb, testSite } from '../../processes.ts'
import { type Answer, credentials, type Flow, openFlow, post } from './flow.ts'

// Failed authentication of clients, counted per address for all processes together.

const AMinute = 3 // failures from one address
const env = { AUTH_RATE_LIMIT: String(AMinute), TRUST_PROXY: '1' }

let f: Flow
let other: Started & { site: Site }
beforeAll(async () => {
  f = await openFlow({ hosts: 'one', env })
  const site = await testSite(f.site.databaseUrl, env)
  other = { ...(await startWeb(site)), site }
})
beforeEach(() => f.db.delete(throttles))
afterAll(async () => {
  await other.stop()
  await other.site.end()
  await f.end()
})

const form = { grant_type: 'authorization_code', code: 'unknown', token: 'unknown' }

/** Call an endpoint with this secret, through a proxy that says which address it is for. */
function call(path: string, secret: string, { address = '192.0.2.1', at = f.baseUrl } = {}): Promise<Answer> {
  const client = { ...credentials(f.app), client_secret: secret }
  return post({ baseUrl: at }, path, { ...form, ...client }, { 'x-forwarded-for': address })
}

const good = (path: string, where = {}) => call(path, f.app.clientSecret, where)

test('past the limit an address waits, whichever process and endpoint it calls, be its secret right', async () => {
  expect((await call('token', 'wrong')).status).toBe(401)
  expect((await call('revoke', 'wrong', { at: other.site.appUrl })).status).toBe(401)
  expect((await call('introspect', 'wrong')).status).toBe(401)
  for (const at of [f.baseUrl, other.site.appUrl])
    for (const path of ['token', 'revoke', 'introspect']) {
      const answer = await good(path, { at })
      expect(answer).toMatchObject({ status: 429, json: { error: 'temporarily_unavailable' } })
      expect(answer.json.error_description).toMatch(/^Too many failed attempts\. Try again in \d+ s\.$/)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('www-authenticate')).toBe(null)
    }
  await f.db.execute(sql`update throttles set expire = now() - interval '1 second'`)
  expect((await good('introspect')).status).toBe(200)
})

test('a right secret is accepted while others fail from other addresses', async () => {
  for (let i = 0; i <= AMinute; i++) await call('token', 'wrong')
  expect((await call('token', 'wrong')).status).toBe(429)
  expect((await good('introspect', { address: '192.0.2.2' })).status).toBe(200)
})

test('of a burst of wrong secrets only so many are told that they are wrong', async () => {
  const sent = Array.from({ length: 20 }, (_, i) =>
    call('token', 'wrong', { at: i % 2 ? f.baseUrl : other.site.appUrl }),
  )
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(AMinute)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - AMinute)
})

test('what is no failed authentication is not counted: right secrets at once, bad codes, malformed requests', async () => {
  const introspected = await Promise.all(Array.from({ length: 20 }, () => good('introspect')))
  expect(new Set(introspected.map(({ status }) => status))).toEqual(new Set([200]))
  for (let i = 0; i < AMinute * 2; i++) {
    expect((await good('token')).json).toMatchObject({ error: 'invalid_grant' })
    expect((await post(f, 'token', {}, { 'x-forwarded-for': '192.0.2.1' })).status).toBe(400)
  }
  expect(await f.db.select().from(throttles)).toEqual([])
})

test('a client that does not exist, or names itself not at all, is a failure as well', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.1' }
  for (const client of [{ client_id: 'pca_unknown', client_secret: 'x' }, {}, {}])
    expect((await post(f, 'token', { ...form, ...client } as Record<string, string>, headers)).status).toBe(401)
  expect((await good('token')).status).toBe(429)
})
