import { createServer } from 'node:http'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idempotencyKeys } from '../../../db/schema/api.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { accessTokens, apps, grants } from '../../../db/schema/oauth.ts'
import { posts } from '../../../db/schema/posts.ts'
import { scopes } from '../../../server/access/scopes.ts'
import { digest, mintAccessToken } from '../../../server/access/secrets.ts'
import { aDelivery, aPhoto } from '../../builders.ts'
import { listening } from '../../jobs/outbound/loopback.ts'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { type Answer, type Beside, callApi, expectProblem, openBeside, openWeb, type Web } from '../web.ts'

let w: Web
let other: Beside
let channelId: string
beforeAll(async () => {
  w = await openWeb()
  other = await openBeside(w)
  channelId = await w.channel()
})
afterAll(async () => {
  await other.end()
  await w.end()
})

type Ask = { path: string; json?: unknown; key?: string }

const draft = () => ({ type: 'draft', content: 'hello', channelIds: [channelId] })

/** POST under an Idempotency-Key, at one of the two processes. */
function ask(idempotencyKey: string, { path, json, key = w.key }: Ask, i = 0): Promise<Answer> {
  const headers = { 'idempotency-key': idempotencyKey }
  return callApi(i % 2 ? w.site.appUrl : other.site.appUrl, 'POST', path, { key, json, headers })
}

const fiftyOf = (idempotencyKey: string, what: Ask) =>
  Promise.all(Array.from({ length: 50 }, (_, i) => ask(idempotencyKey, what, i)))

/** A delivery of a new post of this state. */
async function aPostIn(state: 'failed' | 'needs_review'): Promise<string> {
  const id = await aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt: new Date() })
  const ended = { state, error: sql`'{"code":"x","message":"x"}'::jsonb`, maybeOut: false }
  const [row] = await w.db.update(deliveries).set(ended).where(eq(deliveries.id, id)).returning()
  return row!.postId
}

/** An access token of an app that may do all. */
async function anAppsToken(): Promise<string> {
  const { organisationId } = w
  const made = { organisationId, clientId: crypto.randomUUID(), name: 'app', redirectUris: ['https://app.example/'] }
  const [app] = await w.db.insert(apps).values(made).returning()
  const granted = { organisationId, appId: app!.id, approvedByName: 'Ada', scopes: [...scopes] }
  const [grant] = await w.db.insert(grants).values(granted).returning()
  const token = mintAccessToken()
  const ids = { organisationId, appId: app!.id, grantId: grant!.id }
  await w.db.insert(accessTokens).values({ ...ids, tokenHash: digest(token) })
  return token
}

async function aPicture(): Promise<string> {
  const photo = await aPhoto()
  const { origin } = await listening(createServer((_req, res) => void res.end(photo)))
  return `${origin}/photo.png`
}

const requests: [string, () => Promise<Ask>][] = [
  ['POST /posts', async () => ({ path: '/posts', json: draft() })],
  ['POST /posts of an app', async () => ({ path: '/posts', json: draft(), key: await anAppsToken() })],
  ['retry', async () => ({ path: `/posts/${await aPostIn('failed')}/retry` })],
  [
    'resolve',
    async () => ({
      path: `/posts/${await aPostIn('needs_review')}/deliveries/${channelId}/resolve`,
      json: { outcome: 'cancelled' },
    }),
  ],
  ['upload-from-url', async () => ({ path: '/media/upload-from-url', json: { url: await aPicture() } })],
]

test.each(requests)('50 replays at once of a finished %s get the stored answer 50 times', async (name, made) => {
  const what = await made()
  const first = await ask(name, what)
  expect(first.status).toBeLessThan(300)
  for (let round = 0; round < 4; round++) {
    const answers = await fiftyOf(name, what)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(0)
    for (const { status, text, headers } of answers) {
      expect([status, text]).toEqual([first.status, first.text])
      expect(headers.get('idempotent-replayed')).toBe('true')
    }
  }
})

test('a replay needs no lock: somebody who holds the lock of its key does not keep it waiting', async () => {
  const first = await ask('held', { path: '/posts', json: draft() })
  const name = JSON.stringify([w.organisationId, 'POST /posts', 'held'])
  await w.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
    expect((await ask('held', { path: '/posts', json: draft() })).text).toBe(first.text)
    const changed = { ...draft(), content: 'changed' }
    expectProblem(await ask('held', { path: '/posts', json: changed }), 422, 'idempotency_key_reused')
  })
})

test('while the first runs the others get 409, and from its end on the stored answer', async () => {
  const [gate, isShut] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const shut = w.db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${posts} in share row exclusive mode`)
    isShut.resolve()
    await gate.promise
  })
  await isShut.promise
  const what = { path: '/posts', json: draft() }
  const first = ask('slow', what)
  await until(() => someoneWaits(w.db))
  for (const answer of await fiftyOf('slow', what)) expectProblem(answer, 409, 'idempotency_key_in_use')
  gate.resolve()
  await shut
  const { status, text } = await first
  for (const answer of await fiftyOf('slow', what)) expect([answer.status, answer.text]).toEqual([status, text])
})

test('who asks after the first was answered never gets 409, while others ask without a pause', async () => {
  const what = { path: '/posts', json: draft() }
  for (let round = 0; round < 10; round++) {
    const key = `without a pause ${round}`
    const crowd = Array.from({ length: 30 }, (_, i) => ask(key, what, i))
    const first = await Promise.any(crowd.map(async (one) => ((await one).status === 201 ? one : Promise.reject())))
    const after = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(key, what, i)))
    for (const { status, text } of after) expect([status, text]).toEqual([201, first.text])
    for (const { status, text } of await Promise.all(crowd))
      if (status === 201) expect(text).toBe(first.text)
      else expect(status).toBe(409)
  }
})

test('of 50 at once under an expired key one starts again, and the rest get its answer or 409', async () => {
  const what = { path: '/posts', json: draft() }
  const old = await ask('over', what)
  const aged = { createdAt: sql`now() - interval '24 hours 1 second'` }
  await w.db.update(idempotencyKeys).set(aged).where(eq(idempotencyKeys.key, 'over'))
  const answers = await fiftyOf('over', what)
  const fresh = answers.filter(({ status }) => status === 201)
  expect(new Set(fresh.map(({ json }) => json.id)).size).toBe(1)
  expect(fresh[0]!.json.id).not.toBe(old.json.id)
  expect(fresh.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
  expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
})
