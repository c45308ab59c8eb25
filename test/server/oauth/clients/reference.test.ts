import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { challengeOf } from '../../../../server/access/secrets.ts'
import { type Answer, aCode, anApp, Callback, type Flow, openFlow, queryFor, send, type TestApp } from '../flow.ts'
import { type Reference, startProvider } from './provider.ts'
import { reasons } from './reference-reasons.ts'

// The same refusals sent to us and to oidc-provider, side by side in docs/oauth-reference.md.

/** One of the two servers, with a client of the body's secret and one of the header's, and a stranger. */
type Side = {
  authorize: string
  endpoint: (name: string) => string
  id: string
  secret: string
  basicId: string
  basicSecret: string
  code: (challenge?: string) => Promise<string>
  foreignToken: () => Promise<string>
}

let f: Flow
let reference: Reference
let ours: Side
let theirs: Side
beforeAll(async () => {
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {})
  f = await openFlow({ hosts: 'one' })
  reference = await startProvider()
  const other = await anApp(f.maker, undefined, 'Other')
  ours = {
    ...{ authorize: `${f.appUrl}/oauth/authorize`, endpoint: (name) => `${f.baseUrl}/oauth/${name}` },
    ...{ id: f.app.clientId, secret: f.app.clientSecret, basicId: f.app.clientId, basicSecret: f.app.clientSecret },
    code: (challenge) => aCode(f, f.app, {}, queryFor(f.app, { redirect_uri: Callback, ...pkce(challenge) })),
    foreignToken: () => tokenOf(ours, other),
  }
  const paths: Record<string, string> = {
    token: 'token',
    revoke: 'token/revocation',
    introspect: 'token/introspection',
  }
  theirs = {
    ...{ authorize: `${reference.url}/auth`, endpoint: (name) => `${reference.url}/${paths[name]}` },
    ...{ id: 'app', secret: 'secret', basicId: 'basic', basicSecret: 'secret' },
    code: (challenge) =>
      reference.aCode('app', challenge ? { codeChallenge: challenge, codeChallengeMethod: 'S256' } : {}),
    foreignToken: async () => {
      const code = await reference.aCode('other')
      const headers = { authorization: `Basic ${btoa('other:secret')}` }
      return (await form(theirs, 'token', { ...grant, code, redirect_uri: Callback }, headers)).json.access_token
    },
  }
})
afterAll(async () => {
  await reference.end()
  await f.end()
})

const grant = { grant_type: 'authorization_code' }
const verifier = 'v'.repeat(64)

function pkce(challenge?: string): Record<string, string> {
  return challenge ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}
}

async function tokenOf(side: Side, app: TestApp): Promise<string> {
  const code = await aCode(f, app)
  const answer = await form(side, 'token', { ...grant, code, client_id: app.clientId, client_secret: app.clientSecret })
  return answer.json.access_token
}

function form(side: Side, name: string, body: Record<string, string> | string, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return send(side.endpoint(name), {
    ...{ method: 'POST', body: new URLSearchParams(body).toString(), headers: { ...type, ...headers } },
  })
}

type Case = (side: Side) => Promise<Answer>

function ask(changes: Record<string, string | undefined>, more = ''): Case {
  return ({ authorize, id }) => {
    const all = {
      client_id: id,
      response_type: 'code',
      redirect_uri: Callback,
      scope: 'posts:read',
      state: 's',
      ...changes,
    }
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
    return send(`${authorize}?${new URLSearchParams(given)}${more}`)
  }
}

const secretOf = ({ id, secret }: Side) => ({ client_id: id, client_secret: secret })
const basicOf = ({ basicId }: Side, secret: string) => ({ authorization: `Basic ${btoa(`${basicId}:${secret}`)}` })

async function spend(side: Side, more: Record<string, string>, challenge?: string, times = 1): Promise<Answer> {
  const code = await side.code(challenge)
  const body = { ...grant, ...secretOf(side), redirect_uri: Callback, code, ...more }
  for (let i = 1; i < times; i++) await form(side, 'token', body)
  return form(side, 'token', body)
}

const cases: Record<string, Case> = {
  'authorize: unknown client_id': ask({ client_id: 'nobody' }),
  'authorize: no client_id': ask({ client_id: undefined }),
  'authorize: redirect_uri not registered': ask({ redirect_uri: 'https://evil.example/' }),
  'authorize: redirect_uri twice': ask({}, `&redirect_uri=${encodeURIComponent(Callback)}`),
  'authorize: no response_type': ask({ response_type: undefined }),
  'authorize: response_type token': ask({ response_type: 'token' }),
  'authorize: unknown scope': ask({ scope: 'posts:eat' }),
  'authorize: scope twice': ask({}, '&scope=posts%3Aread'),
  'authorize: state twice': ask({}, '&state=t'),
  'authorize: challenge by plain': ask({ code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }),
  'authorize: challenge of 42 characters': ask({ code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }),
  'authorize: method without a challenge': ask({ code_challenge_method: 'S256' }),
  'token: no grant_type': (side) => form(side, 'token', secretOf(side)),
  'token: grant_type password': (side) => form(side, 'token', { grant_type: 'password', ...secretOf(side) }),
  'token: no client': (side) => form(side, 'token', { ...grant, code: 'x' }),
  'token: unknown client': (side) =>
    form(side, 'token', { ...grant, code: 'x', client_id: 'nobody', client_secret: 'x' }),
  'token: wrong secret in the body': (side) =>
    form(side, 'token', { ...grant, code: 'x', ...secretOf(side), client_secret: 'wrong' }),
  'token: wrong secret by Basic': (side) => form(side, 'token', { ...grant, code: 'x' }, basicOf(side, 'wrong')),
  'token: Basic and body together': (side) =>
    form(
      side,
      'token',
      { ...grant, code: 'x', client_id: side.basicId, client_secret: side.basicSecret },
      basicOf(side, side.basicSecret),
    ),
  'token: no code': (side) => form(side, 'token', { ...grant, ...secretOf(side), redirect_uri: Callback }),
  'token: unknown code': (side) =>
    form(side, 'token', { ...grant, ...secretOf(side), code: 'x', redirect_uri: Callback }),
  'token: another redirect_uri': (side) => spend(side, { redirect_uri: 'https://evil.example/' }),
  'token: no verifier': (side) => spend(side, {}, challengeOf(verifier)),
  'token: wrong verifier': (side) => spend(side, { code_verifier: 'w'.repeat(64) }, challengeOf(verifier)),
  'token: verifier without a challenge': (side) => spend(side, { code_verifier: verifier }),
  'token: code used again': (side) => spend(side, {}, undefined, 2),
  'token: a parameter twice': (side) =>
    form(side, 'token', `${new URLSearchParams({ ...grant, ...secretOf(side) })}&code=a&code=b`),
  'token: broken JSON': (side) =>
    send(side.endpoint('token'), { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }),
  'token: GET': (side) => send(side.endpoint('token')),
  'revoke: no client': (side) => form(side, 'revoke', { token: 'x' }),
  'revoke: no token': (side) => form(side, 'revoke', secretOf(side)),
  'revoke: unknown token': (side) => form(side, 'revoke', { ...secretOf(side), token: 'x' }),
  "revoke: another client's token": async (side) =>
    form(side, 'revoke', { ...secretOf(side), token: await side.foreignToken() }),
  'introspect: no client': (side) => form(side, 'introspect', { token: 'x' }),
  'introspect: no token': (side) => form(side, 'introspect', secretOf(side)),
  'introspect: unknown token': (side) => form(side, 'introspect', { ...secretOf(side), token: 'x' }),
}

/** What matters of an answer: status, where it goes, error, and the headers that say something. */
function gist({ status, headers, json, text }: Answer): string {
  const location = headers.get('location')
  const challenge = headers.get('www-authenticate')
  const parts = [
    `${status}`,
    location ? goal(location) : /html/.test(headers.get('content-type') ?? '') ? 'page' : null,
    json?.error,
    json && 'active' in json ? `active: ${json.active}` : null,
    status === 200 && !json ? `body: ${text || 'none'}` : null,
    challenge?.split(' ')[0],
    headers.get('cache-control')?.includes('no-store') ? 'no-store' : null,
  ]
  return parts.filter(Boolean).join(' · ')
}

// To the app with its error, in the query or the fragment, or on to the person who is asked.
function goal(location: string): string {
  if (!location.startsWith(Callback)) return 'on to sign-in'
  const { search, hash } = new URL(location)
  return search
    ? `to the app: ${new URLSearchParams(search).get('error')}`
    : `to the app's fragment: ${new URLSearchParams(hash.slice(1)).get('error')}`
}

test('our refusals and those of oidc-provider stand side by side in docs/oauth-reference.md, each difference with its reason', async () => {
  const rows: string[] = []
  for (const [name, run] of Object.entries(cases)) {
    const [us, them] = [gist(await run(ours)), gist(await run(theirs))]
    const reason = reasons[name] ?? ''
    expect(us === them || reason !== '', `${name}: ${us} against ${them} has no reason`).toBe(true)
    rows.push(`| ${name} | ${us} | ${us === them ? 'the same' : them} | ${us === them ? '' : reason} |`)
  }
  const head = `# Our refusals compared with a reference

test/server/oauth/clients/reference.test.ts sends the same requests to this server and to [oidc-provider](https://github.com/panva/node-oidc-provider), a certified implementation, and writes this page.
For each answer it shows the status, the error and the headers: a redirect, a page, the scheme of WWW-Authenticate, Cache-Control.

| request | Punctual | oidc-provider | why they differ |
|---|---|---|---|
`
  await expect(`${head}${rows.join('\n')}\n`).toMatchFileSnapshot(
    `${import.meta.dirname}/../../../../docs/oauth-reference.md`,
  )
})
