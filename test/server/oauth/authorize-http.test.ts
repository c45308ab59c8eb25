import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authorizationRequests } from '../../../db/schema/oauth.ts'
import { apiAs } from '../web.ts'
import { Callback, type Flow, openFlow, queryFor, send } from './flow.ts'

// GET /oauth/authorize as a browser asks for it: what the page in front of the checks may not change.

let f: Flow
let cookie: string
beforeAll(async () => {
  f = await openFlow()
  const somebody = { name: 'S', email: 's@example.org', password: 'long enough 1', organisation: 'S' }
  const { token } = (await apiAs(f.installation, null).signUp.begin({ ...somebody, next: '/' }))!
  cookie = `session=${token}`
})
afterAll(() => f.end())

const ask = (query: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(`${f.appUrl}/oauth/authorize?${query}`, { headers, method })

describe('RFC 6749 4.1.2.1: an error keeps state byte for byte in Location', () => {
  const jwe = `eyJ${'aB3-_.'.repeat(340)}`
  const states = [
    '%C3%BC%F0%9F%8E%89',
    'a%2Bb%2b',
    'a%26code%3Dx',
    'YWJj==',
    '%FF%00',
    '%0D%0ASet-Cookie:%20a',
    '%',
    jwe,
  ]
  test.each(states.map((state) => [state.slice(0, 30), state]))('%s', async (_name, state) => {
    for (const headers of [{}, { cookie }]) {
      const query = `${queryFor(f.app, { scope: 'none', state: undefined })}&state=${state}`
      const answer = await ask(query, headers as Record<string, string>)
      expect(answer.status).toBe(302)
      expect(answer.headers.get('location')).toBe(
        `${Callback}?error=invalid_scope&error_description=scope%20contains%20an%20unknown%20scope.` +
          `&iss=${encodeURIComponent(f.baseUrl)}&state=${state}`,
      )
      expect(answer.headers.get('set-cookie')).toBe(null)
    }
  })
})

test('names that Remix or a form would read are the app’s own here: _data, index, _routes', async () => {
  for (const extra of ['_data=routes%2Foauth.authorize', 'index', '_routes=x', '_method=post']) {
    const answer = await ask(`${queryFor(f.app, { response_type: 'token' })}&${extra}`)
    expect(answer.headers.get('location'), extra).toMatch(
      /^https:\/\/shop\.example\/callback\?error=unsupported_response_type/,
    )
  }
})

test('what is not certain is a page with status 400, for somebody signed in as for nobody, and never a redirect', async () => {
  const uncertain = [
    ...[queryFor(f.app, { client_id: 'nobody' }), queryFor(f.app, { redirect_uri: 'https://evil.example/' }), ''],
    ...[`${queryFor(f.app)}&client_id=x`, queryFor(f.app, { redirect_uri: 'javascript:alert(1)' }), 'client_id=%00'],
  ]
  for (const query of uncertain)
    for (const headers of [{}, { cookie }] as Record<string, string>[]) {
      const answer = await ask(query, headers)
      expect(answer.status, query).toBe(400)
      expect(answer.headers.get('location')).toBe(null)
      expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
      expect(answer.text).not.toContain('evil.example')
      expect(answer.text).not.toMatch(/http-equiv="?refresh/i)
    }
})

test('the consent page is never stored, never framed, tells no referrer, and lets its form go on to the app', async () => {
  const { status, headers, text } = await ask(queryFor(f.app), { cookie })
  expect(status).toBe(200)
  expect(text).toContain('Shop window')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('referrer-policy')).toBe('strict-origin')
  expect(headers.get('x-frame-options')).toBe('DENY')
  const policy = headers.get('content-security-policy')!
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("form-action 'self' https: http:")
  expect(policy).not.toContain('unsafe-inline')
  const login = await send(`${f.appUrl}/login`)
  expect(login.headers.get('content-security-policy')).toMatch(/form-action 'self'(;|$)/)
})

test('not signed in, the way leads to sign-in and keeps the whole request', async () => {
  const query = `${queryFor(f.app, { state: undefined })}&state=a%2Bb%26`
  const answer = await ask(query)
  expect(answer.status).toBe(302)
  const location = new URL(answer.headers.get('location')!, f.appUrl)
  expect(location.pathname).toBe('/login')
  expect([...location.searchParams.values()]).toContain(`/oauth/authorize?${query}`)
})

test('HEAD answers as GET does and keeps nothing, and a POST from nowhere is refused', async () => {
  const kept = await f.db.$count(authorizationRequests)
  expect((await ask(queryFor(f.app, { scope: 'none' }), {}, 'HEAD')).status).toBe(302)
  expect((await ask(queryFor(f.app), { cookie }, 'HEAD')).status).toBe(200)
  expect(await f.db.$count(authorizationRequests)).toBe(kept) // nobody answers what nobody saw
  expect((await ask(queryFor(f.app), { cookie }, 'POST')).status).toBe(403)
  expect((await ask(queryFor(f.app), { cookie, origin: 'https://evil.example' }, 'POST')).status).toBe(403)
})
