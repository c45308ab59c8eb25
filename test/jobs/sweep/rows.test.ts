import { randomBytes } from 'node:crypto'
import { asc, inArray, type SQL, sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { devices, sessions, signUps } from '../../../db/schema/accounts.ts'
import { activity, apiRequests, idempotencyKeys, throttles } from '../../../db/schema/api.ts'
import { connectFlows } from '../../../db/schema/channels.ts'
import { attempts } from '../../../db/schema/ledger.ts'
import { mailLinks, mails } from '../../../db/schema/mail.ts'
import {
  accessTokens,
  appSecrets,
  apps,
  authorizationCodes,
  authorizationRequests,
  grants,
} from '../../../db/schema/oauth.ts'
import { sweep } from '../../../jobs/sweep/rows.ts'
import { anOrganisation } from '../../builders.ts'
import { until } from '../../processes.ts'
import { attemptsOf, deliveryOf, type World, world } from '../../world.ts'

const log = pino({ level: 'silent' })
let w: World
beforeAll(async () => {
  w = await world()
})
afterAll(async () => {
  await w.rest()
  await w.end()
})
const run = () => sweep(w.db, new AbortController().signal, log)

let organisationId: string
let accountId: string
let appId: string
beforeEach(async () => {
  ;({ organisationId, accountId } = await anOrganisation(w.db))
  const app = {
    organisationId,
    clientId: `pca_${organisationId}`,
    name: 'Shop',
    redirectUris: ['https://shop.example/'],
  }
  appId = (await w.db.insert(apps).values(app).returning())[0]!.id
})

const ago = (interval: string) => sql`now() - ${interval}::interval` as SQL<Date>
const hash = () => randomBytes(32)

async function aSession(expiresAt: SQL<Date>): Promise<string> {
  const [row] = await w.db
    .insert(sessions)
    .values({ tokenHash: hash(), accountId, organisationId, expiresAt })
    .returning({ id: sessions.id })
  return row!.id
}

async function aRequest(expiresAt: SQL<Date>): Promise<string> {
  const request = { organisationId, appId, tokenHash: hash(), redirectUri: '', wasRedirectNamed: false, scopes: [] }
  const sessionId = await aSession(ago('-1 hour'))
  const rows = await w.db
    .insert(authorizationRequests)
    .values({ ...request, sessionId, expiresAt })
    .returning()
  return rows[0]!.id
}

async function aCode(expiresAt: SQL<Date>, grant?: { revokedAt: SQL<Date> | null }): Promise<string> {
  const consent = { organisationId, appId, approvedByName: 'Ada', scopes: [], ...grant }
  const grantId = (await w.db.insert(grants).values(consent).returning())[0]!.id
  const given = { organisationId, grantId, appId }
  const code = { ...given, codeHash: hash(), redirectUri: '', wasRedirectNamed: false, expiresAt }
  if (grant) await w.db.insert(accessTokens).values({ ...given, tokenHash: hash() })
  return (await w.db.insert(authorizationCodes).values(code).returning())[0]!.id
}

async function idsLeft(
  table: typeof authorizationCodes | typeof authorizationRequests | typeof sessions,
  ids: string[],
): Promise<string[]> {
  const rows = await w.db.select({ id: table.id }).from(table).where(inArray(table.id, ids)).orderBy(asc(table.id))
  return rows.map(({ id }) => id)
}

test('expired sessions and consent pages are deleted, others stay', async () => {
  const [over, live] = [await aSession(ago('1 second')), await aSession(ago('-1 minute'))]
  const [stale, fresh] = [await aRequest(ago('1 second')), await aRequest(ago('-1 minute'))]
  await run()
  expect(await idsLeft(sessions, [over, live])).toEqual([live])
  expect(await idsLeft(authorizationRequests, [stale, fresh])).toEqual([fresh])
})

test('an unused code is deleted a day after it expires; a used one stays as long as its token, so that a replay is recognised', async () => {
  const kept = [
    await aCode(ago('23 hours 59 minutes')),
    await aCode(ago('90 days'), { revokedAt: null }),
    await aCode(ago('90 days'), { revokedAt: ago('80 days') }),
  ]
  const unused = await aCode(ago('24 hours 1 minute'))
  await run()
  expect(await idsLeft(authorizationCodes, [unused, ...kept])).toEqual(kept)
  expect(await w.db.$count(accessTokens, sql`app_id = ${appId}`)).toBe(2)
})

test('stored answers for an Idempotency-Key are deleted after a day, in several batches', async () => {
  const bodyHash = hash()
  const key = { organisationId, route: 'posts.create', bodyHash, body: '{}' }
  await w.db.execute(sql`
    insert into idempotency_keys (organisation_id, route, key, body_hash, body, created_at)
    select ${organisationId}, 'posts.create', n::text, ${bodyHash}, '{}', now() - interval '24 hours 1 minute'
    from generate_series(1, 2500) n`)
  await w.db.insert(idempotencyKeys).values({ ...key, key: 'young', createdAt: ago('23 hours 59 minutes') })
  await run()
  const rows = await w.db.select().from(idempotencyKeys)
  expect(rows.map(({ key }) => key)).toEqual(['young'])
})

test('unfinished connects and sign-ups, ended overlaps of secrets and old counters are deleted', async () => {
  for (const expiresAt of [ago('1 second'), ago('-1 hour')]) {
    const flow = { organisationId, accountId, network: 'mastodon', stateHash: hash(), sealed: hash(), expiresAt }
    await w.db.insert(connectFlows).values(flow)
    await w.db.insert(appSecrets).values({ organisationId, appId, secretHash: hash(), last4: 'abcd', expiresAt })
    await w.db.insert(devices).values({ tokenHash: hash(), accountId, expiresAt })
    const typed = { email: 'ada@example.org', name: 'Ada', organisation: 'Works', timeZone: 'UTC', next: '/' }
    await w.db.insert(signUps).values({ ...typed, passwordHash: 'none', tokenHash: hash(), expiresAt })
    await w.db.insert(throttles).values({ key: `address:${hash().toString('hex')}`, expire: expiresAt })
  }
  await w.db.insert(appSecrets).values({ organisationId, appId, secretHash: hash(), last4: 'abcd' })
  await run()
  expect(await w.db.$count(connectFlows)).toBe(1)
  expect(await w.db.$count(appSecrets)).toBe(2)
  expect(await w.db.$count(devices)).toBe(1)
  expect(await w.db.$count(signUps)).toBe(1)
  expect(await w.db.$count(throttles)).toBe(1)
})

test('API requests are kept for 7 days, older ones are deleted', async () => {
  const made = { organisationId, requestId: '', method: 'GET', path: '/public/v1/me', status: 200, durationMs: 1 }
  const call = { ...made, credentialKind: 'api_key', credentialId: accountId, credentialName: 'test' } as const
  const kept = ago('6 days 23 hours')
  await w.db.insert(apiRequests).values([
    { ...call, at: ago('7 days 1 minute') },
    { ...call, at: kept, requestId: 'kept' },
  ])
  await run()
  expect((await w.db.select().from(apiRequests)).map(({ requestId }) => requestId)).toEqual(['kept'])
})

test('posts, their attempts and the activity stay, at any age', async () => {
  const { id } = await w.delivery('keyed', new Date('2019-01-01'))
  const made = { organisationId: w.organisationId, deliveryId: id, no: 1, owner: 'gone', credentialVersion: 1 }
  await w.db.insert(attempts).values({ ...made, startedAt: ago('6 years'), endedAt: ago('6 years'), outcome: 'later' })
  const deed = { organisationId, action: 'key.created', actorKind: 'member', actorName: 'Ada', subjectName: 'a key' }
  const [row] = await w.db
    .insert(activity)
    .values({ ...deed, at: ago('6 years'), outcome: 'ok' })
    .returning()
  await run()
  expect(await attemptsOf(w.db, id)).toHaveLength(1)
  expect(await deliveryOf(w.db, id)).toMatchObject({ state: 'scheduled' })
  expect(
    await w.db
      .select()
      .from(activity)
      .where(inArray(activity.id, [row!.id])),
  ).toHaveLength(1)
})

test('a locked row is left for the next sweep, and the sweep does not wait for it', async () => {
  const id = await aSession(ago('1 second'))
  await w.db.transaction(async (tx) => {
    await tx.execute(sql`select from sessions where id = ${id} for update`)
    await run()
    expect(await idsLeft(sessions, [id])).toEqual([id])
  })
  await run()
  expect(await idsLeft(sessions, [id])).toEqual([])
})

test('a mail is deleted a week after it ended, and one that waits is not; links end with their time', async () => {
  const mail = (endedAt: SQL<Date> | null) => ({
    ...{ accountId, kind: 'password_changed' as const, giveUpAt: ago('1 day'), endedAt },
    ...(endedAt ? { state: 'sent' as const } : { nextAttemptAt: ago('9 days') }),
  })
  await w.db.insert(mails).values([mail(ago('8 days')), mail(ago('6 days')), mail(null)])
  const link = { accountId, kind: 'password_reset' as const, email: 'ada@example.org' }
  await w.db.insert(mailLinks).values([
    { ...link, tokenHash: hash(), expiresAt: ago('1 second') },
    { ...link, tokenHash: hash(), expiresAt: ago('-1 hour') },
  ])

  await run()

  const isTheirs = sql`account_id = ${accountId}`
  expect([await w.db.$count(mails, isTheirs), await w.db.$count(mailLinks, isTheirs)]).toEqual([2, 1])
})

test('a worker sweeps by itself', async () => {
  const id = await aSession(ago('1 second'))
  await w.worker()
  await until(async () => (await idsLeft(sessions, [id])).length === 0)
})
