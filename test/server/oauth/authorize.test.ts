import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { approved, begin, Callback, consentTo, type Flow, openFlow, queryFor } from './flow.ts'

let f: Flow
beforeAll(async () => {
  f = await openFlow({ web: false })
})
afterAll(() => f.end())

/** The redirect that answers `query`, as its origin with path and its decoded parameters. */
async function redirectOf(query: string) {
  const begun = await begin(f, query)
  if (begun.kind !== 'redirect') throw new Error(`No redirect: ${JSON.stringify(begun)}`)
  const url = new URL(begun.url)
  return { to: url.origin + url.pathname, ...Object.fromEntries(url.searchParams) }
}

const challenge = 'a'.repeat(43)

describe('who asks, or where the answer should go, is not certain: a page, and no redirect (RFC 6749 4.1.2.1)', () => {
  const cases: Record<string, (good: string) => string> = {
    'an unknown client_id': (good) => good.replace(/pca_\w{24}/, `pca_${'x'.repeat(24)}`),
    'no client_id': (good) => good.replace(/client_id=\w+&/, ''),
    'an empty client_id': (good) => good.replace(/pca_\w+/, ''),
    'a repeated client_id': (good) => `${good}&client_id=${f.app.clientId}`,
    'a client_id with a NUL': (good) => good.replace(/(pca_\w+)/, '$1%00'),
    'a client_id that is not UTF-8': (good) => good.replace(/(pca_\w+)/, '$1%FF'),
    'an unknown redirect_uri': (good) => `${good}&redirect_uri=https%3A%2F%2Fevil.example%2F`,
    'a repeated redirect_uri': (good) => `${good}${`&redirect_uri=${encodeURIComponent(Callback)}`.repeat(2)}`,
    'a redirect_uri that is not UTF-8': (good) => `${good}&redirect_uri=%FF`,
    'no query at all': () => '',
  }
  test.each(Object.entries(cases))('%s', async (_name, change) => {
    for (const more of ['', '&response_type=token', '&scope=everything'])
      expect(await begin(f, change(queryFor(f.app)) + more)).toEqual({ kind: 'refused', message: expect.any(String) })
  })
})

describe('everything else goes back to the redirect URL with error, state and iss', () => {
  const cases: [string, Record<string, string | undefined>, string][] = [
    ['RFC 6749 4.1.2.1: no response_type', { response_type: undefined }, 'invalid_request'],
    ['RFC 6749 3.1: an empty response_type is none', { response_type: '' }, 'invalid_request'],
    ['RFC 6749 4.1.2.1: response_type token', { response_type: 'token' }, 'unsupported_response_type'],
    ['RFC 6749 4.1.2.1: response_type code token', { response_type: 'code token' }, 'unsupported_response_type'],
    ['RFC 6749 3.3: an unknown scope', { scope: 'posts:read posts:eat' }, 'invalid_scope'],
    ['RFC 6749 3.3: a scope of spaces', { scope: ' ' }, 'invalid_scope'],
    [
      'RFC 7636 4.3: the method plain',
      { code_challenge: challenge, code_challenge_method: 'plain' },
      'invalid_request',
    ],
    ['RFC 7636 4.3: a challenge without a method is plain', { code_challenge: challenge }, 'invalid_request'],
    ['RFC 7636 4.3: a method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    [
      'RFC 7636 4.2: 42 characters',
      { code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' },
      'invalid_request',
    ],
    [
      'RFC 7636 4.2: 44 characters',
      { code_challenge: `${challenge}=`, code_challenge_method: 'S256' },
      'invalid_request',
    ],
    ['a scope with a NUL', { scope: 'posts:read\0' }, 'invalid_request'],
  ]
  test.each(cases)('%s', async (_name, changes, error) => {
    expect(await redirectOf(queryFor(f.app, { state: 'xyz', ...changes }))).toEqual({
      ...{ to: Callback, error, state: 'xyz', iss: f.baseUrl },
      error_description: expect.stringMatching(/^[\x20-\x7e]+$/),
    })
  })

  test.each(['response_type=code', 'scope=posts:read', `code_challenge=${challenge}`, 'code_challenge_method=S256'])(
    'RFC 6749 3.1: a repeated parameter is invalid_request: %s',
    async (pair) => {
      const query = `${queryFor(f.app, { response_type: undefined })}&response_type=code&${pair}&${pair}`
      expect(await redirectOf(query)).toMatchObject({ error: 'invalid_request', state: 's', iss: f.baseUrl })
    },
  )

  test('RFC 6749 3.1: a repeated state is invalid_request and is not returned', async () => {
    const answer = await redirectOf(`${queryFor(f.app)}&state=t`)
    expect(answer).toMatchObject({ error: 'invalid_request', iss: f.baseUrl })
    expect(answer).not.toHaveProperty('state')
  })

  test('a double fault answers with what comes first: response_type, then scope, then the challenge', async () => {
    const faults = { response_type: 'token', scope: 'everything', code_challenge: 'short' }
    expect(await redirectOf(queryFor(f.app, faults))).toMatchObject({ error: 'unsupported_response_type' })
    expect(await redirectOf(queryFor(f.app, { ...faults, response_type: undefined }))).toMatchObject({
      error: 'invalid_request',
    })
    expect(await redirectOf(queryFor(f.app, { ...faults, response_type: 'code' }))).toMatchObject({
      error: 'invalid_scope',
    })
  })

  test('what fails on our side after the checks is server_error', async () => {
    await f.db.execute(sql`alter table authorization_requests rename to away`)
    try {
      const begun = await f.approver.api.authorize.begin({ query: queryFor(f.app) })
      expect(begun).toMatchObject({ kind: 'redirect', url: expect.stringContaining('error=server_error') })
    } finally {
      await f.db.execute(sql`alter table away rename to authorization_requests`)
    }
  })
})

test('all of it is checked before anybody signs in, and only a good request asks them to', async () => {
  expect(await begin(f, queryFor(f.app))).toEqual({ kind: 'sign_in' })
})

test('an empty parameter counts as absent, an unknown one is ignored, also twice', async () => {
  const query = `${queryFor(f.app)}&scope=&code_challenge=&code_challenge_method=&redirect_uri=&resource=a&resource=b&x`
  expect(await begin(f, query)).toEqual({ kind: 'sign_in' })
})

test('a request without scopes asks for all but webhooks:manage', async () => {
  const { scopes } = await consentTo(queryFor(f.app), f.approver)
  expect(scopes).toEqual(['channels:read', 'posts:read', 'posts:write', 'media:read', 'media:write'])
})

describe('RFC 6749 4.1.2: state comes back byte for byte', () => {
  const jwe = `eyJ${'aB3-_.'.repeat(340)}`
  const states: Record<string, [sent: string, back: string]> = {
    unicode: ['%C3%BC%E2%9C%93%F0%9F%8E%89', '%C3%BC%E2%9C%93%F0%9F%8E%89'],
    'a raw +, as %20': ['a+b', 'a%20b'],
    '%2B': ['a%2Bb%2b', 'a%2Bb%2b'],
    'an encoded & and =': ['a%26code%3Dx%3D', 'a%26code%3Dx%3D'],
    'an = as it is': ['YWJj==', 'YWJj=='],
    'a JWE of 2 KB': [jwe, jwe],
    'a space, a quote, a fragment': ['%20%22%27%23', '%20%22%27%23'],
    'bytes that are no UTF-8': ['%FF%00', '%FF%00'],
    'line breaks, which stay encoded': ['%0D%0Aa', '%0D%0Aa'],
    JSON: ['{"a":1}', '%7B%22a%22:1%7D'],
  }
  test.each(Object.entries(states))('%s', async (_name, [sent, back]) => {
    const base = queryFor(f.app, { state: undefined })
    const stateIn = (url: string) => url.match(/[?&]state=([^&]*)/)?.[1]
    const refused = await begin(f, `${base}&state=${sent}&scope=none`)
    expect(stateIn((refused as { url: string }).url)).toBe(back)
    expect(stateIn((await approved(f, `${base}&state=${sent}`)).href)).toBe(back)
    expect(stateIn((await approved(f, `${base}&state=${sent}`, { decision: 'deny' })).href)).toBe(back)
  })

  test('one of more than 4096 characters is refused, and not returned', async () => {
    const base = queryFor(f.app, { state: undefined })
    expect(await begin(f, `${base}&state=${'a'.repeat(4096)}`)).toEqual({ kind: 'sign_in' })
    const answer = await redirectOf(`${base}&state=${'%61'.repeat(1366)}`)
    expect(answer).toMatchObject({ error: 'invalid_request' })
    expect(answer).not.toHaveProperty('state')
  })

  test('absent, it is not returned', async () => {
    for (const state of [undefined, '']) {
      expect((await approved(f, queryFor(f.app, { state }))).searchParams.has('state')).toBe(false)
      const begun = await begin(f, queryFor(f.app, { state, scope: 'none' }))
      expect((begun as { url: string }).url).not.toContain('state')
    }
  })
})

test('approved: code, state and iss (RFC 9207); denied: access_denied, state and iss', async () => {
  const yes = Object.fromEntries((await approved(f, queryFor(f.app))).searchParams)
  expect(yes).toEqual({ code: expect.stringMatching(/^[\w-]{43}$/), state: 's', iss: f.baseUrl })
  const no = Object.fromEntries((await approved(f, queryFor(f.app), { decision: 'deny' })).searchParams)
  expect(no).toEqual({ error: 'access_denied', state: 's', iss: f.baseUrl })
})
