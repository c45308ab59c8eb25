import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sessions } from '../../../db/schema/accounts.ts'
import { authorizationRequests } from '../../../db/schema/oauth.ts'
import { waitingIn } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { failureOf } from '../web.ts'
import { anApp, aPerson, Callback, consentTo, type Flow, openFlow, queryFor, signIn } from './flow.ts'

let f: Flow
beforeAll(async () => {
  f = await openFlow({ web: false })
})
afterAll(() => f.end())

test('another browser cannot answer a consent, and an old one is not answered', async () => {
  const { request } = await consentTo(queryFor(f.app), f.approver)
  const other = await signIn(f.installation, f.approver.organisationId, f.approver.accountId)
  const foreign = await other.api.authorize.decide({ request, decision: 'approve' }).catch((error) => error.failure)
  expect(foreign).toBe('consent_expired')
  await f.db.execute(sql`update authorization_requests set expires_at = now() - interval '1 second'`)
  const late = await f.approver.api.authorize.decide({ request, decision: 'approve' }).catch((error) => error.failure)
  expect(late).toBe('consent_expired')
})

test('a double click makes one code', async () => {
  const { request } = await consentTo(queryFor(f.app), f.approver)
  const clicks = Array.from({ length: 8 }, () => f.approver.api.authorize.decide({ request, decision: 'approve' }))
  const urls = (await Promise.all(clicks)).map(({ url }) => url)
  expect(new Set(urls).size).toBe(1)
})

test('who denies after approving gets no redirect, and who approves after denying none either', async () => {
  for (const [first, then] of [
    ['approve', 'deny'],
    ['deny', 'approve'],
  ] as const) {
    const { request } = await consentTo(queryFor(f.app), f.approver)
    const { decide } = f.approver.api.authorize
    await decide({ request, decision: first })
    expect(await failureOf(decide({ request, decision: then }))).toBe('consent_expired')
  }
})

test('a minute after the decision the same button is no double click any more', async () => {
  const { request } = await consentTo(queryFor(f.app), f.approver)
  const { decide } = f.approver.api.authorize
  const { url } = await decide({ request, decision: 'approve' })
  const age = (seconds: number) =>
    f.db.execute(sql`update authorization_requests set decided_at = decided_at - ${seconds} * interval '1 second'`)
  await age(50)
  expect(await decide({ request, decision: 'approve' })).toEqual({ url })
  await age(11)
  expect(await failureOf(decide({ request, decision: 'approve' }))).toBe('consent_expired')
})

test('a redirect URL that is removed while a consent is open gets neither code nor denial', async () => {
  const app = await anApp(f.maker, [Callback, 'https://leaked.example/'])
  const query = queryFor(app, { redirect_uri: 'https://leaked.example/' })
  for (const decision of ['approve', 'deny'] as const) {
    await f.maker.api.apps.update({ id: app.id, name: app.name, redirectUris: [Callback, 'https://leaked.example/'] })
    const { request } = await consentTo(query, f.approver)
    await f.maker.api.apps.update({ id: app.id, name: app.name, redirectUris: [Callback] })
    expect(await failureOf(f.approver.api.authorize.decide({ request, decision }))).toBe('consent_expired')
  }
})

test('a session keeps its newest 20 requests, and only a look keeps none', async () => {
  const person = await signIn(f.installation, f.approver.organisationId, f.approver.accountId)
  const { begin: ask, decide } = person.api.authorize
  const first = await consentTo(queryFor(f.app), person)
  const second = await consentTo(queryFor(f.app), person)
  const count = await f.db.$count(authorizationRequests)
  expect(await ask({ query: queryFor(f.app), isOnlyLook: true })).toMatchObject({ kind: 'consent' })
  expect(await f.db.$count(authorizationRequests)).toBe(count)
  for (let n = 0; n < 19; n++) await ask({ query: queryFor(f.app) })
  expect(await f.db.$count(authorizationRequests)).toBe(count + 18)
  expect(await failureOf(decide({ request: first.request, decision: 'deny' }))).toBe('consent_expired')
  expect(await failureOf(decide({ request: second.request, decision: 'deny' }))).toBe('done')
})

test('who signs out meanwhile is asked to sign in, and an app that is deleted meanwhile is none', async () => {
  const person = await aPerson(f.installation, 'Leaver')
  await f.db.delete(sessions).where(eq(sessions.accountId, person.accountId))
  expect(await person.api.authorize.begin({ query: queryFor(f.app) })).toEqual({ kind: 'sign_in' })

  const app = await anApp(f.maker)
  const answers = f.db.transaction(async (tx) => {
    await tx.execute(sql`delete from apps where id = ${app.id}`)
    const asked = [1, 2].map(() => f.approver.api.authorize.begin({ query: queryFor(app) }))
    await until(async () => (await waitingIn(f.db)) === 2)
    return () => Promise.all(asked)
  })
  for (const answer of await (await answers)()) expect(answer).toMatchObject({ kind: 'refused' })
})
