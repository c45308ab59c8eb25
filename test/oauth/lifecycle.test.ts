import { join } from 'node:path'
import { and, eq, sql } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accounts, memberships } from '../../db/schema.ts'
import { until } from '../processes.ts'
import { failureOf } from '../server/web.ts'
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
  type TestApp,
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

test('deleting an app ends its tokens, codes and open consents, and takes it out of Approved apps', async () => {
  const app = await newApp()
  const [token, code] = [await aToken(f, app), await aCode(f, app)]
  const begun = await f.approver.api.authorize.begin({ query: queryFor(app) })
  const request = begun.kind === 'consent' ? begun.consent.request : ''
  expect(await names()).toContain(app.id)
  await f.maker.api.apps.delete({ id: app.id, name: app.name })
  expect(await statusOf(token)).toBe(401)
  expect((await exchange(f, app, code)).json.error).toBe('invalid_client')
  expect(await names()).not.toContain(app.id)
  const late = await f.approver.api.authorize.decide({ request, decision: 'approve' }).catch((error) => error.failure)
  expect(late).toBe('consent_expired')
  expect(await f.approver.api.authorize.begin({ query: queryFor(app) })).toMatchObject({ kind: 'refused' })
})

/** As if every code of the app had been redeemed a minute earlier. */
const ageCodes = ({ id }: TestApp) =>
  f.db.execute(
    sql`update authorization_codes set redeemed_at = now() - interval '1 minute' where app_id = ${id} and redeemed_at is not null`,
  )

test('an app deleted while its codes are exchanged and used again, and its consents answered and revoked leaves no live token, and nothing fails', async () => {
  for (let round = 0; round < 12; round++) {
    const app = await newApp()
    const used = await aCode(f, app)
    await exchange(f, app, used)
    await ageCodes(app)
    const codes = await Promise.all([1, 2, 3].map(() => aCode(f, app)))
    const consent = approved(f, queryFor(app)).then(String, String)
    const exchanges = [...codes, codes[0]!, used, used].map((code) => exchange(f, app, code))
    const revoked = failureOf(f.approver.api.approvedApps.revoke({ id: app.id }))
    if (round % 3 > 0) await Promise.race(round % 3 === 1 ? exchanges : [consent])
    const [answers] = await Promise.all([
      Promise.all(exchanges),
      f.maker.api.apps.delete({ id: app.id, name: app.name }),
      consent,
    ])
    for (const { status, json } of answers) {
      expect([200, 400, 401], JSON.stringify(json)).toContain(status)
      if (status === 200) expect(await statusOf(json.access_token)).toBe(401)
    }
    expect(await consent).not.toMatch(/deadlock|internal|wrong on our side/i)
    expect(['done', 'not_found']).toContain(await revoked)
  }
  expect(f.log()).not.toContain('request failed')
})

test('a code used again while its app is deleted waits for its turn: the one is refused, the other done', async () => {
  const app = await newApp()
  const code = await aCode(f, app)
  await exchange(f, app, code)
  await ageCodes(app)
  const waiting = async () =>
    (await f.db.execute(sql`select from pg_stat_activity where wait_event_type = 'Lock'`)).length
  const ended = await f.db.transaction(async (tx) => {
    await tx.execute(sql`select from grants where app_id = ${app.id} for update`)
    const replay = exchange(f, app, code)
    await until(async () => (await waiting()) === 1)
    const deleted = failureOf(f.maker.api.apps.delete({ id: app.id, name: app.name }))
    await until(async () => (await waiting()) === 2)
    return () => Promise.all([replay, deleted])
  })
  const [replay, deleted] = await ended()
  expect([replay.json.error, deleted]).toEqual(['invalid_grant', 'done'])
})

test('an exchange that is half done when its app is deleted ends first, and its token with the app', async () => {
  const app = await newApp()
  const code = await aCode(f, app)
  const waiting = async () =>
    (await f.db.execute(sql`select from pg_stat_activity where wait_event_type = 'Lock'`)).length
  const ended = await f.db.transaction(async (tx) => {
    await tx.execute(sql`lock table activity in exclusive mode`) // the code is redeemed, and not told of yet
    const exchanged = exchange(f, app, code)
    await until(async () => (await waiting()) === 1)
    const deleted = failureOf(f.maker.api.apps.delete({ id: app.id, name: app.name }))
    await until(async () => (await waiting()) === 2)
    return () => Promise.all([exchanged, deleted])
  })
  const [{ status, json }, deleted] = await ended()
  expect([status, deleted]).toEqual([200, 'done'])
  expect(await statusOf(json.access_token)).toBe(401)
})

test('an app whose token it gave back, or whose code was never fetched in time, is let in no longer', async () => {
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

async function aPicture(): Promise<string> {
  const path = join(f.site.dataDir, 'picture.png')
  await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
    .png()
    .toFile(path)
  return path
}

test('the trail names every step, who and from where, in the organisation that it concerns', async () => {
  const [maker, approver] = [await aPerson(f.installation, 'M'), await aPerson(f.installation, 'A')]
  const app = await anApp(maker)
  const { id, name, redirectUri } = app
  const { clientSecret } = await maker.api.apps.rotate({ id })
  await maker.api.apps.update({ id, name, redirectUris: [redirectUri, 'https://new.example/'] })
  await maker.api.apps.setPicture({ id, path: await aPicture() })
  const key = await maker.api.keys.create({ name: 'Feed' })
  await maker.api.keys.revoke({ id: key.id })
  await approved(f, queryFor(app), { decision: 'deny' }, approver)
  const codeOf = async () => (await approved(f, queryFor(app), {}, approver)).searchParams.get('code')!
  const token = (await exchange(f, { ...app, clientSecret }, await codeOf())).json.access_token
  await post(f, 'revoke', { ...credentials({ ...app, clientSecret }), token })
  await codeOf()
  await approver.api.approvedApps.revoke({ id })
  await maker.api.apps.delete({ id, name })
  const trail = async ({ api }: typeof maker) => (await api.activity.list({})).data
  const actions = (entries: { action: string }[]) => entries.map(({ action }) => action)
  const made = await trail(maker)
  expect(actions(made)).toEqual([
    ...['app.deleted', 'key.revoked', 'key.created', 'app.updated', 'app.updated', 'app.secret_rotated', 'app.created'],
  ])
  const changes = made.filter(({ action }) => action === 'app.updated').map(({ detail }) => detail)
  const redirects = { redirectUris: [redirectUri, 'https://new.example/'], formerRedirectUris: [redirectUri] }
  expect(changes).toEqual([{ picture: 'changed' }, { ...redirects, formerName: name }])
  const told = await trail(approver)
  expect(actions(told)).toEqual([
    ...['consent.revoked', 'consent.approved', 'token.revoked', 'token.issued', 'consent.approved', 'consent.denied'],
  ])
  for (const entry of told)
    expect(entry).toMatchObject({ subjectName: app.name, address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) })
  expect(told.map(({ actorKind }) => actorKind)).toEqual(['member', 'member', 'app', 'app', 'member', 'member'])
})

test('a denial stands in the trail of the organisation that was chosen, if the person may approve for it', async () => {
  const home = await aPerson(f.installation, 'Home')
  const work = await aPerson(f.installation, 'Work')
  const workId = work.organisationId
  await f.db.insert(memberships).values({ organisationId: workId, accountId: home.accountId, role: 'admin' })
  const denials = async ({ api }: typeof home) =>
    (await api.activity.list({})).data.filter(({ action }) => action === 'consent.denied').length
  const deny = (organisationId?: string) =>
    approved(f, queryFor(f.app), { decision: 'deny', ...(organisationId ? { organisationId } : {}) }, home)
  await deny(workId)
  expect([await denials(home), await denials(work)]).toEqual([0, 1])
  await f.db.update(memberships).set({ role: 'viewer' }).where(eq(memberships.organisationId, workId))
  expect((await deny(workId)).searchParams.get('error')).toBe('access_denied')
  expect(await denials(home)).toBe(0)
  await f.db.update(memberships).set({ role: 'owner' }).where(eq(memberships.organisationId, workId))
  expect(await denials(work)).toBe(1)
})

test('two changes of an app at once: the trail names what each of them changed', async () => {
  const { id, name } = await newApp()
  const change = (path: string) => f.maker.api.apps.update({ id, name, redirectUris: [`https://${path}.example/`] })
  for (let round = 0; round < 20; round++) {
    await Promise.all([change(`a${round}`), change(`b${round}`)])
    const entries = (await f.maker.api.activity.list({})).data.filter(({ subjectId }) => subjectId === id)
    expect(entries[0]!.detail.formerRedirectUris).toEqual(entries[1]!.detail.redirectUris)
  }
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
