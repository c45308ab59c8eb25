import { eq, inArray } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { events } from '../../../db/schema/webhooks.ts'
import { someDeliveries } from '../../builders.ts'
import { until } from '../../processes.ts'
import { ownerIn } from '../../server/web.ts'
import { fakeNetwork, type Kind, kinds } from '../../stand-ins/fake-network.ts'
import { statesOf, untilPublished, type World } from '../../world.ts'
import { hold, makeHoldable } from '../database/hold.ts'
import { assertInvariants } from '../invariants.ts'
import { endOf, oneOfEach, ownWorld, untilEnded } from '../play.ts'

const fresh = (token: string) => token.replace('stale', 'fresh')
const staleOf = (w: World) => `stale of ${w.organisationId}`
const once = { state: 'published', sent: 1, out: 1 }

/** Ends a worker that has got a fresh token for each kind, before it can store one. */
async function crashRefreshing(w: World): Promise<Record<Kind, string>> {
  await makeHoldable(w.db)
  w.fake.isTokenGood = (token) => token.startsWith('fresh')
  const held = await hold(w.site.databaseUrl, 'credential')
  const victim = await w.worker({ canRefresh: true, dieAt: { point: 'refreshed', nth: kinds.length } })
  const ids = await oneOfEach(w, staleOf(w))
  await victim.ended
  await held.release()
  expect(w.fake.refreshes).toHaveLength(kinds.length)
  return ids
}

async function channelsOf({ db }: World) {
  return db
    .select()
    .from(channels)
    .where(inArray(channels.network, [...kinds]))
}

describe.concurrent('K10 a worker killed while it refreshes a token', () => {
  test('when the network refreshes the token again, the posts that were surely not sent go out', async (context) => {
    const w = await ownWorld(context)
    w.fake.refresh = fresh
    const ids = await crashRefreshing(w)
    await Promise.all([w.worker({ canRefresh: true }), w.worker({ canRefresh: true })])
    await untilEnded(w, Object.values(ids))
    for (const kind of ['keyed', 'two-step', 'readable'] as const) expect(await endOf(w, ids[kind])).toMatchObject(once)
    expect(await endOf(w, ids.blind)).toMatchObject({ state: 'needs_review', sent: 0, out: 0 })
    for (const { credentialVersion, network } of await channelsOf(w))
      expect([network, credentialVersion]).toEqual([network, network === 'blind' ? 1 : 2])
    await assertInvariants(w)
  })

  test('when the network refuses a second refresh, nothing is sent: unknown outcomes need review, the rest is held, and the channels need a reconnect', async (context) => {
    const w = await ownWorld(context)
    w.fake.refresh = (token) => (w.fake.refreshes.length <= kinds.length ? fresh(token) : 401)
    const ids = await crashRefreshing(w)
    const rows = await channelsOf(w)
    const dueAt = new Date()
    const behind = await someDeliveries(
      w.db,
      rows.map(({ id: channelId }) => ({ organisationId: w.organisationId, channelId, dueAt })),
    )
    await w.worker({ canRefresh: true })
    await untilEnded(w, [...Object.values(ids), ...behind])
    const states = await Promise.all(kinds.map(async (kind) => (await endOf(w, ids[kind])).state))
    expect(states).toEqual(['needs_review', 'held', 'needs_review', 'needs_review'])
    expect(await statesOf(w.db, behind)).toEqual(behind.map(() => 'held'))
    expect((await channelsOf(w)).map(({ status }) => status)).toEqual(rows.map(() => 'needs_reconnect'))
    expect(w.fake.received).toHaveLength(0)
    await assertInvariants(w)
  })
})

describe.concurrent('401 on 20 deliveries at once', () => {
  const twenty = async (w: World) => {
    const channelId = await w.channel('readable', staleOf(w))
    const wanted = { organisationId: w.organisationId, channelId, dueAt: new Date() }
    return {
      channelId,
      ids: await someDeliveries(
        w.db,
        Array.from({ length: 20 }, () => wanted),
      ),
    }
  }

  test('one refresh is enough, and all go out', async (context) => {
    const w = await ownWorld(context)
    w.fake.isTokenGood = (token) => token.startsWith('fresh')
    w.fake.refresh = fresh
    await Promise.all([w.worker({ canRefresh: true }), w.worker({ canRefresh: true })])
    const { ids } = await twenty(w)
    await untilPublished(w.db, ids)
    expect(w.fake.refreshes).toHaveLength(1)
    expect(w.fake.posts).toHaveLength(20)
    await assertInvariants(w)
  })

  test('a refused refresh holds all 20 and sends one event, and all go out after the channel is reconnected', async (context) => {
    const w = await ownWorld(context)
    w.fake.isTokenGood = (token) => token.startsWith('good')
    const { api, close } = await ownerIn(w, {
      readable: fakeNetwork({ name: 'readable', url: w.fake.url, repeatedSend: 'readable' }),
    })
    context.onTestFinished(close)
    await api.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['channel.needs_reconnect'] })
    await Promise.all([w.worker({ canRefresh: true }), w.worker({ canRefresh: true })])
    const { ids, channelId } = await twenty(w)
    await until(async () => (await statesOf(w.db, ids)).every((state) => state === 'held'))
    expect(w.fake.refreshes).toHaveLength(1)
    const [channel] = await w.db.select().from(channels).where(eq(channels.id, channelId))
    expect(channel!.status).toBe('needs_reconnect')
    expect(await w.db.select().from(events).where(eq(events.type, 'channel.needs_reconnect'))).toHaveLength(1)
    expect(w.fake.received).toHaveLength(0)
    await api.channels.connect({ network: 'readable', channelId, input: { account: channelId } })
    await untilPublished(w.db, ids)
    expect(w.fake.posts).toHaveLength(20)
    await assertInvariants(w)
  })
})
