import { randomBytes } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sessions } from '../../../db/schema/accounts.ts'
import { channels, connectFlows } from '../../../db/schema/channels.ts'
import { authorizationRequests } from '../../../db/schema/oauth.ts'
import { webhooks } from '../../../db/schema/webhooks.ts'
import { isSealedAnew, type KeyRing, open, seal } from '../../../db/sealed.ts'
import { endLater } from '../../../jobs/channels/revocations.ts'
import { mailReset } from '../../../jobs/mail/outbox.ts'
import { credentialPlace } from '../../../jobs/publish/network-session.ts'
import { digest } from '../../../server/access/secrets.ts'
import { registrationsOf } from '../../../server/channels/client-registrations.ts'
import { rotateKey, sealedColumns } from '../../../server/operations/key-rotation.ts'
import { aChannel, anOrganisation } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'
import { startWorker, testSite } from '../../processes.ts'
import { aHouse, type House, newThings } from '../house.ts'
import { apiAs, openWeb, type Web } from '../web.ts'

let w: Web
let house: House
let things: Awaited<ReturnType<typeof newThings>>
let former: KeyRing
beforeAll(async () => {
  w = await openWeb()
  former = w.installation.ring
  house = await aHouse(w)
  things = await newThings(w, house)
  await sealTheRest()
})
afterAll(() => w.end())

/** What the builders leave out: both secrets of a webhook, a flow, and a consent that waits and was answered. */
async function sealTheRest() {
  const { organisationId, accountId } = house
  const place = (table: string, id: string, field: string) => ({ table, id, organisationId, field })
  const { webhooks: procedures } = apiAs(w.installation, house.member)
  const { id } = await procedures.create({ url: 'https://hooks.example/' })
  await procedures.rotate({ id })
  await w.db.delete(webhooks).where(eq(webhooks.id, things.webhookId)) // its secret is none
  const [flow] = await w.db.select().from(connectFlows)
  await w.db.update(connectFlows).set({ sealed: seal(former, place('connect_flows', flow!.id, 'sealed'), '{}') })
  await registrationsOf({ ...w.installation, organisationId }, 'mastodon').keep('https://social.example', {})
  const channel = { organisationId, channelId: things.channelId }
  await endLater(w.db, former, channel, seal(former, credentialPlace(channel), '{}'), 0)
  const expiresAt = new Date(Date.now() + 3_600_000)
  const session = { tokenHash: digest('x'), accountId, organisationId, expiresAt }
  const [row] = await w.db.insert(sessions).values(session).returning()
  const request = { organisationId, appId: things.appId, sessionId: row!.id, tokenHash: digest('y'), expiresAt }
  const asked = { ...request, redirectUri: 'https://app.example/back', wasRedirectNamed: true, scopes: [] }
  const [kept] = await w.db.insert(authorizationRequests).values(asked).returning()
  await mailReset(w.db, former, 'ada@example.org')
  const at = (field: string) => place('authorization_requests', kept!.id, field)
  await w.db
    .update(authorizationRequests)
    .set({ state: seal(former, at('state'), 'state'), answer: seal(former, at('answer'), 'answer') })
}

/** Every sealed value there is, opened with `ring`. */
async function openAll(ring: KeyRing): Promise<string[]> {
  const texts: string[] = []
  for (const { table, column, field } of sealedColumns) {
    const rows = await w.db.execute<{ id: string; organisationId: string | null; bytes: Uint8Array }>(sql`
      select id, organisation_id as "organisationId", ${sql.identifier(column)} as bytes from ${sql.identifier(table)}
      where octet_length(${sql.identifier(column)}) > 0 order by id`)
    expect([table, column, rows.length > 0]).toEqual([table, column, true])
    for (const { id, organisationId, bytes } of rows)
      texts.push(open(ring, { table, id, organisationId, field }, bytes))
  }
  return texts
}

const aKey = () => new Uint8Array(randomBytes(32))
const rotate = (ring: KeyRing) => rotateKey({ db: w.db, ring })

test('every column of bytes that is no hash is sealed again by a rotation', async () => {
  const columns = await w.db.execute<{ name: string }>(sql`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and data_type = 'bytea' and column_name not like '%\\_hash'`)
  expect([...columns].map(({ name }) => name).sort()).toEqual(
    sealedColumns.map(({ table, column }) => `${table}.${column}`).sort(),
  )
})

test('after a rotation the new key alone opens everything, and nothing else has changed', async () => {
  const before = await openAll(former)
  const versions = () => w.db.select({ id: channels.id, version: channels.credentialVersion }).from(channels)
  const versionsBefore = await versions()
  const key = aKey()
  const { tables, unopened } = await rotate([key, ...former])
  expect(unopened).toEqual([])
  expect(tables).toEqual({
    channels: { sealedAnew: versionsBefore.length, sealedBefore: 0 },
    connect_flows: { sealedAnew: 1, sealedBefore: 0 },
    revocations: { sealedAnew: 1, sealedBefore: 0 },
    client_registrations: { sealedAnew: 1, sealedBefore: 0 },
    webhooks: { sealedAnew: 2, sealedBefore: 0 },
    authorization_requests: { sealedAnew: 2, sealedBefore: 0 },
    mails: { sealedAnew: 1, sealedBefore: 0 },
  })
  expect(await openAll([key])).toEqual(before)
  expect(await versions()).toEqual(versionsBefore)
  const again = await rotate([key, ...former])
  expect(again.tables.webhooks).toEqual({ sealedAnew: 0, sealedBefore: 2 })
  former = [key]
})

test('what no key opens is named and left as it is, and the rest is done', async () => {
  const [lostKey, key] = [aKey(), aKey()]
  const channelId = await w.channel()
  const place = credentialPlace({ channelId, organisationId: w.organisationId })
  const lost = seal([lostKey], place, 'lost')
  await w.db.update(channels).set({ credential: lost }).where(eq(channels.id, channelId))
  const { tables, unopened } = await rotate([key, ...former])
  const sentence = `channels.credential of ${channelId} was sealed with a key that SECRET_KEYS no longer holds.`
  expect(unopened).toEqual([sentence])
  expect(tables.webhooks).toEqual({ sealedAnew: 2, sealedBefore: 0 })
  const [row] = await w.db.select().from(channels).where(eq(channels.id, channelId))
  expect(Buffer.from(row!.credential!)).toEqual(lost)
  await w.db.delete(channels).where(eq(channels.id, channelId))
  await openAll([key])
  former = [key]
})

test('credentials that are refreshed while keys are rotated are neither lost nor left under the old key', async () => {
  const { channelId, organisationId } = things
  const key = aKey()
  const both: KeyRing = [key, ...former]
  const refresh = async (version: number) => {
    const credential = seal(both, credentialPlace({ channelId, organisationId }), `fresh ${version}`)
    await w.db.update(channels).set({ credential, credentialVersion: version }).where(eq(channels.id, channelId))
  }
  const refreshes = async () => {
    for (let version = 100; version < 200; version++) await refresh(version)
  }
  await Promise.all([refreshes(), rotate(both), rotate(both)])
  const [row] = await w.db.select().from(channels).where(eq(channels.id, channelId))
  expect(open([key], credentialPlace({ channelId, organisationId }), row!.credential!)).toBe('fresh 199')
  expect(row!.credentialVersion).toBe(199)
  expect(isSealedAnew([key], row!.credential!)).toBe(true)
  await openAll([key])
})

test('where only some credentials open, processes start and say so', async () => {
  const database = await testDatabase()
  const site = await testSite(database.url)
  const { organisationId } = await anOrganisation(database.db)
  await aChannel(database.db, randomBytes(32), { organisationId, network: 'feed' })
  await aChannel(database.db, site.secretKey, { organisationId, network: 'feed' })

  const worker = await startWorker(site)

  expect(worker.log()).toMatch(/"opened":1,"unopened":1,"msg":"SECRET_KEYS does not open everything/)
  await worker.stop()
  await site.end()
  await database.end()
})
