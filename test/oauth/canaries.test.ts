import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { challengeOf } from '../../server/secrets.ts'
import { apiAs } from '../server/web.ts'
import { aCode, approved, basic, credentials, exchange, type Flow, me, openFlow, post, queryFor, send } from './flow.ts'

// Every secret that passes through, put through every flow; then the whole database and the log are searched for it.

let f: Flow
beforeAll(async () => {
  f = await openFlow({ hosts: 'one' })
})
afterAll(() => f.end())

const verifier = 'canary-verifier-'.padEnd(64, 'v')
const state = 'canary-state-ü-&'
const password = 'canary password 1'

/** Run every flow, well and badly; returns each secret that was in it, by what it is. */
async function runEveryFlow(): Promise<Record<string, string>> {
  const nobody = apiAs(f.installation, null)
  const session = await nobody.account.signUp({ name: 'C', email: 'c@example.org', password, organisation: 'C' })
  await nobody.account.signIn({ email: 'c@example.org', password })
  await nobody.account.signIn({ email: 'c@example.org', password: 'canary wrong 12' }).catch(() => {})
  const { key } = await f.maker.api.keys.create({ name: 'k' })
  await me(f, key)
  const { clientSecret: rotated } = await f.maker.api.apps.rotate({ id: f.app.id, overlap: true })
  const query = queryFor(f.app, { state, code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })
  const pending = await f.approver.api.authorize.begin({ query })
  const url = await approved(f, query)
  await approved(f, query, { decision: 'deny' })
  await f.approver.api.authorize.begin({ query: `${query}&scope=none` })
  const code = url.searchParams.get('code')!
  const unused = await aCode(f, f.app, {}, query)
  const answer = await exchange(f, f.app, code, { code_verifier: verifier })
  const token = answer.json.access_token
  await exchange(f, f.app, code, { code_verifier: verifier })
  await exchange(f, { ...f.app, clientSecret: 'pcs_canary_wrong' }, unused)
  await exchange(f, f.app, unused, { code_verifier: 'canary-verifier-wrong' })
  await me(f, token)
  await send(`${f.baseUrl}/public/v1/me?canary_query=1`, { headers: { authorization: token } })
  await send(`${f.baseUrl}/public/v1/me`, { headers: { authorization: 'pos_canary_mistyped' } })
  for (const path of ['introspect', 'revoke']) await post(f, path, { token }, basic(f.app))
  await send(`${f.appUrl}/oauth/authorize?${query}`)
  await send(`${f.appUrl}/login`, {
    method: 'POST',
    headers: { origin: f.appUrl },
    body: new URLSearchParams({ password }),
  })
  return {
    ...{ password, 'a wrong password': 'canary wrong 12', 'the session': session.token, 'the API key': key },
    ...{ 'the first client secret': f.app.clientSecret, 'the rotated secret': rotated },
    ...{ 'a wrong secret': 'pcs_canary_wrong', 'the used code': code, 'the unused code': unused, token },
    ...{ 'the verifier': verifier, 'a wrong verifier': 'canary-verifier-wrong', state: 'canary-state' },
    ...{ 'a mistyped token': 'pos_canary_mistyped', 'a query': 'canary_query' },
    'the pending consent': pending.kind === 'consent' ? pending.consent.request : '',
  }
}

/** Every row of every table, as text; bytes both as hexadecimal and read as text. */
async function wholeDatabase(): Promise<Map<string, string>> {
  const columns = await f.db.execute<{ schema: string; table: string; column: string; isBytes: boolean }>(sql`
    select c.table_schema as schema, c.table_name as table, c.column_name as column, c.data_type = 'bytea' as "isBytes"
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where t.table_type = 'BASE TABLE' and c.table_schema not in ('pg_catalog', 'information_schema')`)
  const found = new Map<string, string>()
  for (const { schema, table, column, isBytes } of columns) {
    const name = sql`${sql.identifier(schema)}.${sql.identifier(table)}`
    const value = isBytes
      ? sql`encode(${sql.identifier(column)}, 'hex') || ' ' || encode(${sql.identifier(column)}, 'escape')`
      : sql`${sql.identifier(column)}::text`
    const [row] = await f.db.execute<{ all: string | null }>(
      sql`select string_agg(${value}, E'\n') as all from ${name}`,
    )
    found.set(`${schema}.${table}.${column}`, row?.all ?? '')
  }
  return found
}

/** The forms under which a secret could still be used: as it is, encoded, as hexadecimal, as base64. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
}

test('neither the database, nor the log, nor an answer holds a secret that could be used', async () => {
  const secrets = await runEveryFlow()
  const database = await wholeDatabase()
  expect(database.get('public.app_secrets.last4')).toContain(f.app.clientSecret.slice(-4)) // the search does see
  expect(database.get('public.api_keys.key_hash')).not.toBe('')
  expect(f.log()).toContain('/oauth/token')
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThan(10)
    for (const form of formsOf(secret)) {
      const places = [...database].filter(([, all]) => all.includes(form)).map(([place]) => place)
      expect(places, `${name} in the database`).toEqual([])
      expect(f.log().includes(form), `${name} in the log`).toBe(false)
    }
  }
  const shown = JSON.stringify([
    ...[await f.maker.api.apps.get({ id: f.app.id }), await f.maker.api.apps.list(), await f.maker.api.keys.list()],
    ...[await f.maker.api.activity.list({}), await f.approver.api.activity.list({})],
    await f.approver.api.approvedApps.list(),
  ])
  for (const [name, secret] of Object.entries(secrets)) expect(shown.includes(secret), `${name} on a page`).toBe(false)
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
