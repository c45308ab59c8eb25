import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { challengeOf } from '../../../server/access/secrets.ts'
import { aCode, anApp, begin, exchange, type Flow, hashOf, me, openFlow, post, queryFor, type TestApp } from './flow.ts'

let f: Flow
let stranger: TestApp
beforeAll(async () => {
  f = await openFlow()
  stranger = await anApp(f.maker, ['https://other.example/callback'], 'Stranger')
})
afterAll(() => f.end())

/** As if the code had been redeemed, or made, so many seconds earlier. */
async function age(code: string, column: 'redeemed_at' | 'expires_at', seconds: number): Promise<void> {
  const name = sql.identifier(column)
  await f.db.execute(sql`
    update authorization_codes set ${name} = ${name} - ${seconds} * interval '1 second' where code_hash = ${hashOf(code)}`)
}

async function redeemedToken(code: string): Promise<string> {
  return (await exchange(f, f.app, code)).json.access_token
}

const errorOf = async (app: TestApp, code: string) => (await exchange(f, app, code)).json.error

test('of 50 exchanges of one code at once one gets a token, which works, and 49 get invalid_grant', async () => {
  const code = await aCode(f)
  const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(f, f.app, code)))
  const [won, ...more] = answers.filter(({ status }) => status === 200)
  expect(more).toEqual([])
  const lost = answers.filter(({ status, json }) => status === 400 && json.error === 'invalid_grant')
  expect(lost).toHaveLength(49)
  expect((await me(f, won!.json.access_token)).status).toBe(200)
})

test('a second use within 10 s, as a retry after a lost answer, only fails', async () => {
  const code = await aCode(f)
  const token = await redeemedToken(code)
  await age(code, 'redeemed_at', 9)
  expect(await errorOf(f.app, code)).toBe('invalid_grant')
  expect((await me(f, token)).status).toBe(200)
})

test('RFC 6749 4.1.2: a second use 11 s later revokes the token that the first one got, and no other', async () => {
  const sibling = await redeemedToken(await aCode(f))
  const code = await aCode(f)
  const token = await redeemedToken(code)
  await age(code, 'redeemed_at', 11)
  expect(await errorOf(f.app, code)).toBe('invalid_grant')
  expect((await me(f, token)).status).toBe(401)
  expect((await me(f, sibling)).status).toBe(200)
  const [entry] = (await f.approver.api.activity.list({})).data
  expect(entry).toMatchObject({ action: 'token.revoked', detail: { reason: 'the code was used again' } })
})

test('a second use by another client, or by somebody without the secret, does nothing', async () => {
  const code = await aCode(f)
  const token = await redeemedToken(code)
  await age(code, 'redeemed_at', 11)
  expect(await errorOf(stranger, code)).toBe('invalid_grant')
  expect(await errorOf({ ...f.app, clientSecret: 'guessed' }, code)).toBe('invalid_client')
  expect((await me(f, token)).status).toBe(200)
})

test('a code works 9:59 after the consent, and 10:01 after it does not', async () => {
  const [early, late] = [await aCode(f), await aCode(f)]
  await age(early, 'expires_at', 599)
  await age(late, 'expires_at', 601)
  expect(await errorOf(f.app, late)).toBe('invalid_grant')
  expect((await exchange(f, f.app, early)).status).toBe(200)
})

const lastReason = async () => (await f.maker.api.apps.get({ id: f.app.id })).attempts[0]!.description

test('a code of an organisation that revoked the app is invalid, and the developer sees why', async () => {
  const code = await aCode(f)
  await f.approver.api.approvedApps.revoke({ id: f.app.id })
  expect(await errorOf(f.app, code)).toBe('invalid_grant')
  expect(await lastReason()).toBe('The organisation has since revoked the app.')
})

test('a code sent to a redirect URL that the developer has removed since is dead, and comes back to life with it', async () => {
  const code = await aCode(f)
  const { id, name, redirectUri } = f.app
  await f.maker.api.apps.update({ id, name, redirectUris: ['https://new.example/'] })
  expect(await errorOf(f.app, code)).toBe('invalid_grant')
  expect(await lastReason()).toBe('The redirect URL that the code was sent to is no longer registered.')
  await f.maker.api.apps.update({ id, name, redirectUris: [redirectUri] })
  expect((await exchange(f, f.app, code)).status).toBe(200)
})

test('the developer sees why each exchange failed, no secret in it, and the last 50 of each step', async () => {
  const code = await aCode(f)
  await exchange(f, { ...f.app, clientSecret: 'guessed' }, code)
  await exchange(f, f.app, code, { redirect_uri: 'https://elsewhere.example/' })
  await exchange(f, f.app, code)
  await exchange(f, f.app, code)
  const { attempts } = await f.maker.api.apps.get({ id: f.app.id })
  expect(attempts.filter(({ step }) => step === 'token')).toHaveLength(50)
  expect(attempts.slice(0, 5).map(({ step, outcome, description }) => [step, outcome, description])).toEqual([
    ['token', 'invalid_grant', 'The code was used a moment ago.'],
    ['token', 'ok', null],
    [
      'token',
      'invalid_grant',
      expect.stringMatching(/^redirect_uri is https:\/\/elsewhere\.example\/\. The authorization request had http/),
    ],
    ['token', 'invalid_client', 'The client secret is wrong or has expired.'],
    ['consent', 'ok', 'Approved for Shop.'],
  ])
  expect(JSON.stringify(attempts)).not.toContain(code)
  const addresses = attempts.filter(({ step }) => step === 'consent').map(({ address }) => address)
  expect(new Set(addresses)).toEqual(new Set([null])) // where a person sat who was asked is not for the developer
})

test('what differs from the authorization request is named to the developer, and only to them', async () => {
  const { redirectUri } = f.app
  const verifier = 'v'.repeat(43)
  const named = queryFor(f.app, { redirect_uri: redirectUri })
  const pkce = queryFor(f.app, { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })
  const cases: [string, Record<string, string>, string][] = [
    [
      named,
      { redirect_uri: `${redirectUri}/` },
      `redirect_uri is ${redirectUri}/. The authorization request had ${redirectUri}.`,
    ],
    [named, {}, `redirect_uri is missing. The authorization request had ${redirectUri}.`],
    [pkce, {}, 'code_verifier is missing. The authorization request had a code_challenge.'],
    [
      pkce,
      { code_verifier: 'w'.repeat(43) },
      'code_verifier does not match the code_challenge of the authorization request.',
    ],
    [
      queryFor(f.app),
      { code_verifier: verifier },
      'code_verifier was sent, but the authorization request had no code_challenge.',
    ],
  ]
  for (const [query, more, reason] of cases) {
    const { json } = await exchange(f, f.app, await aCode(f, f.app, {}, query), more)
    expect(json.error_description).toBe(
      'The code is unknown, expired, used, or its redirect_uri or code_verifier does not match.',
    )
    expect(await lastReason()).toBe(reason)
  }
  const none = await post(f, 'token', { grant_type: 'authorization_code', code: 'x', client_id: f.app.clientId })
  expect(none).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
  expect(none.json.error_description).toMatch(/^client_secret is missing/)
  expect(await lastReason()).toBe(none.json.error_description)
  await begin(f, queryFor(f.app, { redirect_uri: `${redirectUri}/x`, scope: 'everything' }))
  expect(await lastReason()).toContain(encodeURIComponent(`${redirectUri}/x`))
  await begin(f, queryFor(f.app, { scope: 'posts:read,everything' }))
  expect(await lastReason()).toMatch(/^scope is posts:read,everything\. These scopes exist/)
})

test('who sends a stranger’s links to the consent page, however many, hides no wrong secret from the developer', async () => {
  const app = await anApp(f.maker)
  await exchange(f, { ...app, clientSecret: 'guessed' }, 'x')
  const bad = queryFor(app, { response_type: 'bad' })
  for (let n = 0; n < 55; n++) await begin(f, bad)
  const { attempts } = await f.maker.api.apps.get({ id: app.id })
  expect(attempts.map(({ outcome }) => outcome)).toContain('invalid_client')
  expect(attempts).toHaveLength(51)
})
