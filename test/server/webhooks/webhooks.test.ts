import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { webhooks } from '../../../db/schema/webhooks.ts'
import type { Scope } from '../../../server/access/scopes.ts'
import { createKey } from '../../../server/accounts/api-keys.ts'
import { eventTypes } from '../../../server/webhooks/event-names.ts'
import { aKeyOfAllScopes } from '../../builders.ts'
import { formsOf, wholeDatabase } from '../../postgres/whole-database.ts'
import { type Answer, apiAs, expectProblem, failureOf, faultsOf, memberWith, webWithChannel } from '../web.ts'

// No worker runs here: what is to be sent stays PENDING. test/jobs/webhooks/deliver.test.ts sends it.

const w = webWithChannel()
let key: string
beforeAll(async () => {
  key = await aKeyOfAllScopes(w.db, w)
})
beforeEach(() => w.db.delete(webhooks))

const url = 'https://hooks.example/punctual'
const call = (method: string, path: string, json?: unknown, by = key): Promise<Answer> =>
  w.call(method, path, { key: by, ...(json === undefined ? {} : { json }) })

async function aWebhook(wanted: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
  const made = await call('POST', '/webhooks', { url, ...wanted })
  expect(made.status).toBe(201)
  return made.json
}

async function aPost(): Promise<string> {
  const json = { type: 'draft', content: 'hello', channelIds: [w.channelId] }
  return (await w.call('POST', '/posts', { json })).json.id
}

async function aKey(...scopes: Scope[]): Promise<string> {
  const wanted = { organisationId: w.organisationId, createdBy: w.accountId, name: 'k', scopes, expiresAt: null }
  return (await createKey(w.db, wanted)).key
}

const logOf = async (id: string) => (await call('GET', `/webhooks/${id}/deliveries`)).json.data

describe('POST /webhooks', () => {
  test('makes one, and shows its secret this once', async () => {
    const made = await call('POST', '/webhooks', { url, description: ' Order desk ', events: ['post.failed'] })
    expect(made.status).toBe(201)
    const { secret, ...webhook } = made.json
    expect(made.headers.get('location')).toMatch(new RegExp(`/public/v1/webhooks/${webhook.id}$`))
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(webhook).toEqual({
      ...{ id: expect.any(String), url, description: 'Order desk', events: ['post.failed'], status: 'ACTIVE' },
      ...{ offReason: null, offSince: null, failingSince: null, previousSecretUntil: null },
      createdBy: { kind: 'api_key', id: expect.any(String), name: 'test' },
      createdAt: expect.stringMatching(/Z$/),
    })
    expect((await call('GET', `/webhooks/${webhook.id}`)).json).toEqual(webhook)
    expect((await call('GET', '/webhooks')).json.data).toEqual([webhook])
    expect((await call('PATCH', `/webhooks/${webhook.id}`, {})).json).toEqual(webhook)
  })

  test('keeps neither its secret nor a rotated one in clear, in the database or in the log', async () => {
    const { id, secret } = await aWebhook()
    const rotated = (await call('POST', `/webhooks/${id}/rotate`)).json.secret
    await call('POST', `/webhooks/${id}/test`)
    const database = await wholeDatabase(w.db)
    expect(database.get('public.webhooks.url')).toContain(url) // the search does see
    for (const one of [secret, rotated]) {
      const bare = one.replace('whsec_', '')
      for (const form of [...formsOf(one), ...formsOf(bare), Buffer.from(bare, 'base64').toString('hex')]) {
        expect([...database].filter(([, all]) => all.includes(form)).map(([place]) => place)).toEqual([])
        expect(w.web.log().includes(form)).toBe(false)
      }
    }
  })

  test('refuses an address that is none or could carry a password, and so does a change', async () => {
    const { id } = await aWebhook()
    const bad = [
      ...['ftp://example.org/x', 'javascript:alert(1)', 'hooks.example/x', '//hooks.example', 'https://', ''],
      ...['https://ada:secret@hooks.example', 'https://ada@hooks.example', 'https://hooks.example/\0'],
      ...['https://hooks.example/\ud800', `https://hooks.example/${'x'.repeat(2000)}`],
    ]
    for (const url of bad)
      for (const answer of [
        await call('POST', '/webhooks', { url }),
        await call('PATCH', `/webhooks/${id}`, { url }),
      ]) {
        expectProblem(answer, 400, 'invalid_request')
        for (const fault of faultsOf(answer)) expect(fault).toMatch(/^url /)
      }
    expect((await call('GET', '/webhooks')).json.data).toMatchObject([{ id, url }])
  })

  test('refuses events that are none, unknown, named twice or no list', async () => {
    const bad = [[], ['post.deleted'], ['webhook.test'], ['post.failed', 'post.failed'], 'post.failed', null]
    for (const events of bad) {
      const answer = await call('POST', '/webhooks', { url, events })
      expectProblem(answer, 400, 'invalid_request')
      for (const fault of faultsOf(answer)) expect(fault).toMatch(/^events/)
    }
  })

  test('listens, unless told otherwise, to all that its credential may read', async () => {
    const eventsFor = async (...scopes: Scope[]) => {
      const made = await call('POST', '/webhooks', { url }, await aKey('webhooks:manage', ...scopes))
      return made.json.events
    }
    expect(await eventsFor('posts:read', 'channels:read')).toEqual(eventTypes)
    expect(await eventsFor('posts:read')).toEqual(eventTypes.filter((type) => type.startsWith('post.')))
    expect(await eventsFor('channels:read')).toEqual(['channel.connected', 'channel.needs_reconnect'])
    expectScope(await call('POST', '/webhooks', { url }, await aKey('webhooks:manage')), 'posts:read')
  })

  test('makes at most 20, however many are asked for at once', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => call('POST', '/webhooks', { url })))
    expect(made.filter(({ status }) => status === 201)).toHaveLength(20)
    for (const answer of made.filter(({ status }) => status !== 201)) expectProblem(answer, 409, 'too_many_webhooks')
    const { data } = (await call('GET', '/webhooks')).json
    expect(data).toHaveLength(20)
    await call('DELETE', `/webhooks/${data[0].id}`)
    await aWebhook()
  })
})

function expectScope(answer: Answer, scope: Scope): void {
  expectProblem(answer, 403, 'insufficient_scope')
  expect(answer.json.detail).toContain(scope)
}

test('what a key may not read it is not told: not of a new webhook, a changed one, another’s turned to it, or a log', async () => {
  const theirs = await aWebhook({ events: ['post.created', 'channel.connected'] })
  await aPost()
  const weak = await aKey('webhooks:manage', 'channels:read')
  const mine = (await call('POST', '/webhooks', { url }, weak)).json
  const elsewhere = { url: 'https://elsewhere.example' }
  for (const answer of [
    await call('POST', '/webhooks', { url, events: ['channel.connected', 'post.failed'] }, weak),
    await call('PATCH', `/webhooks/${mine.id}`, { events: ['post.failed'] }, weak),
    await call('PATCH', `/webhooks/${theirs.id}`, elsewhere, weak),
    await call('POST', `/webhooks/${theirs.id}/rotate`, undefined, weak),
    await call('GET', `/webhooks/${theirs.id}/deliveries`, undefined, weak),
  ])
    expectScope(answer, 'posts:read')
  expect((await call('GET', `/webhooks/${theirs.id}`)).json).toMatchObject({ url, previousSecretUntil: null })
  expect((await call('PATCH', `/webhooks/${mine.id}`, elsewhere, weak)).json).toMatchObject(elsewhere)
})

test('lists go page by page, the oldest webhook first and the newest delivery first, and rows that come meanwhile disturb none', async () => {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await aWebhook()).id)
  expect(await allPages('/webhooks?limit=2', () => aWebhook())).toEqual([...ids, expect.any(String)])
  const path = `/webhooks/${ids[0]}`
  const sent: string[] = []
  for (let i = 0; i < 5; i++) sent.unshift((await call('POST', `${path}/test`)).json.id)
  expect(await allPages(`${path}/deliveries?limit=2`, () => call('POST', `${path}/test`))).toEqual(sent)
  expectProblem(await call('GET', '/webhooks?limit=101'), 400, 'invalid_request')
  expectProblem(await call('GET', `${path}/deliveries?status=SENT`), 400, 'invalid_request')
  expect((await call('GET', `${path}/deliveries?status=DELIVERED`)).json).toEqual({ data: [], nextCursor: null })
})

/** The ids on the page at `path` and on those that its `Link` leads to. `meanwhile` runs after the first. */
async function allPages(path: string, meanwhile?: () => Promise<unknown>): Promise<string[]> {
  const { json, headers } = await call('GET', path)
  const next = /^<.*\/public\/v1(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  expect(next !== undefined).toBe(json.nextCursor !== null)
  await meanwhile?.()
  const ids = json.data.map(({ id }: { id: string }) => id)
  return next ? [...ids, ...(await allPages(next))] : ids
}

describe('PATCH /webhooks/{id}', () => {
  test('changes what is named, and nothing else', async () => {
    const { id } = await aWebhook({ description: 'Order desk' })
    const before = (await call('GET', `/webhooks/${id}`)).json
    for (const change of [{ description: '' }, { url: 'https://other.example' }, { events: ['post.failed'] }]) {
      const changed = await call('PATCH', `/webhooks/${id}`, change)
      expect(changed).toMatchObject({ status: 200, json: Object.assign(before, change) })
    }
    expect((await call('GET', `/webhooks/${id}`)).json).toEqual(before)
    expectProblem(await call('PATCH', `/webhooks/${id}`, { state: 'OFF' }), 400, 'invalid_request')
    expectProblem(await call('PATCH', `/webhooks/${w.channelId}`, {}), 404, 'not_found')
  })

  test('OFF fails the waiting events and stores no new ones; ACTIVE starts again', async () => {
    const { id } = await aWebhook()
    await aPost()
    const off = await call('PATCH', `/webhooks/${id}`, { status: 'OFF' })
    expect(off.json).toMatchObject({ status: 'OFF', offReason: 'person', offSince: expect.stringMatching(/Z$/) })
    const ended = { type: 'post.created', status: 'FAILED', nextAttemptAt: null, attempts: [] }
    expect(await logOf(id)).toMatchObject([ended])
    await aPost()
    expect(await logOf(id)).toHaveLength(1)
    const [{ id: deliveryId }] = await logOf(id)
    for (const path of ['test', `deliveries/${deliveryId}/resend`])
      expectProblem(await call('POST', `/webhooks/${id}/${path}`), 409, 'webhook_off')
    const on = await call('PATCH', `/webhooks/${id}`, { status: 'ACTIVE' })
    expect(on.json).toMatchObject({ status: 'ACTIVE', offReason: null, offSince: null })
    await aPost()
    expect(await logOf(id)).toMatchObject([{ type: 'post.created', status: 'PENDING' }, ended])
  })
})

test('a rotation shows another secret once, says how long the old one holds, and a second ends the first', async () => {
  const { id, secret } = await aWebhook()
  const first = await call('POST', `/webhooks/${id}/rotate`)
  const second = await call('POST', `/webhooks/${id}/rotate`)
  expect([first.status, second.status]).toEqual([200, 200])
  expect(new Set([secret, first.json.secret, second.json.secret]).size).toBe(3)
  const hours = (Date.parse(second.json.previousSecretUntil) - Date.now()) / 3_600_000
  expect(hours).toBeCloseTo(24, 1)
  expect((await call('GET', `/webhooks/${id}`)).text).not.toContain('whsec_')
})

test('a test event and what is sent again are on their way, an event under the id that it had', async () => {
  const { id } = await aWebhook()
  const other = await aWebhook()
  const sent = await call('POST', `/webhooks/${id}/test`)
  expect(sent).toMatchObject({ status: 201, json: { type: 'webhook.test', status: 'PENDING', attempts: [] } })
  for (const status of ['OFF', 'ACTIVE']) await call('PATCH', `/webhooks/${id}`, { status }) // it has failed now
  const resent = await call('POST', `/webhooks/${id}/deliveries/${sent.json.id}/resend`)
  expect(resent).toMatchObject({ status: 200, json: { eventId: sent.json.eventId, status: 'PENDING' } })
  expect(await logOf(id)).toHaveLength(1)
  for (const path of [`${other.id}/deliveries/${sent.json.id}`, `${id}/deliveries/${w.channelId}`])
    expectProblem(await call('POST', `/webhooks/${path}/resend`), 404, 'not_found')
})

test('a deleted webhook loses its log and receives nothing more', async () => {
  const { id } = await aWebhook()
  await call('POST', `/webhooks/${id}/test`)
  expect(await call('DELETE', `/webhooks/${id}`)).toMatchObject({ status: 204, text: '' })
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/rotate'],
    ['GET', '/deliveries'],
  ] as const)
    expectProblem(await call(method, `/webhooks/${id}${path}`), 404, 'not_found')
  await aPost()
  expect((await wholeDatabase(w.db)).get('public.webhook_deliveries.id')).toBe('')
})

test('on the page webhooks are for owners and admins: an editor and a viewer are refused each procedure', async () => {
  const { id } = await aWebhook()
  const delivery = (await call('POST', `/webhooks/${id}/test`)).json
  const attempt = async (role: 'admin' | 'editor' | 'viewer') => {
    const api = apiAs(w.installation, await memberWith(w.installation, w, role)).webhooks
    const calls = [
      ...[api.list({}), api.get({ id }), api.create({ url }), api.update({ id }), api.rotate({ id })],
      ...[api.test({ id }), api.deliveries({ id }), api.resend({ id, deliveryId: delivery.id })],
    ]
    const outcomes = await Promise.all(calls.map(failureOf))
    return new Set([...outcomes, await failureOf(api.remove({ id }))])
  }
  expect(await attempt('editor')).toEqual(new Set(['role_too_low']))
  expect(await attempt('viewer')).toEqual(new Set(['role_too_low']))
  expect(await attempt('admin')).toEqual(new Set(['done']))
})
