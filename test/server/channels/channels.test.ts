import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { pause, resume } from '../../../jobs/ledger/pause.ts'
import type { Api } from '../../../server/router.ts'
import { aDelivery } from '../../builders.ts'
import { until } from '../../processes.ts'
import { fakeNetwork } from '../../stand-ins/fake-network.ts'
import { deliveryOf, untilState, type World, world } from '../../world.ts'
import { failureOf, ownerIn } from '../web.ts'

let w: World
let api: Api
let close: () => Promise<void>
beforeAll(async () => {
  w = await world()
  ;({ api, close } = await ownerIn(w, { readable }))
})
afterEach(() => w.rest())
afterAll(async () => {
  await close()
  await w.end()
})

const readable = fakeNetwork({ name: 'readable', url: 'http://127.0.0.1:9', repeatedSend: 'readable' })

const Hour = 3_600_000
const soon = (ms = 0) => new Date(Date.now() + ms)
const stateOf = async (id: string) => (await deliveryOf(w.db, id)).state
const channelRow = async (id: string) => (await w.db.select().from(channels).where(eq(channels.id, id)))[0]!
const reconnect = async (channelId: string) =>
  api.channels.connect({
    network: 'readable',
    channelId,
    input: { account: (await channelRow(channelId)).remoteAccount },
  })

const activityOn = async (id: string) =>
  (await api.activity.list({})).data.filter(({ subjectId }) => subjectId === id).map(({ action }) => action)
const postsOf = async (id: string) =>
  (await api.activity.list({})).data.find(({ subjectId }) => subjectId === id)!.detail.posts

const another = (channelId: string, dueAt: Date) =>
  aDelivery(w.db, { organisationId: w.organisationId, channelId, dueAt })

async function one({ dueAt, token = 'good' }: { dueAt: Date; token?: string }) {
  const channelId = await w.channel('readable', token)
  const id = await another(channelId, dueAt)
  return { id, channelId, postId: (await deliveryOf(w.db, id)).postId }
}

describe('a channel', () => {
  test('that an operator has paused, alone, with its network or with all, shows it, and accepts posts', async () => {
    const id = await w.channel('readable')
    const status = async () => (await api.channels.get({ id })).status
    const listedAs = async (status: Channel['status']) =>
      (await api.channels.list({ status })).data.some((channel) => channel.id === id)
    for (const reach of [{ scope: 'channel', id }, { scope: 'network', name: 'readable' }, { scope: 'all' }] as const) {
      await pause(w.db, reach)
      expect(await status()).toBe('PAUSED')
      expect([await listedAs('PAUSED'), await listedAs('ACTIVE')]).toEqual([true, false])
      const post = await api.posts.create({ type: 'now', content: 'x', channelIds: [id] })
      expect(post.status).toBe('SCHEDULED')
      await resume(w.db, reach)
      expect(await status()).toBe('ACTIVE')
      expect([await listedAs('PAUSED'), await listedAs('ACTIVE')]).toEqual([false, true])
    }
    await w.db.update(channels).set({ status: 'needs_reconnect', pausedAt: soon() }).where(eq(channels.id, id))
    expect(await status()).toBe('NEEDS_RECONNECT')
  })

  test('disconnected to hold keeps its posts, and connected again sends what is due and keeps the hour of the rest', async () => {
    const { id: due, channelId } = await one({ dueAt: soon(300) })
    const later = await another(channelId, soon(Hour))
    const missed = await another(channelId, soon(-25 * Hour))
    await api.channels.disconnect({ id: channelId, unsent: 'hold' })
    expect(await Promise.all([due, later, missed].map(stateOf))).toEqual(['held', 'held', 'held'])
    expect(await postsOf(channelId)).toBe(3)
    expect(await failureOf(api.channels.disconnect({ id: channelId, unsent: 'hold' }))).toBe('not_found')
    await w.worker()
    await until(async () => (await channelRow(channelId)).credential === null) // erased, nothing being under way
    expect(w.fake.received).toHaveLength(0)
    await reconnect(channelId)
    await untilState(w.db, due, 'published')
    expect(await untilState(w.db, missed, 'needs_review')).toMatchObject({ error: { code: 'missed' } })
    expect(await deliveryOf(w.db, later)).toMatchObject({ state: 'scheduled', error: null })
    expect(w.fake.received).toHaveLength(1)
  })

  test('disconnected to cancel cancels what is unsent, while what is being sent runs to its end and is known', async () => {
    let answer = () => {}
    w.fake.behave = (_request, { show, reply }) => {
      answer = () => reply(200, { id: show() })
    }
    const { id: sending, channelId } = await one({ dueAt: soon() })
    const later = await another(channelId, soon(Hour))
    await w.worker({ timesFactor: 1 })
    await until(() => w.fake.received.length === 1)
    await api.channels.disconnect({ id: channelId, unsent: 'cancel' })
    expect(await Promise.all([sending, later].map(stateOf))).toEqual(['sending', 'cancelled'])
    expect(await postsOf(channelId)).toBe(1)
    answer()
    await untilState(w.db, sending, 'published')
    await until(async () => (await channelRow(channelId)).credential === null)
    await reconnect(channelId)
    expect(await stateOf(later)).toBe('cancelled')
  })

  test('that lost its access holds its posts; they can be edited meanwhile and go out as edited when it is back', async () => {
    w.fake.isTokenGood = (token) => token === 'good'
    const { id, postId, channelId } = await one({ dueAt: soon(), token: 'revoked' })
    await w.worker()
    await untilState(w.db, id, 'held')
    const before = await api.posts.get({ id: postId })
    expect(before).toMatchObject({ status: 'HELD', deliveries: [{ error: { code: 'channel_needs_reconnect' } }] })
    const edited = await api.posts.update({ id: postId, content: 'as edited' })
    expect(edited).toMatchObject({ status: 'HELD', content: 'as edited', deliveries: before.deliveries })
    await reconnect(channelId)
    await untilState(w.db, id, 'published')
    expect(w.fake.posts.map(({ text }) => text)).toEqual(['as edited'])
  })

  test('disconnected while posts are made and edited onto it leaves none of them waiting there', async () => {
    for (let round = 0; round < 20; round++) {
      const [channelId, other] = await Promise.all([w.channel('readable'), w.channel('readable')])
      const wanted = { type: 'schedule' as const, date: soon(Hour).toISOString(), content: 'in a race' }
      const elsewhere = await api.posts.create({ ...wanted, channelIds: [other] })
      const made = (i: number) => api.posts.create({ ...wanted, channelIds: i % 2 ? [other, channelId] : [channelId] })
      const answers = await Promise.all([
        ...[1, 2, 3, 4].map((i) => failureOf(made(i))),
        failureOf(api.posts.update({ id: elsewhere.id, channelIds: [channelId, other] })),
        failureOf(api.channels.disconnect({ id: channelId, unsent: 'cancel' })),
      ])
      expect(answers.at(-1)).toBe('done')
      expect(['done', 'unprocessable']).toEqual(expect.arrayContaining(answers))
      const states = await w.db.select().from(deliveries).where(eq(deliveries.channelId, channelId))
      expect(new Set(states.map(({ state }) => state))).not.toContain('scheduled')
    }
  })

  test('reconnected as another account stays as it is', async () => {
    const { id, channelId } = await one({ dueAt: soon(Hour) })
    await api.channels.disconnect({ id: channelId, unsent: 'hold' })
    const wrong = api.channels.connect({ network: 'readable', channelId, input: { account: 'somebody else' } })
    expect(await failureOf(wrong)).toBe('connect_failed')
    expect(await activityOn(channelId)).toEqual(['channel.disconnected'])
    expect(await stateOf(id)).toBe('held')
    expect(await w.db.select().from(channels).where(eq(channels.remoteAccount, 'somebody else'))).toEqual([])
  })

  test('of a network that has no accounts but ours is connected again as itself', async () => {
    const made = await api.channels.connect({ network: 'feed', input: { name: 'News' } })
    const { id } = (made as { channel: Channel }).channel
    const held = await another(id, soon(Hour))
    await api.channels.disconnect({ id, unsent: 'hold' })
    const again = await api.channels.connect({ network: 'feed', channelId: id, input: { name: 'Newer news' } })
    expect(await activityOn(id)).toEqual(['channel.connected', 'channel.disconnected', 'channel.connected'])
    expect(again).toMatchObject({ channel: { id, name: 'Newer news', status: 'ACTIVE' } })
    expect(await stateOf(held)).toBe('scheduled')
    for (const network of ['none', '__proto__', 'constructor', 'toString'])
      expect(await failureOf(api.channels.connect({ network, input: {} }))).toBe('not_found')
  })
})
