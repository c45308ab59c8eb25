import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { checkInvariants } from '../../../jobs/ledger/invariants.ts'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import type { Api } from '../../../server/router.ts'
import { anOrganisation } from '../../builders.ts'
import { apiAs, memberWith, webWithChannel } from '../web.ts'
import { aQueue, everyHour, queuePost } from './queue-calls.ts'

const DayMs = 86_400_000

const w = webWithChannel()
let api: Api
beforeAll(async () => {
  api = apiAs(w.installation, await memberWith(w, w))
})
beforeEach(() => w.db.execute(sql`delete from posts`) as Promise<unknown>)
beforeEach(() => w.db.execute(sql`delete from queues`) as Promise<unknown>)

const inDays = (count: number) => new Date(Date.now() + count * DayMs).toISOString()
const nextOf = async (id: string) => (await w.call('GET', `/queues/${id}/next?limit=100`)).json.dates as string[]
const freeIn = async (from: string, to: string, wanted: object = {}) =>
  (await api.calendar.freeTimes({ from, to, ...wanted })).times

describe('free times', () => {
  test('of a range are those that the queue gives next, without those that posts have', async () => {
    const { id } = await aQueue(w, { timeZone: 'America/St_Johns' })
    for (let i = 0; i < 3; i++) await queuePost(w)
    const dates = await nextOf(id)
    const [from, to] = [dates[10]!, dates[40]!]
    expect(await freeIn(inDays(-1), to)).toEqual(dates.slice(0, 40).map((at) => ({ queueId: id, at })))
    expect(await freeIn(from, to)).toEqual(dates.slice(10, 40).map((at) => ({ queueId: id, at })))
    expect(await freeIn(inDays(-9), inDays(-1))).toEqual([])
  })

  test('are of all queues, soonest first; a paused queue has none, nor has one whose channels are all disconnected', async () => {
    const other = await w.channel()
    const every = (time: string) => [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, time }))
    const early = await aQueue(w, { name: 'Early', timeZone: 'UTC', times: every('06:00') })
    const late = await aQueue(w, { name: 'Late', timeZone: 'UTC', times: every('18:00'), channelIds: [other] })
    const paused = await aQueue(w, { name: 'Paused', timeZone: 'UTC', times: every('12:00') })
    await w.call('PATCH', `/queues/${paused.id}`, { json: { paused: true } })
    const day = inDays(3).slice(0, 10)
    const [from, to] = [`${day}T00:00:00.000Z`, `${day}T23:00:00.000Z`]
    const [six, eighteen] = [
      { queueId: early.id, at: `${day}T06:00:00.000Z` },
      { queueId: late.id, at: `${day}T18:00:00.000Z` },
    ]
    expect(await freeIn(from, to)).toEqual([six, eighteen])
    expect(await freeIn(from, to, { channelId: other })).toEqual([eighteen])

    await w.db.update(channels).set({ status: 'disconnected' }).where(sql`id = ${other}`)
    expect(await freeIn(from, to)).toEqual([six])
    expect(await freeIn(from, to, { channelId: other })).toEqual([])
  })

  test('of a range are at most 500, and the answer says that there are more', async () => {
    const { id } = await aQueue(w, { times: everyHour })
    const { times, hasMore } = await api.calendar.freeTimes({ from: inDays(0), to: inDays(40) })
    expect([times.length, hasMore]).toEqual([500, true])
    expect(times.slice(0, 100).map(({ at }) => at)).toEqual(await nextOf(id))
    expect((await api.calendar.freeTimes({ from: inDays(0), to: inDays(10) })).hasMore).toBe(false)
  })

  test('end after five years, as far as a post can be scheduled', async () => {
    await aQueue(w)
    expect((await freeIn(inDays(5 * 365 - 10), inDays(5 * 365 - 9))).length).toBe(24)
    expect(await freeIn(inDays(5 * 365 + 5), inDays(5 * 365 + 20))).toEqual([])
  })

  test('of another organisation are not shown', async () => {
    await aQueue(w)
    const another = await anOrganisation(w.db, 'Another')
    const theirs = apiAs(w.installation, await memberWith(w, another))
    expect((await theirs.calendar.freeTimes({ from: inDays(0), to: inDays(3) })).times).toEqual([])
  })
})

test('a post in the calendar has its queue until it gets another date', async () => {
  const { id } = await aQueue(w)
  const post = (await queuePost(w)).json as Post
  const queueIn = async () => (await api.calendar.list({ from: inDays(0), to: inDays(9) })).posts[0]!.queueId
  expect(await queueIn()).toBe(id)
  await api.posts.update({ id: post.id, date: inDays(5) })
  expect(await queueIn()).toBeNull()
})

describe('a post that left its queue and is moved back', () => {
  let queueId: string
  let post: Post
  beforeEach(async () => {
    queueId = (await aQueue(w)).id
    post = (await queuePost(w)).json as Post
    expect((await api.posts.update({ id: post.id, date: inDays(5) })).queueId).toBeNull()
  })

  const back = (wanted: object = {}) =>
    api.calendar.moveTo({ id: post.id, date: post.date!, queueId, ifVersions: [2], ...wanted })

  test('is in the queue again, and its time is taken again', async () => {
    expect(await back()).toMatchObject({ queueId, date: post.date, version: 3, status: 'SCHEDULED' })
    expect(await nextOf(queueId)).not.toContain(post.date)
    const checked = await w.db.transaction((tx) => checkInvariants(tx))
    expect(checked.filter(({ broken }) => broken > 0)).toEqual([])
  })

  test('has its former date, but not the queue, if another post took its time', async () => {
    expect((await queuePost(w)).json.date).toBe(post.date)
    expect(await back()).toMatchObject({ queueId: null, date: post.date })
  })

  test('has its former date, but not the queue, if that is paused or no longer has this time', async () => {
    await w.call('PATCH', `/queues/${queueId}`, { json: { paused: true } })
    expect(await back()).toMatchObject({ queueId: null, date: post.date })
    await w.call('PATCH', `/queues/${queueId}`, { json: { paused: false, times: [{ weekday: 1, time: '00:30' }] } })
    expect(await back({ ifVersions: [3] })).toMatchObject({ queueId: null, date: post.date })
  })

  test('does not join a queue that lacks its channel, or one of another organisation', async () => {
    await w.call('PATCH', `/queues/${queueId}`, { json: { channelIds: [await w.channel()] } })
    expect(await back()).toMatchObject({ queueId: null })
    const another = await anOrganisation(w.db, 'Another')
    const theirs = await memberWith(w, another)
    const channelId = await w.channel(another.organisationId)
    const { id } = await apiAs(w.installation, theirs).queues.create({
      ...{ name: 'Theirs', timeZone: 'UTC', times: everyHour, channelIds: [channelId] },
    })
    expect(await back({ queueId: id, ifVersions: [3] })).toMatchObject({ queueId: null })
  })

  test('stays where it is if it was changed meanwhile', async () => {
    await api.posts.update({ id: post.id, content: 'by a colleague' })
    await expect(back()).rejects.toMatchObject({ failure: 'stale_version' })
  })

  test('and a new post that takes the time at the same moment never share it', async () => {
    const [moved, taken] = await Promise.all([back(), queuePost(w)])
    expect(moved.date).toBe(post.date)
    expect(moved.queueId === queueId && taken.json.date === post.date).toBe(false)
  })
})
