import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { aBrowser } from '../browser.ts'
import { aHouse, type House, Password } from '../house.ts'
import { openWeb, type Web } from '../web.ts'

// Undo, as the forms of the pages send it.

let w: Web
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0' })
})
afterAll(() => w.end())

async function aPerson() {
  const house = await aHouse(w)
  const browser = aBrowser(w.site.appUrl)
  await browser.post('/login', { email: house.member.email, password: Password })
  return { house, browser }
}

async function aPost({ key }: House, wanted: object): Promise<Post> {
  const answer = await w.call('POST', '/posts', { key, json: { content: 'x', ...wanted } })
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

const read = async ({ key }: House, id: string) => (await w.call('GET', `/posts/${id}`, { key })).json as Post

test('Undo of an unschedule is refused while the channel is disconnected, and the post stays cancelled', async () => {
  const { house, browser } = await aPerson()
  const channelId = await w.channel(house.organisationId)
  const date = new Date(Date.now() + 3_600_000).toISOString()
  const { id } = await aPost(house, { type: 'schedule', date, channelIds: [channelId] })
  expect((await browser.post(`/posts/${id}`, { intent: 'cancel' })).status).toBe(302)
  await browser.post('/channels', { intent: 'disconnect', id: channelId, unsent: 'cancel' })

  const refused = await browser.post(`/posts/${id}`, { intent: 'schedule-again', channelIds: channelId })

  expect(refused.status).toBe(422)
  expect(refused.text).toContain('feed was disconnected. Connect it again first, or duplicate the post.')
  expect(await read(house, id)).toMatchObject({ status: 'CANCELLED' })
})

test('Undo of an unschedule goes on while the channel waits for a reconnect', async () => {
  const { house, browser } = await aPerson()
  const channelId = await w.channel(house.organisationId)
  const date = new Date(Date.now() + 3_600_000).toISOString()
  const { id } = await aPost(house, { type: 'schedule', date, channelIds: [channelId] })
  await browser.post(`/posts/${id}`, { intent: 'cancel' })
  await w.db.execute(`update channels set status = 'needs_reconnect' where id = '${channelId}'`)
  expect((await browser.post(`/posts/${id}`, { intent: 'schedule-again', channelIds: channelId })).status).toBe(302)
  expect(await read(house, id)).toMatchObject({ status: 'SCHEDULED' })
})

test('Undo of a deleted draft works after another organisation has sent a post with its id', async () => {
  const [one, other] = [await aPerson(), await aPerson()]
  const { id } = await aPost(one.house, { type: 'draft', content: 'mine', channelIds: [] })
  expect((await one.browser.post(`/posts/${id}`, { intent: 'cancel' })).headers.get('location')).toBe(`/?removed=${id}`)
  const taken = await other.browser.post('/posts/new', { intent: 'draft', content: 'theirs', copy: id })
  expect(taken.status).toBe(302)

  expect((await one.browser.post(`/posts/${id}`, { intent: 'restore' })).status).toBe(302)

  expect(await read(one.house, id)).toMatchObject({ status: 'DRAFT', content: 'mine' })
  const theirs = /posts\/([\w-]+)/.exec(taken.headers.get('location')!)![1]!
  expect(await read(other.house, theirs)).toMatchObject({ content: 'theirs' })
})

test('the cookie with which a move can be undone takes a queue only by its id', async () => {
  const { house, browser } = await aPerson()
  const channelIds = [await w.channel(house.organisationId)]
  const from = new Date(Date.now() + 3_600_000).toISOString()
  const { id } = await aPost(house, { type: 'schedule', date: from, channelIds })
  const cookieAfter = async (queue: string, time: string) => {
    const { version } = await read(house, id)
    const form = { id, version: String(version), by: 'form', from, queue, date: '2031-05-06', time }
    const headers = { origin: w.site.appUrl, cookie: browser.jar.cookie }
    const body = new URLSearchParams(form)
    const answer = await fetch(`${w.site.appUrl}/calendar`, { method: 'POST', redirect: 'manual', headers, body })
    expect(answer.status).toBe(302)
    const [, cookie = ''] = /calendar-moved=([^;]*)/.exec(answer.headers.getSetCookie().join()) ?? []
    return JSON.parse(JSON.parse(Buffer.from(decodeURIComponent(cookie), 'base64').toString()))
  }
  const queueId = '01890000-0000-7000-8000-000000000000'
  expect(await cookieAfter(queueId, '10:00')).toMatchObject({ queueId, before: { id, queueId } })
  expect(await cookieAfter('x'.repeat(5000), '11:00')).toMatchObject({ queueId: null, before: { id, queueId: null } })
})
