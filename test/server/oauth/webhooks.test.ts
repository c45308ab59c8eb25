import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aChannel, aKeyOfAllScopes } from '../../builders.ts'
import { type Answer, callApi, expectProblem } from '../web.ts'
import {
  aCode,
  anApp,
  aToken,
  credentials,
  exchange,
  type Flow,
  openFlow,
  post,
  queryFor,
  type TestApp,
} from './flow.ts'

let f: Flow
let key: string // of the organisation that lets apps in
beforeAll(async () => {
  f = await openFlow({ hosts: 'one' })
  key = await aKeyOfAllScopes(f.db, f.approver)
})
afterAll(() => f.end())

const url = 'https://hooks.example/app'
const call = (by: string, method: string, path: string, json?: unknown): Promise<Answer> =>
  callApi(f.appUrl, method, path, { key: by, ...(json === undefined ? {} : { json }) })

const scopes = 'webhooks:manage posts:read channels:read'
const queryOf = (app: TestApp, scope: string) => queryFor(app, { scope })
const tokenFor = (app: TestApp, { scope = scopes, channelIds }: { scope?: string; channelIds?: string[] } = {}) =>
  aToken(f, app, channelIds ? { channelIds } : {}, queryOf(app, scope))

async function aWebhook(by: string, wanted: Record<string, unknown> = {}): Promise<string> {
  const made = await call(by, 'POST', '/webhooks', { url, ...wanted })
  expect(made.status).toBe(201)
  return made.json.id
}

async function idsFor(by: string): Promise<string[]> {
  const { json } = await call(by, 'GET', '/webhooks')
  return json.data.map(({ id }: { id: string }) => id)
}

const channel = () => aChannel(f.db, f.site.secretKey, { organisationId: f.approver.organisationId, network: 'feed' })

test('a token sees and touches only what it made itself; the organisation’s own keys see it all', async () => {
  const [mine, sibling] = [await tokenFor(f.app), await tokenFor(f.app)]
  const [id, theirs, keys] = [await aWebhook(mine), await aWebhook(sibling), await aWebhook(key)]
  const { id: deliveryId } = (await call(key, 'POST', `/webhooks/${keys}/test`)).json
  expect(await idsFor(mine)).toEqual([id])
  expect(await idsFor(sibling)).toEqual([theirs])
  expect(await idsFor(key)).toEqual([id, theirs, keys])
  for (const other of [theirs, keys])
    for (const answer of [
      await call(mine, 'GET', `/webhooks/${other}`),
      await call(mine, 'PATCH', `/webhooks/${other}`, { url: 'https://elsewhere.example' }),
      await call(mine, 'DELETE', `/webhooks/${other}`),
      await call(mine, 'POST', `/webhooks/${other}/rotate`),
      await call(mine, 'POST', `/webhooks/${other}/test`),
      await call(mine, 'GET', `/webhooks/${other}/deliveries`),
      await call(mine, 'POST', `/webhooks/${other}/deliveries/${deliveryId}/resend`),
    ])
      expectProblem(answer, 404, 'not_found')
  expect((await call(key, 'GET', `/webhooks/${keys}`)).json).toMatchObject({ url })
  expect((await call(key, 'GET', `/webhooks/${id}`)).json.createdBy).toEqual({
    ...{ kind: 'app', id: f.app.id, name: f.app.name },
  })
})

test('a token’s webhook receives only what its scopes and channels allow it to read', async () => {
  const [granted, other] = [await channel(), await channel()]
  const token = await tokenFor(f.app, { scope: 'webhooks:manage posts:read', channelIds: [granted] })
  const refused = await call(token, 'POST', '/webhooks', { url, events: ['channel.connected'] })
  expectProblem(refused, 403, 'insufficient_scope')
  const id = await aWebhook(token)
  for (const channelIds of [[other], [granted, other], []])
    await call(key, 'POST', '/posts', { type: 'draft', content: 'not for it', channelIds })
  await call(key, 'POST', '/posts', { type: 'draft', content: 'for it', channelIds: [granted] })
  const { data } = (await call(token, 'GET', `/webhooks/${id}/deliveries`)).json
  expect(data).toMatchObject([{ type: 'post.created' }])
  const told = await f.db.execute<{ content: string }>(sql`
    select e.subject->>'content' as content from events e join webhook_deliveries d on d.event_id = e.id where d.webhook_id = ${id}`)
  expect([...told]).toEqual([{ content: 'for it' }])
})

/** Each way in which a token ends. */
const ends: Record<string, (app: TestApp, token: string, code: string) => Promise<unknown>> = {
  'it is revoked under Approved apps': (app) => f.approver.api.approvedApps.revoke({ id: app.id }),
  'it is given back at /oauth/revoke': (app, token) => post(f, 'revoke', { token, ...credentials(app) }),
  'its app is deleted': (app) => f.maker.api.apps.delete({ id: app.id, name: app.name }),
  'its code is used a second time, later': async (app, _token, code) => {
    await f.db.execute(sql`update authorization_codes set redeemed_at = redeemed_at - interval '11 seconds'`)
    expect((await exchange(f, app, code)).json.error).toBe('invalid_grant')
  },
}

test.each(Object.entries(ends))('what a token made ends when %s, with its log and what waits', async (_how, end) => {
  const app = await anApp(f.maker)
  const code = await aCode(f, app, {}, queryOf(app, scopes))
  const token = (await exchange(f, app, code)).json.access_token
  const [id, kept] = [await aWebhook(token), await aWebhook(key)]
  await call(token, 'POST', `/webhooks/${id}/test`)
  await end(app, token, code)
  expectProblem(await call(token, 'GET', `/webhooks/${id}`), 401, 'unauthenticated')
  expectProblem(await call(key, 'GET', `/webhooks/${id}`), 404, 'not_found')
  expect(await idsFor(key)).toContain(kept)
  const [left] = await f.db.execute<{ count: number }>(
    sql`select count(*)::int as count from webhook_deliveries where webhook_id = ${id}`,
  )
  expect(left).toEqual({ count: 0 })
  await call(key, 'DELETE', `/webhooks/${kept}`)
})
