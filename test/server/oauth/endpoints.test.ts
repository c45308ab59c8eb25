import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../../server/web/app.ts'
import { type Answer, anApp, aToken, basic, credentials, type Flow, me, openFlow, post, send } from './flow.ts'

// Revocation, introspection, the metadata documents and what the public API says of itself, on two hosts.

let f: Flow
let token: string
beforeAll(async () => {
  f = await openFlow()
  token = await aToken(f)
})
afterAll(() => f.end())

const Unknown = `pos_${'x'.repeat(43)}`

function expectNeverStored({ headers }: Answer): void {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('pragma')).toBe('no-cache')
  expect(headers.get('content-type')).toMatch(/^application\/json(;|$)/)
}

describe.each(['revoke', 'introspect'])('POST /oauth/%s', (path) => {
  test('RFC 7009 2.1, RFC 7662 2.1: authenticates the client first, as at token', async () => {
    const wrong = { client_id: f.app.clientId, client_secret: 'x' }
    for (const form of [{}, { token }, { ...wrong, token }, wrong]) {
      const answer = await post(f, path, form as Record<string, string>)
      expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
      expect(answer.headers.get('www-authenticate')).toBe(null)
      expectNeverStored(answer)
    }
    const answer = await post(f, path, { token }, basic({ ...f.app, clientSecret: 'x' }))
    expect(answer).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
    expect(answer.headers.get('www-authenticate')).toBe('Basic realm="punctual", charset="UTF-8"')
    const both = await post(f, path, { token, ...credentials(f.app) }, basic(f.app))
    expect(both).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
  })

  test('the developer sees each failed client authentication, with its endpoint', async () => {
    const app = await anApp(f.maker)
    await post(f, path, { token, ...credentials({ ...app, clientSecret: 'x' }) })
    const { attempts } = await f.maker.api.apps.get({ id: app.id })
    expect(attempts).toMatchObject([{ step: path, outcome: 'invalid_client' }])
  })

  test('RFC 7009 2.1, RFC 7662 2.3: no token, or two, is invalid_request', async () => {
    for (const form of [credentials(f.app), { ...credentials(f.app), token: '' }])
      expect(await post(f, path, form)).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
    const twice = await post(f, path, `${new URLSearchParams(credentials(f.app))}&token=a&token=b`)
    expect(twice).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
    expectNeverStored(twice)
  })
})

test('RFC 7009 2.2: its own token is revoked at once; unknown, malformed and already revoked ones are 200 {}', async () => {
  const mine = await aToken(f)
  for (const one of [mine, mine, Unknown, 'malformed ü', 'pak_live_x'])
    for (const hint of ['access_token', 'refresh_token', 'whatever']) {
      const answer = await post(f, 'revoke', { token: one, token_type_hint: hint }, basic(f.app))
      expect(answer).toMatchObject({ status: 200, text: '{}' })
      expectNeverStored(answer)
    }
  expect((await me(f, mine)).status).toBe(401)
  expect((await me(f, token)).status).toBe(200)
  const json = JSON.stringify({ ...credentials(f.app), token: await aToken(f) })
  const headers = { 'content-type': 'application/json' }
  expect(await send(`${f.baseUrl}/oauth/revoke`, { method: 'POST', body: json, headers })).toMatchObject({ text: '{}' })
})

test("RFC 7009 2.1: another client's token is invalid_grant, and untouched", async () => {
  const other = await anApp(f.maker, ['https://other.example/'], 'Other')
  expect(await post(f, 'revoke', { token, ...credentials(other) })).toMatchObject({
    ...{ status: 400, json: { error: 'invalid_grant' } },
  })
  expect((await me(f, token)).status).toBe(200)
})

test('RFC 7662 2.2: an app sees all about its own active token, and about any other only that it is not active', async () => {
  const before = Math.floor(Date.now() / 1000) - 60
  const answer = await post(f, 'introspect', { token }, basic(f.app))
  expect(answer).toMatchObject({ status: 200 })
  expect(answer.json).toEqual({
    ...{
      active: true,
      client_id: f.app.clientId,
      token_type: 'bearer',
      sub: f.approver.organisationId,
      iss: f.baseUrl,
    },
    ...{ scope: 'channels:read posts:read posts:write media:read media:write', iat: expect.any(Number) },
  })
  expect(answer.json.iat).toBeGreaterThan(before)
  expect(answer.json.iat).toBeLessThan(before + 120)
  expectNeverStored(answer)
  const other = await anApp(f.maker, ['https://other.example/'], 'Other')
  const revoked = await aToken(f)
  await post(f, 'revoke', { token: revoked }, basic(f.app))
  for (const [one, app] of [
    ...([
      [token, other],
      [revoked, f.app],
      [Unknown, f.app],
      ['ü', f.app],
    ] as const),
  ])
    expect(await post(f, 'introspect', { token: one }, basic(app))).toMatchObject({ text: '{"active":false}' })
})

test('RFC 8414 2 and RFC 9728 2: the metadata documents', async () => {
  const methods = ['client_secret_basic', 'client_secret_post']
  const scopes = ['channels:read', 'posts:read', 'posts:write', 'media:read', 'media:write', 'webhooks:manage']
  const server = await send(`${f.baseUrl}/.well-known/oauth-authorization-server`)
  expect(server.json).toEqual({
    issuer: f.baseUrl,
    authorization_endpoint: `${f.appUrl}/oauth/authorize`,
    token_endpoint: `${f.baseUrl}/oauth/token`,
    revocation_endpoint: `${f.baseUrl}/oauth/revoke`,
    introspection_endpoint: `${f.baseUrl}/oauth/introspect`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    scopes_supported: scopes,
    authorization_response_iss_parameter_supported: true,
  })
  const resource = await send(`${f.baseUrl}/.well-known/oauth-protected-resource`)
  expect(resource.json).toMatchObject({
    resource: f.baseUrl,
    authorization_servers: [f.baseUrl],
    scopes_supported: scopes,
  })
  for (const { status, headers } of [server, resource]) {
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('access-control-allow-origin')).toBe('*')
  }
})

test('the metadata documents take GET, HEAD and the preflight of a browser, nothing else', async () => {
  for (const name of ['oauth-authorization-server', 'oauth-protected-resource']) {
    const url = `${f.baseUrl}/.well-known/${name}`
    expect(await send(url, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    const preflight = await send(url, { method: 'OPTIONS' })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('MCP-Protocol-Version')
    const posted = await send(url, { method: 'POST' })
    expect(posted.status).toBe(405)
    expect(posted.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  }
})

test('each host serves its own paths and nothing of the other', async () => {
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect', '/.well-known/oauth-authorization-server'])
    expect((await send(`${f.appUrl}${path}`, { method: 'POST' })).status, path).toBe(404)
  expect((await send(`${f.appUrl}/public/v1/me`)).status).toBe(404)
  for (const path of ['/login', '/oauth/authorize', '/'])
    expect((await send(`${f.baseUrl}${path}`)).status, path).toBe(404)
})

test('RFC 6750 3, RFC 9728 5.1: the public API says how to authenticate, and where', async () => {
  const where = `resource_metadata="${f.baseUrl}/.well-known/oauth-protected-resource"`
  const none = await send(`${f.baseUrl}/public/v1/me`)
  expect(none.status).toBe(401)
  expect(none.headers.get('www-authenticate')).toBe(`Bearer realm="punctual", ${where}`)
  for (const wrong of [Unknown, 'nonsense', `pos_${'x'.repeat(42)}`]) {
    const answer = await me(f, wrong)
    expect(answer).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer realm="punctual", error="invalid_token", ${where}`)
  }
})

test.each(['token', 'revoke', 'introspect'])(
  'while the process drains, /oauth/%s refuses in its own dialect',
  async (path) => {
    const log = pino({ level: 'silent' })
    const serving = {
      installation: f.installation,
      recorder: { note: () => {}, end: async () => {} },
      log,
      build: {} as never,
      publicDir: '/none',
      metrics: null,
      prober: { answers: () => 'yes' as const, answeredAt: () => performance.now() },
      ready: async () => ({ status: 200 as const, text: 'ready' }),
      phase: () => 'closing' as const,
    }
    const server = createApp(serving).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { status, headers, json } = await post({ baseUrl: `http://127.0.0.1:${port}` }, path, credentials(f.app))
    server.close()
    expect([status, json]).toEqual([
      503,
      { error: 'temporarily_unavailable', error_description: expect.stringMatching(/^[\x20-\x7e]+$/) },
    ])
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    for (const [name, value] of [
      ['retry-after', '5'],
      ['cache-control', 'no-store'],
      ['pragma', 'no-cache'],
    ])
      expect(headers.get(name!)).toBe(value)
  },
)
