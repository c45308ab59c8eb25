import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitingIn } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { failureOf } from '../web.ts'
import { aCode, anApp, approved, aToken, exchange, type Flow, me, openFlow, queryFor, type TestApp } from './flow.ts'

let f: Flow
beforeAll(async () => {
  f = await openFlow()
})
afterAll(() => f.end())

const statusOf = async (token: string) => (await me(f, token)).status
const isApproved = async ({ id }: TestApp) => (await f.approver.api.approvedApps.list()).some((app) => app.id === id)

test('deleting an app ends its tokens, codes and open consents, and takes it out of Approved apps', async () => {
  const app = await anApp(f.maker)
  const [token, code] = [await aToken(f, app), await aCode(f, app)]
  const begun = await f.approver.api.authorize.begin({ query: queryFor(app) })
  const request = begun.kind === 'consent' ? begun.consent.request : ''
  expect(await isApproved(app)).toBe(true)
  await f.maker.api.apps.delete({ id: app.id, name: app.name })
  expect(await statusOf(token)).toBe(401)
  expect((await exchange(f, app, code)).json.error).toBe('invalid_client')
  expect(await isApproved(app)).toBe(false)
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
    const app = await anApp(f.maker)
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
  const app = await anApp(f.maker)
  const code = await aCode(f, app)
  await exchange(f, app, code)
  await ageCodes(app)
  const ended = await f.db.transaction(async (tx) => {
    await tx.execute(sql`select from grants where app_id = ${app.id} for update`)
    const replay = exchange(f, app, code)
    await until(async () => (await waitingIn(f.db)) === 1)
    const deleted = failureOf(f.maker.api.apps.delete({ id: app.id, name: app.name }))
    await until(async () => (await waitingIn(f.db)) === 2)
    return () => Promise.all([replay, deleted])
  })
  const [replay, deleted] = await ended()
  expect([replay.json.error, deleted]).toEqual(['invalid_grant', 'done'])
})

test('an exchange that is half done when its app is deleted ends first, and its token with the app', async () => {
  const app = await anApp(f.maker)
  const code = await aCode(f, app)
  const ended = await f.db.transaction(async (tx) => {
    await tx.execute(sql`lock table activity in exclusive mode`) // the code is redeemed, and not told of yet
    const exchanged = exchange(f, app, code)
    await until(async () => (await waitingIn(f.db)) === 1)
    const deleted = failureOf(f.maker.api.apps.delete({ id: app.id, name: app.name }))
    await until(async () => (await waitingIn(f.db)) === 2)
    return () => Promise.all([exchanged, deleted])
  })
  const [{ status, json }, deleted] = await ended()
  expect([status, deleted]).toEqual([200, 'done'])
  expect(await statusOf(json.access_token)).toBe(401)
})
