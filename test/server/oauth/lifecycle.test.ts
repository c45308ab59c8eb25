import { and, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accounts, memberships } from '../../../db/schema/accounts.ts'
import { until } from '../../processes.ts'
import { failureOf } from '../web.ts'
import {
  aCode,
  anApp,
  aPerson,
  approved,
  aToken,
  credentials,
  exchange,
  type Flow,
  me,
  openFlow,
  post,
  queryFor,
  signIn,
} from './flow.ts'

let f: Flow
beforeAll(async () => {
  f = await openFlow()
})
afterAll(() => f.end())

const newApp = () => anApp(f.maker)
const statusOf = async (token: string) => (await me(f, token)).status
const names = async () => (await f.approver.api.approvedApps.list()).map(({ id }) => id)

test('rotating the secret makes the old one fail at once, and leaves tokens and codes working', async () => {
  const app = await newApp()
  const [token, code] = [await aToken(f, app), await aCode(f, app)]
  const { clientSecret } = await f.maker.api.apps.rotate({ id: app.id })
  expect(await exchange(f, app, code)).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
  expect(await statusOf(token)).toBe(200)
  expect((await exchange(f, { ...app, clientSecret }, code)).status).toBe(200)
})

test('with the overlap both secrets work for 24 h, then only the new one', async () => {
  const app = await newApp()
  const { clientSecret } = await f.maker.api.apps.rotate({ id: app.id, overlap: true })
  const move = (interval: string) =>
    f.db.execute(sql`update app_secrets set expires_at = expires_at - ${interval}::interval where app_id = ${app.id}`)
  for (const secret of [app.clientSecret, clientSecret])
    expect((await exchange(f, { ...app, clientSecret: secret }, await aCode(f, app))).status).toBe(200)
  await move('23 hours 59 minutes')
  expect((await exchange(f, app, await aCode(f, app))).status).toBe(200)
  await move('1 minute')
  expect((await exchange(f, app, await aCode(f, app))).status).toBe(401)
  expect((await exchange(f, { ...app, clientSecret }, await aCode(f, app))).status).toBe(200)
  expect((await f.maker.api.apps.get({ id: app.id })).secrets).toHaveLength(1)
})

test('of many rotations at once one secret is left', async () => {
  const app = await newApp()
  const made = await Promise.all(Array.from({ length: 6 }, () => f.maker.api.apps.rotate({ id: app.id })))
  const works = await Promise.all(
    made.map(async ({ clientSecret }) => (await exchange(f, { ...app, clientSecret }, 'x')).json.error),
  )
  expect(works.filter((error) => error === 'invalid_grant')).toHaveLength(1)
})

test('an app that gave its token back, or never exchanged its code in time, is no longer approved', async () => {
  const app = await newApp()
  const lineOf = async () => (await f.approver.api.approvedApps.list()).find(({ id }) => id === app.id)
  const wide = await aToken(f, app, {}, queryFor(app, { scope: 'webhooks:manage' }))
  const narrow = await aToken(f, app, {}, queryFor(app, { scope: 'posts:read' }))
  expect(await lineOf()).toMatchObject({ scopes: ['posts:read', 'webhooks:manage'], tokens: 2 })
  await post(f, 'revoke', { ...credentials(app), token: wide })
  expect(await lineOf()).toMatchObject({ scopes: ['posts:read'], tokens: 1 })
  await post(f, 'revoke', { ...credentials(app), token: narrow })
  expect(await lineOf()).toBeUndefined()
  await aCode(f, app)
  expect(await lineOf()).toMatchObject({ tokens: 0 })
  await f.db.execute(sql`update authorization_codes set expires_at = now() where app_id = ${app.id}`)
  expect(await lineOf()).toBeUndefined()
})

test('revoking in one organisation stops its tokens and codes for that app, and nobody else’s', async () => {
  const [app, another] = [await newApp(), await newApp()]
  const b = await aPerson(f.installation, 'B')
  const codeOf = async (person: typeof b) => (await approved(f, queryFor(app), {}, person)).searchParams.get('code')!
  const inB = (await exchange(f, app, await codeOf(b))).json.access_token
  const codeInB = await codeOf(b)
  const [first, second, otherApp] = [await aToken(f, app), await aToken(f, app), await aToken(f, another)]
  const code = await aCode(f, app)
  await f.approver.api.approvedApps.revoke({ id: app.id })
  expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401])
  expect((await exchange(f, app, code)).json.error).toBe('invalid_grant')
  expect([await statusOf(inB), await statusOf(otherApp)]).toEqual([200, 200])
  expect((await exchange(f, app, codeInB)).status).toBe(200)
  expect(await names()).not.toContain(app.id)
  expect((await b.api.approvedApps.list()).map(({ id }) => id)).toEqual([app.id])
  const again = await f.approver.api.approvedApps.revoke({ id: app.id }).catch((error) => error.failure)
  expect(again).toBe('not_found')
  expect(await statusOf(await aToken(f, app))).toBe(200) // a new consent begins anew
})

test('a revocation that an exchange overlaps leaves no live token', async () => {
  const app = await newApp()
  await aToken(f, app)
  const code = await aCode(f, app)
  const waiting = async () => {
    const rows = await f.db.execute(sql`select from pg_locks where not granted and relation = 'activity'::regclass`)
    return rows.length
  }
  // Both have done their work and wait to tell of it: neither sees what the other did.
  const { revoked, exchanged } = await f.db.transaction(async (tx) => {
    await tx.execute(sql`lock table activity in exclusive mode`)
    const revoked = f.approver.api.approvedApps.revoke({ id: app.id })
    await until(async () => (await waiting()) === 1)
    const exchanged = exchange(f, app, code)
    await until(async () => (await waiting()) === 2)
    return { revoked: () => revoked, exchanged: () => exchanged }
  })
  await revoked()
  const { status, json } = await exchanged()
  expect(status).toBe(200)
  expect(await statusOf(json.access_token)).toBe(401)
  const form = { ...credentials(app), token: json.access_token }
  expect((await post(f, 'introspect', form)).json).toEqual({ active: false })
})

test('a second consent leaves the first token working, and only owners and admins give one', async () => {
  const app = await newApp()
  const [first, second] = [await aToken(f, app), await aToken(f, app)]
  expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
  const editor = await aPerson(f.installation, 'Editors', 'editor')
  const refused = await approved(f, queryFor(app), {}, editor).catch((error) => error.failure)
  expect(refused).toBe('role_too_low')
  const foreign = { organisationId: f.maker.organisationId }
  expect(await approved(f, queryFor(app), foreign).catch((error) => error.failure)).toBe('role_too_low')
})

test("a token outlives its approver's membership, and their account", async () => {
  const app = await newApp()
  const { organisationId } = f.approver
  const leaver = await aPerson(f.installation, 'Elsewhere')
  await f.db.insert(memberships).values({ organisationId, accountId: leaver.accountId, role: 'admin' })
  const there = await signIn(f.installation, organisationId, leaver.accountId, 'admin')
  const code = (await approved(f, queryFor(app), { organisationId }, there)).searchParams.get('code')!
  const token = (await exchange(f, app, code)).json.access_token
  const theirs = and(eq(memberships.accountId, leaver.accountId), eq(memberships.organisationId, organisationId))
  await f.db.delete(memberships).where(theirs)
  expect(await statusOf(token)).toBe(200)
  await f.db.delete(accounts).where(eq(accounts.id, leaver.accountId))
  expect(await statusOf(token)).toBe(200)
  const line = (await f.approver.api.approvedApps.list()).find(({ id }) => id === app.id)
  expect(line).toMatchObject({ approvals: [{ by: 'Ada' }], tokens: 1 })
  await f.approver.api.approvedApps.revoke({ id: app.id })
  expect(await statusOf(token)).toBe(401)
})

test('an app is shown and changed by its own organisation only', async () => {
  const app = await newApp()
  const { api } = f.approver
  const { id, name } = app
  const tries = [api.apps.get({ id }), api.apps.rotate({ id }), api.apps.delete({ id, name })]
  const takeOver = api.apps.update({ id, name, redirectUris: ['https://evil.example/'] })
  for (const ended of await Promise.all([...tries, takeOver].map(failureOf))) expect(ended).toBe('not_found')
  expect((await api.apps.list()).map(({ id }) => id)).not.toContain(app.id)
  const slip = await f.maker.api.apps.delete({ id: app.id, name: 'shop window' }).catch((error) => error.failure)
  expect(slip).toBe('unprocessable')
  expect((await exchange(f, app, 'x')).json.error).toBe('invalid_grant')
})
