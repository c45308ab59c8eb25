import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { challengeOf } from '../../../server/access/secrets.ts'
import { formsOf, wholeDatabase } from '../../postgres/whole-database.ts'
import { aBrowser } from '../browser.ts'
import { aCode, basic, browsed, credentials, exchange, type Flow, me, openFlow, post, queryFor, send } from './flow.ts'

// Every secret that passes through, put through every flow; then the whole database and the log are searched for it.

let f: Flow
beforeAll(async () => {
  f = await openFlow({ hosts: 'one' })
})
afterAll(() => f.end())

const verifier = 'canary-verifier-'.padEnd(64, 'v')
const state = 'canary-state-ü-&'
const password = 'canary password 1'

const heard: string[] = []

/** Keep what came back, body and headers, without what is `meant` to be shown in it, this once. Cookies are for a session. */
function hear<A extends { headers: Headers; text: string }>(answer: A, ...meant: string[]): A {
  const headers = [...answer.headers].filter(([name]) => name !== 'set-cookie')
  const whole = `${JSON.stringify(headers)} ${answer.text}`
  heard.push(meant.reduce((text, secret) => text.replaceAll(secret, ''), whole))
  return answer
}

type Secrets = Record<string, string>

/** Every flow, well and badly, by the web process; returns each secret that was in it, by what it is. */
async function runEveryFlow(): Promise<Secrets> {
  const account = await runAccount()
  const { key, rotated } = await runDeveloper()
  const consent = await runConsent()
  for (const answer of [await me(f, key), await me(f, consent.token!)]) hear(answer)
  await runTokens(consent)
  for (const answer of [
    await send(`${f.baseUrl}/public/v1/me?canary_query=1`, { headers: { authorization: consent.token! } }),
    await send(`${f.baseUrl}/public/v1/me`, { headers: { authorization: 'pos_canary_mistyped' } }),
  ])
    hear(answer)
  return {
    ...{ ...account, ...consent, 'the API key': key, 'the rotated secret': rotated },
    ...{ 'the first client secret': f.app.clientSecret, 'a wrong secret': 'pcs_canary_wrong' },
    ...{ 'a wrong verifier': 'canary-verifier-wrong', 'a mistyped token': 'pos_canary_mistyped' },
    'a query': 'canary_query',
  }
}

async function runAccount(): Promise<Secrets> {
  const browser = aBrowser(f.appUrl)
  const person = { email: 'c@example.org', password }
  hear(await browser.post('/signup', { ...person, name: 'C', organisation: 'C' }))
  const first = browser.jar.cookie
  hear(await browser.post('/logout', {}))
  const wrong = 'canary wrong 12'
  hear(await browser.post('/login', { ...person, password: wrong }))
  expect(hear(await browser.post('/login', person)).status).toBe(302)
  const sessions = { 'the first session': sessionIn(first), 'the second session': sessionIn(browser.jar.cookie) }
  return { password, 'a wrong password': wrong, ...sessions }
}

async function runDeveloper(): Promise<{ key: string; rotated: string }> {
  const browser = aBrowser(f.appUrl, { cookie: f.maker.cookie })
  const made = await browser.post('/settings/developers/access', { name: 'k', scopes: 'posts:read' })
  const key = made.text.match(/pak_live_\w+/)![0]
  const { id } = f.app
  const rotation = await browser.post(`/settings/developers/apps/${id}?index`, { intent: 'rotate', id, overlap: 'yes' })
  const rotated = rotation.text.match(/pcs_[\w-]+/)![0]
  hear(made, key)
  hear(rotation, rotated)
  for (const path of ['developers/access', 'developers/apps', `developers/apps/${id}`, 'activity'])
    hear(await browser.get(`/settings/${path}`))
  return { key, rotated }
}

const query = () => queryFor(f.app, { state, code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })

async function runConsent(): Promise<Secrets> {
  const browser = aBrowser(f.appUrl, { cookie: f.approver.cookie })
  const [good, denied, spare] = [
    await browsed(f, query()),
    await browsed(f, query(), { decision: 'deny' }),
    await browsed(f, query()),
  ]
  const request = ({ page }: typeof good) => page.text.match(/name="request" value="([^"]+)"/)![1]!
  for (const one of [good, denied, spare]) {
    hear(one.page, request(one))
    hear(one.answer, one.url.searchParams.get('code') ?? state, 'canary-state')
  }
  for (const answer of [
    await aBrowser(f.appUrl).get(`/oauth/authorize?${query()}`), // to sign in
    await browser.get(`/oauth/authorize?${query()}&scope=none`),
  ])
    hear(answer, challengeOf(verifier), 'canary-state')
  const [code, unused] = [good.url.searchParams.get('code')!, spare.url.searchParams.get('code')!]
  const answer = await exchange(f, f.app, code, { code_verifier: verifier })
  const token = answer.json.access_token
  hear(answer, token)
  return {
    state: 'canary-state',
    verifier,
    token,
    'the used code': code,
    'the unused code': unused,
    request: request(good),
  }
}

async function runTokens(consent: Secrets): Promise<void> {
  const unused = consent['the unused code']!
  const answers = [
    await exchange(f, f.app, consent['the used code']!, { code_verifier: verifier }),
    await exchange(f, { ...f.app, clientSecret: 'pcs_canary_wrong' }, unused),
    await exchange(f, f.app, unused, { code_verifier: 'canary-verifier-wrong' }),
    await post(f, 'introspect', { token: consent.token! }, basic(f.app)),
    await post(f, 'revoke', { token: consent.token! }, basic(f.app)),
  ]
  for (const answer of answers) hear(answer)
}

function sessionIn(cookie: string): string {
  return cookie.split('=')[1]!
}

test('neither the database, nor the log, nor an answer holds a secret that could be used', async () => {
  const secrets = await runEveryFlow()
  const database = await wholeDatabase(f.db)
  expect(database.get('public.app_secrets.last4')).toContain(f.app.clientSecret.slice(-4)) // the search does see
  expect(database.get('public.api_keys.key_hash')).not.toBe('')
  expect(f.log()).toContain('/oauth/token')
  expect(heard.join()).toContain('Shop window wants') // the title of the consent page
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(10)
    for (const form of formsOf(secret)) {
      const places = [...database].filter(([, all]) => all.includes(form)).map(([place]) => place)
      expect(places, `${name} in the database`).toEqual([])
      expect(f.log().includes(form), `${name} in the log`).toBe(false)
      expect(
        heard.filter((text) => text.includes(form)),
        `${name} in an answer`,
      ).toEqual([])
    }
  }
})

test('what fails on our side tells no secret, to the log or to the caller', async () => {
  const query = queryFor(f.app, { state })
  const code = await aCode(f, f.app, {}, query)
  const away = ['access_tokens', 'grants', 'activity']
  for (const table of away) {
    await f.db.execute(sql`alter table ${sql.identifier(table)} rename to away`)
    const answers = [
      await exchange(f, f.app, code),
      await post(f, 'introspect', { token: 'pos_canary_token', ...credentials(f.app) }),
      await me(f, `pos_${'canary_'.repeat(6)}x`),
    ]
    await f.db.execute(sql`alter table away rename to ${sql.identifier(table)}`)
    expect(answers[0]).toMatchObject({ status: 500, json: { error: 'server_error' } })
    for (const { text } of answers) expect(text).not.toMatch(/select|insert|update|canary|\bat \//i)
  }
  expect(f.log()).toContain('request failed')
  for (const secret of [code, f.app.clientSecret, 'canary_', 'canary-state']) {
    expect(f.log().includes(secret), secret).toBe(false)
    expect(f.log().includes(Buffer.from(secret).toString('base64'))).toBe(false)
  }
})
