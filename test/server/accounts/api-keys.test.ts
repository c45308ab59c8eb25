import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKeys } from '../../../db/schema/accounts.ts'
import { defaultScopes, type Scope, scopes } from '../../../server/access/scopes.ts'
import type { Failure } from '../../../server/errors.ts'
import { routes } from '../../../server/rest/routes.ts'
import type { Api } from '../../../server/router.ts'
import { startWeb, testSite } from '../../processes.ts'
import { apiAs, callApi, expectProblem, memberWith, openWeb, type Web } from '../web.ts'

let w: Web
let api: Api
beforeAll(async () => {
  w = await openWeb()
  api = apiAs(w.installation, await memberWith(w.installation, w))
})
afterAll(() => w.end())

const me = (key: string) => w.call('GET', '/me', { key })

test('a new key works at once, is shown once, and only its digest and last 4 characters are kept', async () => {
  const { id, key } = await api.keys.create({ name: 'for the shop' })
  expect(key).toMatch(/^pak_live_[0-9A-Za-z]{36}$/)
  expect(await me(key)).toMatchObject({
    status: 200,
    json: { credential: { kind: 'api_key', name: 'for the shop', scopes: defaultScopes } },
  })
  const listed = await api.keys.list()
  expect(listed[0]).toMatchObject({ id, name: 'for the shop', last4: key.slice(-4), expired: false })
  expect(JSON.stringify(listed)).not.toContain(key.slice(0, -4))
  const stored = await w.db.execute<{ row: string }>(sql`select row_to_json(k)::text as row from api_keys k`)
  for (const { row } of stored) expect(row).not.toContain(key.slice(9, -4))
  expect(w.web.log()).not.toContain(key)
})

test('a key that is revoked stops at the very next request, in every process', async () => {
  const otherSite = await testSite(w.site.databaseUrl)
  const other = await startWeb(otherSite)
  const there = (key: string) => callApi(otherSite.appUrl, 'GET', '/me', { key })
  const { id, key } = await api.keys.create({ name: 'leaked' })
  expect([(await me(key)).status, (await there(key)).status]).toEqual([200, 200])
  await api.keys.revoke({ id })
  const refused = [await me(key), await there(key)]
  expectProblem(refused[0]!, 401, 'unauthenticated')
  expectProblem(refused[1]!, 401, 'unauthenticated')
  expect((await api.keys.list()).map((one) => one.id)).not.toContain(id)
  await expect(api.keys.revoke({ id })).rejects.toMatchObject({ failure: 'not_found' })
  await other.stop()
  await otherSite.end()
})

test('a key that has run out is 401, and is still listed as such; one that would have already is refused', async () => {
  const { id, key } = await api.keys.create({ name: 'short', expiresAt: new Date(Date.now() + 60_000).toISOString() })
  expect((await me(key)).status).toBe(200)
  await w.db.update(apiKeys).set({ expiresAt: sql`now()` }).where(eq(apiKeys.id, id))
  expectProblem(await me(key), 401, 'unauthenticated')
  expect((await api.keys.list()).find((one) => one.id === id)).toMatchObject({ expired: true })
  await expect(api.keys.create({ name: 'past', expiresAt: '2001-01-01T00:00:00Z' })).rejects.toSatisfy(
    (error: Failure) => error.errors[0]?.code === 'date_in_past',
  )
})

test('last used is written, at most once a minute', async () => {
  const { id, key } = await api.keys.create({ name: 'used' })
  const lastUsed = async () => (await api.keys.list()).find((one) => one.id === id)!.lastUsedAt
  expect(await lastUsed()).toBeNull()
  await me(key)
  const first = await lastUsed()
  expect(first).not.toBeNull()
  await me(key)
  expect(await lastUsed()).toBe(first)
  await w.db.update(apiKeys).set({ lastUsedAt: sql`now() - interval '61 seconds'` }).where(eq(apiKeys.id, id))
  await me(key)
  expect(Date.parse((await lastUsed())!)).toBeGreaterThanOrEqual(Date.parse(first!))
})

test('each route requires one scope, and a key with all others gets its name', async () => {
  const needed: Record<string, Scope | null> = {
    'get /me': null,
    'get /openapi.json': null,
    'get /channels': 'channels:read',
    'get /channels/:id': 'channels:read',
    'post /posts': 'posts:write',
    'get /posts': 'posts:read',
    'get /posts/:id': 'posts:read',
    'post /posts/validate': 'posts:write',
    'patch /posts/:id': 'posts:write',
    'delete /posts/:id': 'posts:write',
    'post /posts/:id/retry': 'posts:write',
    'post /posts/:id/deliveries/:channelId/resolve': 'posts:write',
    'get /posts/:id/attempts': 'posts:read',
    'post /media': 'media:write',
    'post /media/upload-from-url': 'media:write',
    'get /media': 'media:read',
    'get /media/:id': 'media:read',
    'patch /media/:id': 'media:write',
    'delete /media/:id': 'media:write',
    'get /queues': 'posts:read',
    'post /queues': 'posts:write',
    'get /queues/:id': 'posts:read',
    'patch /queues/:id': 'posts:write',
    'delete /queues/:id': 'posts:write',
    'get /queues/:id/next': 'posts:read',
    'get /webhooks': 'webhooks:manage',
    'post /webhooks': 'webhooks:manage',
    'get /webhooks/:id': 'webhooks:manage',
    'patch /webhooks/:id': 'webhooks:manage',
    'delete /webhooks/:id': 'webhooks:manage',
    'post /webhooks/:id/rotate': 'webhooks:manage',
    'post /webhooks/:id/test': 'webhooks:manage',
    'get /webhooks/:id/deliveries': 'webhooks:manage',
    'post /webhooks/:id/deliveries/:deliveryId/resend': 'webhooks:manage',
  }
  expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(needed).sort())
  for (const [route, scope] of Object.entries(needed)) {
    const [method, path] = route.split(' ') as [string, string]
    const all = await api.keys.create({ name: 'all', scopes: [...scopes] })
    const { key } = await api.keys.create({ name: 'but one', scopes: scopes.filter((one) => one !== scope) })
    const only = await api.keys.create({ name: 'only one', scopes: [scope ?? 'webhooks:manage'] })
    const status = async (key: string) => (await w.call(method.toUpperCase(), path, { key })).status
    expect([route, await status(only.key)]).toEqual([route, await status(all.key)])
    const answer = await w.call(method.toUpperCase(), path, { key })
    if (scope === null) expect(answer.status).toBe(200)
    else {
      expectProblem(answer, 403, 'insufficient_scope')
      expect(answer.json.detail).toContain(scope)
      const challenge = `Bearer realm="punctual", error="insufficient_scope", scope="${scope}"` // RFC 6750 §3.1
      expect(answer.headers.get('www-authenticate')).toBe(challenge)
    }
  }
})
