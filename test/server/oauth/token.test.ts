import { request } from 'node:http'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { challengeOf } from '../../../server/access/secrets.ts'
import {
  type Answer,
  aCode,
  anApp,
  basic,
  Callback,
  credentials,
  exchange,
  type Flow,
  openFlow,
  post,
  queryFor,
  send,
  type TestApp,
} from './flow.ts'

let f: Flow
let other: TestApp
beforeAll(async () => {
  f = await openFlow()
  other = await anApp(f.maker, ['https://other.example/callback'], 'Other')
})
afterAll(() => f.end())

const verifier = 'v'.repeat(64)
const pkce = () => queryFor(f.app, { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })
const grant = { grant_type: 'authorization_code' }

/** The documented shape of an error, of this status and code; `challenge` is its WWW-Authenticate. */
function expectError(answer: Answer, status: number, error: string, challenge: string | null = null): void {
  expect({ status: answer.status, json: answer.json }).toEqual({
    status,
    json: { error, error_description: expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/) }, // RFC 6749 5.2
  })
  expect(answer.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('pragma')).toBe('no-cache')
  expect(answer.headers.get('www-authenticate')).toBe(challenge)
}

const Challenge = 'Basic realm="punctual", charset="UTF-8"'

test('RFC 6749 5.1: 200 with the four fixed members and scope, never stored', async () => {
  const answer = await exchange(f, f.app, await aCode(f))
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({
    ...{ id: f.approver.organisationId, cus: null, access_token: expect.stringMatching(/^pos_[\w-]{43}$/) },
    ...{ token_type: 'bearer', scope: 'channels:read posts:read posts:write media:read media:write' },
  })
  expect(answer.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('pragma')).toBe('no-cache')
  expect(answer.headers.get('etag')).toBe(null)
})

describe('before the client is looked at', () => {
  test('RFC 6749 5.2: no grant_type is invalid_request', async () => {
    expectError(await post(f, 'token', {}), 400, 'invalid_request')
    expectError(await post(f, 'token', 'grant_type=&code=x'), 400, 'invalid_request')
  })

  test.each(['password', 'client_credentials', 'refresh_token', 'Authorization_Code', 'authorization_code '])(
    'RFC 6749 5.2: grant_type %s is unsupported_grant_type',
    async (grant_type) => expectError(await post(f, 'token', { grant_type }), 400, 'unsupported_grant_type'),
  )

  test('RFC 6749 3.2: a parameter given twice is invalid_request', async () => {
    const form = new URLSearchParams({ ...grant, ...credentials(f.app), code: 'x' })
    for (const pair of ['code=x', 'grant_type=authorization_code', 'client_id=a', 'anything=1&anything=2'])
      expectError(await post(f, 'token', `${form}&${pair}`), 400, 'invalid_request')
  })

  const bodies: [string, string, string | Uint8Array<ArrayBuffer>][] = [
    ['broken JSON', 'application/json', '{"grant_type":'],
    ['a JSON array', 'application/json', '[]'],
    ['JSON null', 'application/json', 'null'],
    ['an empty JSON body', 'application/json', ''],
    ['a member that is a number', 'application/json', '{"grant_type":1}'],
    ['a member that is an array', 'application/json', '{"grant_type":"authorization_code","code":["x"]}'],
    ['a NUL in JSON', 'application/json', '{"grant_type":"authorization_code","client_id":"\\u0000"}'],
    ['a lone surrogate in JSON', 'application/json', '{"grant_type":"authorization_code","code":"\\ud800"}'],
    ['a NUL in a form', 'application/x-www-form-urlencoded', 'grant_type=authorization_code&redirect_uri=%00'],
    ['invalid UTF-8', 'application/x-www-form-urlencoded', new Uint8Array([0x61, 0x3d, 0xff])],
    ['a type of text', 'text/plain', 'grant_type=authorization_code'],
    ['multipart', 'multipart/form-data; boundary=x', '--x--'],
  ]
  test.each(bodies)('RFC 6749 5.2: %s is invalid_request', async (_name, type, body) => {
    const answer = await send(`${f.baseUrl}/oauth/token`, { method: 'POST', headers: { 'content-type': type }, body })
    expectError(answer, 400, 'invalid_request')
  })

  test('a body without a type is invalid_request', async () => {
    expectError(await send(`${f.baseUrl}/oauth/token`, { method: 'POST' }), 400, 'invalid_request')
  })

  test('a body over 16 KB is 413, one of 16 KB is read, and both are never stored', async () => {
    const filled = (bytes: number) => `grant_type=password&x=${'a'.repeat(bytes - 22)}`
    expectError(await post(f, 'token', filled(16_384)), 400, 'unsupported_grant_type')
    expectError(await post(f, 'token', filled(16_385)), 413, 'invalid_request')
  })
})

describe('client authentication (RFC 6749 2.3.1, 5.2)', () => {
  const wrong = (app: TestApp) => ({ ...app, clientSecret: `pcs_${'x'.repeat(43)}` })

  test('no client, an unknown one, no secret, a wrong one and another app’s are invalid_client, 401 without a challenge', async () => {
    const forms: Record<string, string>[] = [
      ...[
        {},
        { client_id: f.app.clientId },
        { client_secret: f.app.clientSecret },
        { client_id: 'x', client_secret: 'y' },
      ],
      ...[credentials(wrong(f.app)), { ...credentials(f.app), client_secret: other.clientSecret }],
      { client_id: `${f.app.clientId} `, client_secret: f.app.clientSecret },
    ]
    for (const form of forms)
      expectError(await post(f, 'token', { ...grant, code: 'x', ...form }), 401, 'invalid_client')
  })

  test('by HTTP Basic a failure comes with WWW-Authenticate: Basic', async () => {
    const headers = [
      ...[
        basic(wrong(f.app)),
        basic({ ...f.app, clientId: 'x' }),
        { authorization: 'Basic' },
        { authorization: 'Basic !' },
      ],
      ...[{ authorization: `Basic ${btoa('nocolon')}` }, { authorization: `Basic ${btoa('%00:x')}` }],
      ...[{ authorization: `Basic ${btoa('%zz:x')}` }, { authorization: `Bearer ${f.app.clientSecret}` }],
    ]
    for (const header of headers)
      expectError(await post(f, 'token', { ...grant, code: 'x' }, header), 401, 'invalid_client', Challenge)
    const named = { ...grant, code: 'x', client_id: f.app.clientId }
    expectError(await post(f, 'token', named, { authorization: 'Basic !' }), 401, 'invalid_client', Challenge)
  })

  test('Basic and a secret in the body together are invalid_request, even when both are right', async () => {
    const form = { ...grant, code: 'x' }
    expectError(await post(f, 'token', { ...form, ...credentials(f.app) }, basic(f.app)), 400, 'invalid_request')
    expectError(await post(f, 'token', { ...form, client_id: other.clientId }, basic(f.app)), 400, 'invalid_request')
  })

  test('another scheme is none of ours, and the secret in the body beside it was not sent twice', async () => {
    const form = { ...grant, code: 'x', ...credentials(f.app) }
    expectError(await post(f, 'token', form, { authorization: 'Bearer x' }), 401, 'invalid_client', Challenge)
  })

  test('Basic with the same client_id in the body, with form-encoded halves and in any case of the scheme works', async () => {
    const encode = (text: string) => [...text].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')
    const halves = btoa(`${encode(f.app.clientId)}:${encode(f.app.clientSecret)}`)
    const { authorization } = basic(f.app)
    for (const header of [authorization!, authorization!.replace('Basic', 'bAsIc'), `Basic ${halves}`]) {
      const form = { ...grant, code: await aCode(f), client_id: f.app.clientId }
      expect((await post(f, 'token', form, { authorization: header })).status).toBe(200)
    }
  })

  test('a failed authentication does not use the code up', async () => {
    const code = await aCode(f)
    expectError(await exchange(f, wrong(f.app), code), 401, 'invalid_client')
    expect((await exchange(f, f.app, code)).status).toBe(200)
  })
})

describe('the code (RFC 6749 4.1.3)', () => {
  test('RFC 6749 5.2: none is invalid_request', async () => {
    expectError(await post(f, 'token', { ...grant, ...credentials(f.app) }), 400, 'invalid_request')
    expectError(await exchange(f, f.app, ''), 400, 'invalid_request')
  })

  test('an unknown one, and another client’s, are invalid_grant; the other’s stays good', async () => {
    expectError(await exchange(f, f.app, 'unknown'), 400, 'invalid_grant')
    const code = await aCode(f)
    expectError(await exchange(f, other, code), 400, 'invalid_grant')
    expect((await exchange(f, f.app, code)).status).toBe(200)
  })

  test('RFC 6749 4.1.3: the redirect_uri is the one sent to authorize; none sent there, absent or the default’s', async () => {
    const named = queryFor(f.app, { redirect_uri: Callback })
    const status = async (query: string, redirect_uri?: string) => {
      const more = redirect_uri === undefined ? {} : { redirect_uri }
      return (await exchange(f, f.app, await aCode(f, f.app, {}, query), more)).json.error ?? 'ok'
    }
    expect(await status(named, Callback)).toBe('ok')
    expect(await status(named)).toBe('invalid_grant')
    expect(await status(named, `${Callback}/`)).toBe('invalid_grant')
    expect(await status(queryFor(f.app))).toBe('ok')
    expect(await status(queryFor(f.app), Callback)).toBe('ok')
    expect(await status(queryFor(f.app), 'https://evil.example/')).toBe('invalid_grant')
  })

  test('RFC 7636 4.6: the verifier must be the challenge’s, and there must be one exactly when there was a challenge', async () => {
    const error = async (query: string, code_verifier?: string) => {
      const more = code_verifier === undefined ? {} : { code_verifier }
      return (await exchange(f, f.app, await aCode(f, f.app, {}, query), more)).json.error ?? 'ok'
    }
    expect(await error(pkce(), verifier)).toBe('ok')
    expect(await error(pkce())).toBe('invalid_grant')
    expect(await error(pkce(), `${verifier}x`)).toBe('invalid_grant')
    expect(await error(pkce(), challengeOf(verifier))).toBe('invalid_grant')
    expect(await error(queryFor(f.app), verifier)).toBe('invalid_grant')
  })

  test('a wrong verifier or redirect_uri does not use the code up', async () => {
    const code = await aCode(f, f.app, {}, pkce())
    expectError(await exchange(f, f.app, code), 400, 'invalid_grant')
    expect((await exchange(f, f.app, code, { code_verifier: verifier })).status).toBe(200)
  })
})

test('a double fault answers with what comes first: body, grant_type, client, code', async () => {
  const wrongSecret = { client_id: f.app.clientId, client_secret: 'x' }
  expectError(await post(f, 'token', 'a=1&a=2'), 400, 'invalid_request') // and no grant_type
  expectError(await post(f, 'token', wrongSecret), 400, 'invalid_request')
  expectError(await post(f, 'token', { grant_type: 'password', ...wrongSecret }), 400, 'unsupported_grant_type')
  expectError(await post(f, 'token', { ...grant, ...wrongSecret }), 401, 'invalid_client') // and no code
  expectError(await post(f, 'token', { ...grant, ...credentials(f.app), redirect_uri: 'x' }), 400, 'invalid_request')
  const both = { ...grant, code: 'x', client_secret: 'y' }
  expectError(await post(f, 'token', both, { authorization: 'Basic !' }), 400, 'invalid_request')
})

test('JSON and forms are read with any charset parameter and any case; what is not known is ignored', async () => {
  const types = [
    ...['application/json', 'application/json; charset=utf-8', 'application/json;charset=ISO-8859-1'],
    ...['APPLICATION/JSON', 'application/x-www-form-urlencoded', 'application/x-www-form-urlencoded;charset=UTF-8'],
    ...['application/x-www-form-urlencoded; charset="latin1"; x=y'],
  ]
  for (const type of types) {
    const fields = {
      ...grant,
      code: await aCode(f),
      ...credentials(f.app),
      resource: 'https://x.example',
      redirect_uri: '',
    }
    const body = /json/i.test(type)
      ? JSON.stringify({ ...fields, expires: 1, extra: { a: null } })
      : new URLSearchParams(fields).toString()
    const answer = await send(`${f.baseUrl}/oauth/token`, { method: 'POST', headers: { 'content-type': type }, body })
    expect(answer.status, type).toBe(200)
  }
})

test('no error echoes what was sent', async () => {
  const canary = 'CANARY1234'
  const answers = [
    await post(f, 'token', { grant_type: canary }),
    await post(f, 'token', `${canary}=1&${canary}=2`),
    await post(f, 'token', { ...grant, client_id: canary, client_secret: canary }),
    await exchange(f, f.app, canary, { redirect_uri: canary, code_verifier: canary }),
    await post(f, 'revoke', { token: canary }),
    await post(f, 'introspect', { ...credentials(f.app), token: canary }),
  ]
  for (const { text } of answers) expect(text).not.toContain(canary)
})

test.each(['token', 'revoke', 'introspect'])('/oauth/%s takes POST only, and is called from browsers', async (path) => {
  const url = `${f.baseUrl}/oauth/${path}`
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await send(url, { method })
    expectError(answer, 405, 'invalid_request')
    expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
  }
  expect(await send(url, { method: 'HEAD' })).toMatchObject({ status: 405, text: '' })
  const preflight = await send(url, { method: 'OPTIONS' })
  expect(preflight).toMatchObject({ status: 204, text: '' })
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/Authorization, Content-Type/)
  expect(preflight.headers.get('access-control-allow-credentials')).toBe(null)
  expectError(await send(`${url}?grant_type=authorization_code`, { method: 'POST' }), 400, 'invalid_request')
})

test('a body that breaks off harms nobody', async () => {
  await new Promise<void>((done) => {
    const headers = { 'content-type': 'application/json', 'content-length': 100 }
    const half = request(`${f.baseUrl}/oauth/token`, { method: 'POST', headers }, () => {})
    half.on('error', () => done())
    half.write('{', () => half.destroy(new Error('gone')))
  })
  expectError(await post(f, 'token', {}), 400, 'invalid_request')
})

test('what fails on our side is 500 server_error, in general words', async () => {
  const code = await aCode(f)
  await f.db.execute(sql`alter table access_tokens rename to away`)
  try {
    expectError(await exchange(f, f.app, code), 500, 'server_error')
  } finally {
    await f.db.execute(sql`alter table away rename to access_tokens`)
  }
  expect((await exchange(f, f.app, code)).status).toBe(200)
})
