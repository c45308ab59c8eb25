import { once } from 'node:events'
import { get } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createKey } from '../../../server/accounts/api-keys.ts'
import { routes } from '../../../server/rest/routes.ts'
import { expectProblem, faultsOf, webWithChannel } from '../web.ts'

const w = webWithChannel()

const draft = () => ({ type: 'draft', content: 'hello', channelIds: [w.channelId] })
const paths = [...new Set(routes.map(({ path }) => path))]
const nowhere = (path: string) => path.replaceAll(/:\w+/g, '01890000-0000-7000-8000-000000000000')

describe('a credential', () => {
  test('is taken raw, and after Bearer in any case', async () => {
    for (const authorization of [w.key, `Bearer ${w.key}`, `bEARER   ${w.key}`])
      expect(await w.call('GET', '/me', { key: authorization })).toMatchObject({
        status: 200,
        json: { organisation: { id: w.organisationId, name: 'Test' }, credential: { kind: 'api_key', name: 'test' } },
      })
  })

  test('that is missing is 401 with a plain challenge, and one that is wrong in any way with invalid_token', async () => {
    const where = `resource_metadata="${w.site.appUrl}/.well-known/oauth-protected-resource"`
    const none = await w.call('GET', '/me', { key: '' })
    expectProblem(none, 401, 'unauthenticated')
    expect(none.headers.get('www-authenticate')).toBe(`Bearer realm="punctual", ${where}`)
    const wrong = [
      `${w.key.slice(0, -1)}${w.key.endsWith('a') ? 'b' : 'a'}`, // the checksum
      'pak_live_000000000000000000000000000000000000',
      `Basic ${btoa(`${w.key}:`)}`,
      `Token ${w.key}`,
      `${w.key} ${w.key}`,
      'Bearer',
      "' or 1=1 --",
      'x'.repeat(8000),
    ]
    for (const key of wrong) {
      const answer = await w.call('GET', '/me', { key })
      expectProblem(answer, 401, 'unauthenticated')
      expect(answer.headers.get('www-authenticate')).toBe(`Bearer realm="punctual", error="invalid_token", ${where}`)
      expect(answer.text).not.toContain(key)
    }
    const said = async (key: string) => (await w.call('GET', '/me', { key })).json.detail
    expect(await said('pos_short')).toBe('This access token is incomplete or mistyped.')
    expect(await said(`pcs_${'x'.repeat(43)}`)).toContain('This is a client secret.')
  })
})

test('checks come in the documented order: path, method, credential, scope, length, type, form, thing', async () => {
  const tooLong = 'x'.repeat(256 * 1024)
  const wrong = { key: '', body: tooLong, headers: { 'content-type': 'text/plain' } }
  expectProblem(await w.call('POST', '/nothing', wrong), 404, 'not_found')
  expectProblem(await w.call('PUT', '/posts', wrong), 405, 'method_not_allowed')
  expectProblem(await w.call('POST', '/posts', wrong), 401, 'unauthenticated')
  const { key } = await createKey(w.db, {
    ...{ organisationId: w.organisationId, createdBy: w.accountId, name: 'reads', expiresAt: null },
    scopes: ['channels:read'],
  })
  const noWrite = await w.call('POST', '/posts', { ...wrong, key })
  expectProblem(noWrite, 403, 'insufficient_scope')
  expect(noWrite.json.detail).toContain('posts:write')
  const { key: _, ...withKey } = wrong
  const large = { ...withKey, body: `"${tooLong}"` }
  expectProblem(await w.call('POST', '/posts', large), 413, 'body_too_large')
  expectProblem(await w.call('POST', '/posts', { ...withKey, body: '{' }), 415, 'unsupported_media_type')
  expectProblem(await w.call('POST', '/posts', { json: { type: 'draft' } }), 400, 'invalid_request')
  expectProblem(await w.call('POST', '/posts', { json: { ...draft(), channelIds: ['x'] } }), 422, 'unprocessable')
})

test('a connection is kept longer than proxies keep theirs, so that no request meets one that is closing', async () => {
  expect((await w.call('GET', '/me')).headers.get('keep-alive')).toBe('timeout=75')
})

test('a path that is not in the API is 404, also with extra parts around a real one', async () => {
  for (const path of ['', '/', '/me/', '/me/x', '/ME', '/posts/', '/posts//', '/media/upload-from-url/x', '/%6de'])
    expectProblem(await w.call('GET', path), 404, 'not_found')
})

test('a wrong method is 405 with Allow on every path, also without a credential', async () => {
  for (const path of paths) {
    const known = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase())
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((m) => !known.includes(m))) {
      if (method === 'HEAD' && known.includes('GET')) continue
      const answer = await w.call(method, nowhere(path), { key: '' })
      expect([path, method, answer.status]).toEqual([path, method, 405])
      const allowed = answer.headers.get('allow')?.split(', ')
      expect(allowed?.sort()).toEqual([...known, 'OPTIONS', ...(known.includes('GET') ? ['HEAD'] : [])].sort())
    }
  }
})

test('HEAD works wherever GET does, with its status and headers and no body', async () => {
  for (const { path } of routes.filter(({ method }) => method === 'get')) {
    const [head, get] = await Promise.all([w.call('HEAD', nowhere(path)), w.call('GET', nowhere(path))])
    expect([path, head.status, head.text]).toEqual([path, get.status, ''])
    for (const name of ['content-type', 'cache-control', 'access-control-allow-origin'])
      expect(head.headers.get(name)).toBe(get.headers.get(name))
  }
})

test('two slashes in a row are no path', async () => {
  for (const path of ['//posts', '/posts//', '//', '/posts//attempts', '//posts?limit=1']) {
    const answer = await w.call('GET', path)
    expectProblem(answer, 404, 'not_found')
    expect(answer.json.detail).toContain('two slashes in a row')
  }
  expect((await w.call('GET', '/posts?cursor=//')).status).toBe(400) // in a query they may stand
})

test('browsers on any origin may call: OPTIONS is 204 on every path, and what they need is exposed', async () => {
  for (const path of paths) {
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }
    const preflight = await w.call('OPTIONS', nowhere(path), { key: '', headers })
    expect([path, preflight.status, preflight.text]).toEqual([path, 204, ''])
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/Authorization.*Idempotency-Key/)
    expect(Number(preflight.headers.get('access-control-max-age'))).toBeGreaterThan(600)
    const methods = preflight.headers.get('access-control-allow-methods')?.split(', ') ?? []
    for (const route of routes.filter((route) => route.path === path))
      expect(methods).toContain(route.method.toUpperCase())
  }
  expect((await w.call('OPTIONS', '/nothing')).status).toBe(404)
  for (const answer of [await w.call('GET', '/me'), await w.call('GET', '/me', { key: '' })]) {
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    for (const name of [
      'Link',
      'Location',
      'ETag',
      'Idempotent-Replayed',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ])
      expect(answer.headers.get('access-control-expose-headers')).toContain(name)
  }
})

test('a session cookie opens nothing of the API', async () => {
  const cookie = `session=${'a'.repeat(43)}`
  expectProblem(await w.call('GET', '/me', { key: '', headers: { cookie } }), 401, 'unauthenticated')
})

test('a created resource has Location and ETag, and a GET is never 304', async () => {
  const made = await w.call('POST', '/posts', { json: draft() })
  expect(made.status).toBe(201)
  const location = made.headers.get('location') ?? ''
  expect(location).toBe(`${w.site.appUrl}/public/v1/posts/${made.json.id}`)
  expect(made.headers.get('etag')).toBe('"1"')
  // Not by fetch(), which asks for an unconditional answer by itself.
  const headers = { authorization: w.key, 'if-none-match': '"1"' }
  const [conditional] = await once(get(location, { headers }), 'response')
  expect(conditional.resume().statusCode).toBe(200)
  const read = await w.call('GET', `/posts/${made.json.id}`)
  expect(read).toMatchObject({ status: 200, json: made.json })
  expect(read.headers.get('etag')).toBe('"1"')
  expect(read.headers.get('cache-control')).toBe('no-store')
  expect(read.headers.get('content-type')).toBe('application/json; charset=utf-8')
})

test('every answer has its own request id', async () => {
  const answers = await Promise.all(['/me', '/me', '/nothing'].map((path) => w.call('GET', path)))
  const ids = answers.map(({ headers }) => headers.get('x-request-id'))
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(new Set(ids).size).toBe(3)
})

test('everything wrong with the form comes at once, each with its path; then everything in the way', async () => {
  const form = await w.call('POST', '/posts', {
    json: { type: 'schedule', date: 'tomorrow', content: 5, channelIds: [7], mediaIds: 'x', typo: 1, '': 2 },
  })
  expectProblem(form, 400, 'invalid_request')
  expect(faultsOf(form).sort()).toEqual(
    [
      ' unknown_field',
      'channelIds[0] wrong_type',
      'content wrong_type',
      'date invalid',
      'mediaIds wrong_type',
      'typo unknown_field',
    ].sort(),
  )
  const missing = await w.call('POST', '/posts', { json: { type: 'schedule' } })
  expect(faultsOf(missing)).toEqual(['date required', 'content required', 'channelIds required'])
  const rules = await w.call('POST', '/posts', {
    json: {
      type: 'schedule',
      date: '2001-01-01T00:00:00Z',
      content: 'x'.repeat(501),
      channelIds: ['x', w.channelId],
      mediaIds: ['y'],
    },
  })
  expectProblem(rules, 422, 'unprocessable')
  expect(faultsOf(rules).sort()).toEqual(
    [
      'channelIds[0] channel_not_found',
      'content content_too_long',
      'date date_in_past',
      'mediaIds[0] media_not_found',
    ].sort(),
  )
})
