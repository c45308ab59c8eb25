import { randomBytes } from 'node:crypto'
import { and, eq, like, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { activity } from '../../../db/schema/api.ts'
import { channels, revocations } from '../../../db/schema/channels.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import type { Api } from '../../../server/router.ts'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { until } from '../../processes.ts'
import { connectAt } from '../../server/channels/consent.ts'
import { ownerIn } from '../../server/web.ts'
import { deliveryOf, type World, world } from '../../world.ts'
import { fakePds } from '../networks/bluesky/bluesky.fake.ts'
import { type FakeMastodon, fakeMastodon } from '../networks/mastodon/mastodon.fake.ts'

// A real worker ends credentials that are no longer needed, at Mastodon-like servers and at a PDS.

const Revoke = 'POST /oauth/revoke'

let w: World
let api: Api
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  w = await world()
  api = await ownerOf(w.organisationId)
  await w.worker()
})
afterAll(async () => {
  for (const close of closing) await close()
  await w.end()
})

async function ownerOf(organisationId: string): Promise<Api> {
  const owner = await ownerIn({ ...w, organisationId })
  closing.push(owner.close)
  return owner.api
}

async function aServer(context: TestContext, ways: Parameters<typeof fakeMastodon>[0] = {}): Promise<FakeMastodon> {
  const server = await fakeMastodon(ways)
  context.onTestFinished(server.close)
  return server
}

const disconnect = (id: string) => api.channels.disconnect({ id, unsent: 'hold' })
const left = () => w.db.select().from(revocations)
const untilNoneIsLeft = () => until(async () => (await left()).length === 0)
const bringForward = () => w.db.update(revocations).set({ nextTryAt: sql`now()` })
const actionsOn = async (channelId: string) => {
  const isOurs = and(eq(activity.subjectId, channelId), like(activity.action, 'channel.access%'))
  const rows = await w.db.select().from(activity).where(isOurs)
  return rows.map(({ action, detail }) => ({ action, ...detail }))
}
const isErased = async (id: string) =>
  (await w.db.select().from(channels).where(eq(channels.id, id)))[0]!.credential === null

test('a disconnect ends the token at the server and erases the credential', async (context) => {
  const server = await aServer(context)
  const { id } = await connectAt(api, server)
  await disconnect(id)
  await until(() => server.revoked.length > 0)
  await untilNoneIsLeft()
  expect(server.revoked).toEqual([server.token])
  expect(await isErased(id)).toBe(true)
  expect(await actionsOn(id)).toEqual([{ action: 'channel.access_ended' }])
})

test('a disconnect ends the session at a PDS', async (context) => {
  const pds = await fakePds()
  context.onTestFinished(pds.close)
  const input = { handle: 'ada.test', appPassword: pds.password, pds: pds.url }
  const connected = await api.channels.connect({ network: 'bluesky', input })
  if (!('channel' in connected)) throw new Error('It was not connected.')
  const { id } = connected.channel
  await disconnect(id)
  const deletion = () => pds.received.find(({ route }) => route === 'POST /xrpc/com.atproto.server.deleteSession')
  await until(deletion)
  expect(deletion()!.headers.authorization).toBe(`Bearer ${pds.refreshJwt}`)
  await untilNoneIsLeft()
  expect(await actionsOn(id)).toEqual([{ action: 'channel.access_ended' }])
})

test('a server that does not answer delays no disconnect, is asked 5 times, and the activity says that the access is left', async (context) => {
  const server = await aServer(context)
  const { id } = await connectAt(api, server)
  server.next(Revoke, 'silence after', ...Array(9).fill({ status: 503, body: 'busy' }))
  await disconnect(id)
  await until(() => isErased(id))
  const { host } = new URL(server.url)
  for (let tries = 1; (await left()).length > 0; tries++) {
    const asked = () => server.received.filter(({ route }) => route === Revoke).length
    await until(async () => (await left()).length === 0 || asked() >= tries)
    await bringForward()
  }
  const asked = server.received.filter(({ route }) => route === Revoke).length
  expect(asked).toBe(5)
  expect(await actionsOn(id)).toEqual([
    {
      action: 'channel.access_left',
      reason: expect.stringContaining(`${host} did not revoke our access (status 503).`),
    },
  ])
})

test('a connection from before we stored apps is erased, and the activity says that its access is left', async (context) => {
  const server = await aServer(context)
  const { url: instance, token, accountId } = server
  const id = await aChannel(w.db, w.site.secretKey, {
    ...{ organisationId: w.organisationId, network: 'mastodon', remoteAccount: `${instance}/old` },
    credential: { instance, token, accountId },
  })
  await disconnect(id)
  await until(async () => (await isErased(id)) && (await left()).length === 0)
  expect(await actionsOn(id)).toMatchObject([{ action: 'channel.access_left' }])
  expect(server.received).toEqual([])
})

test('a reconnect of a channel whose credential no key opens: the activity says that the old access is left', async (context) => {
  const server = await aServer(context)
  const { id } = await connectAt(api, server)
  const sealedByNobody = randomBytes(120)
  await w.db.update(channels).set({ credential: sealedByNobody }).where(eq(channels.id, id))
  server.token = 'another'
  await connectAt(api, server)
  expect(await actionsOn(id)).toMatchObject([{ action: 'channel.access_left' }])
  expect(await left()).toEqual([])
})

test('a disconnect of a channel whose credential no key opens erases it, and the activity says that the access is left', async () => {
  const id = await aChannel(w.db, randomBytes(32), { organisationId: w.organisationId, network: 'mastodon' })
  await disconnect(id)
  await until(() => isErased(id))
  expect(await left()).toEqual([])
  expect(await actionsOn(id)).toMatchObject([{ action: 'channel.access_left' }])
})

test('a running send ends before a disconnect ends its token', async (context) => {
  const server = await aServer(context)
  const { id } = await connectAt(api, server)
  server.next('POST /api/v1/statuses', 'silence after') // accepted, but no answer comes
  const delivery = await aDelivery(w.db, { organisationId: w.organisationId, channelId: id, dueAt: new Date() })
  await until(() => server.statuses.length > 0)
  await disconnect(id)
  await until(() => server.revoked.length > 0)
  expect(await deliveryOf(w.db, delivery)).toMatchObject({ state: 'published', evidence: 'found' })
  await untilNoneIsLeft()
})

test('a reconnect ends only the former token', async (context) => {
  const server = await aServer(context)
  const { id } = await connectAt(api, server)
  await connectAt(api, server, id)
  expect((await left()).map(({ channelId }) => channelId)).toEqual([id])
  await bringForward()
  await until(() => server.revoked.length > 0)
  await untilNoneIsLeft()
  expect(server.revoked).toEqual([server.token])
  expect(server.tokens.size).toBe(1)
})

test('a token that the server issues again is not ended while it is in use', async (context) => {
  const server = await aServer(context, { reusesTokens: true })
  const { id } = await connectAt(api, server)
  await connectAt(api, server, id)
  expect(await left()).toEqual([])
  await w.stopWorkers()
  await disconnect(id) // the next worker erases it, when the channel is connected again
  await connectAt(api, server, id)
  await w.worker()
  const dueAt = new Date()
  const delivery = await aDelivery(w.db, { organisationId: w.organisationId, channelId: id, dueAt })
  await until(async () => (await deliveryOf(w.db, delivery)).state === 'published')
  await untilNoneIsLeft()
  expect(server.revoked).toEqual([])
})

test('a token that waits to be ended is kept when the server issues it again', async (context) => {
  const server = await aServer(context, { reusesTokens: true })
  const { id } = await connectAt(api, server)
  server.next(Revoke, { status: 503, body: 'busy' })
  await disconnect(id)
  await until(() => server.received.some(({ route }) => route === Revoke))
  await connectAt(api, server, id)
  await bringForward()
  await untilNoneIsLeft()
  expect(server.revoked).toEqual([])
  expect(await actionsOn(id)).toEqual([])
})

test('another organisation’s channel on the same account keeps its token, and we cannot disconnect it', async (context) => {
  const server = await aServer(context)
  const { organisationId } = await anOrganisation(w.db)
  const theirs = await ownerOf(organisationId)
  const { id } = await connectAt(api, server)
  const { id: their } = await connectAt(theirs, server)
  await expect(disconnect(their)).rejects.toThrow()
  // A server that gives everyone the same token: their token is ours.
  await w.db.execute(sql`delete from channels where id = ${their}`)
  const { url: instance, token, accountId } = server
  const { remoteAccount } = (await w.db.select().from(channels).where(eq(channels.id, id)))[0]!
  const credential = { instance, token, accountId }
  await aChannel(w.db, w.site.secretKey, { organisationId, network: 'mastodon', remoteAccount, credential })
  await disconnect(id)
  await until(async () => (await isErased(id)) && (await left()).length === 0)
  expect(server.revoked).toEqual([])
  expect(server.tokens.has(token)).toBe(true)
  expect(await w.db.select().from(deliveries).where(eq(deliveries.organisationId, organisationId))).toEqual([])
})
