import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { eq, type SQL, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { channels } from '../../../db/schema/channels.ts'
import { accessTokens, apps, grants } from '../../../db/schema/oauth.ts'
import { atCommandLine } from '../../../server/access/audit.ts'
import { scopes } from '../../../server/access/scopes.ts'
import { digest, mintAccessToken } from '../../../server/access/secrets.ts'
import { createKey } from '../../../server/accounts/api-keys.ts'
import type { FailureCode } from '../../../server/error-catalogue.ts'
import { suspendOrganisation } from '../../../server/operations/suspension.ts'
import type { Route } from '../../../server/rest/endpoint.ts'
import { routes } from '../../../server/rest/routes.ts'
import { aKeyOfAllScopes, anOrganisation, aPhoto } from '../../builders.ts'
import { testDatabase } from '../../postgres/database.ts'
import { startWeb, testSite } from '../../processes.ts'
import { aDoor } from '../../stand-ins/door.ts'
import { aQueue } from '../queues/queue-calls.ts'
import { type Answer, type Call, callApi, type Web, webWithChannel } from '../web.ts'
import { type Documented, readDocument } from './documented.ts'

// Each refusal that the OpenAPI document names for a route is brought about, and must be as it says.

type Provoke = (route: Route) => Promise<Answer>
const Nothing = '01890000-0000-7000-8000-000000000000'

const w = webWithChannel()
let d: Documented
let limited: string
let tiny: string
let away: string
let broken: string
let suspended: string
const ends: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  d = await readDocument(w)
  limited = await aSite(w.site.databaseUrl, { RATE_LIMIT: '1' })
  tiny = await aSite(w.site.databaseUrl, { STORAGE_QUOTA: '50' })
  const stopped = await anOrganisation(w.db)
  suspended = await aKeyOfAllScopes(w.db, stopped)
  await suspendOrganisation(w.db, atCommandLine, stopped.organisationId)
  const door = await aDoor(w.site.databaseUrl)
  away = await aSite(door.url)
  await door.shut()
  const other = await testDatabase()
  ends.push(other.end)
  broken = await aSite(other.url)
  await other.db.execute(sql`alter table api_keys rename to lost`)
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

async function aSite(databaseUrl: string, env: Record<string, string> = {}): Promise<string> {
  const site = await testSite(databaseUrl, env)
  const web = await startWeb(site)
  ends.push(site.end, web.stop)
  return site.appUrl
}

const documented = (route: Route) =>
  Object.entries(d.operationOf(route).responses).flatMap(([status, { content }]) =>
    status < '400' ? [] : Object.keys(content!['application/problem+json']!.examples!),
  ) as FailureCode[]

test.each(routes)('$method $path: each refusal that is documented can be met, and is as documented', async (route) => {
  for (const code of documented(route)) {
    const provoke = special[`${route.method} ${route.path} ${code}`] ?? general[code]
    expect(provoke, `nobody knows how to bring about ${code}`).toBeDefined()
    const answer = await provoke!(route)
    expect([code, answer.json?.code]).toEqual([code, code])
    d.expectDocumented(route, answer)
  }
})

/** A call of the route as the document's example has it, of a thing that is not there. */
function ask(
  { method, path, body, example }: Route,
  options: Call & { at?: string; method?: string; query?: string } = {},
) {
  const { at = w.site.appUrl, query = '', ...rest } = options
  const sent =
    body === 'json' && rest.body === undefined ? { json: example } : body === 'file' ? { body: aFile('x') } : {}
  const nowhere = path.replaceAll(/:\w+/g, Nothing) + query
  return callApi(at, options.method ?? method.toUpperCase(), nowhere, { key: w.key, ...sent, ...rest })
}

function aFile(content: BlobPart): FormData {
  const form = new FormData()
  form.append('file', new Blob([content]))
  return form
}

const general: Partial<Record<FailureCode, Provoke>> = {
  method_not_allowed: (route) => ask(route, { method: 'PUT' }),
  invalid_request: (route) => ask(route, { query: '?nonsense=1' }),
  unauthenticated: (route) => ask(route, { key: '' }),
  rate_limited: async (route) => {
    await ask(route, { at: limited })
    return ask(route, { at: limited })
  },
  internal: (route) => ask(route, { at: broken }),
  unavailable: (route) => ask(route, { at: away }),
  insufficient_scope: async (route) => {
    const answers = await Promise.all([
      ask(route, { key: await keyFor('posts:read') }),
      ask(route, { key: await keyFor('media:read') }),
    ])
    return answers.find(({ status }) => status === 403) ?? answers[0]
  },
  organisation_suspended: (route) => ask(route, { key: suspended }),
  not_found: (route) => ask(route),
  body_too_large: (route) => ask(route, { json: { x: 'x'.repeat(256 * 1024) } }),
  unsupported_media_type: (route) => ask(route, { body: 'x', headers: { 'content-type': 'text/plain' } }),
}

async function keyFor(scope: 'posts:read' | 'media:read'): Promise<string> {
  const { organisationId, accountId: createdBy } = w
  return (await createKey(w.db, { organisationId, createdBy, name: scope, scopes: [scope], expiresAt: null })).key
}

const call: Web['call'] = (...asked) => w.call(...asked) // it is there once the process is

async function aPost(state?: SQL): Promise<string> {
  const date = new Date(Date.now() + 3_600_000)
  const json = { type: 'schedule', date, content: 'hello', channelIds: [w.channelId] }
  const id = (await call('POST', '/posts', { json })).json.id as string
  if (state) await w.db.execute(sql`update deliveries set ${state} where post_id = ${id}`)
  return id
}

const maybeOut = sql`maybe_out = true, prepared = '{}'`
const published = sql`state = 'published', published_at = now(), evidence = 'person'`
const failed = sql`state = 'failed'`
const inDoubt = sql`state = 'needs_review'`
const edit = (id: string) => call('PATCH', `/posts/${id}`, { json: { content: 'x' } })
const remove = (id: string) => call('DELETE', `/posts/${id}`)
const retry = (id: string, more: Call = {}) => call('POST', `/posts/${id}/retry`, more)
const resolve = (id: string, json: object, more: Call = {}) =>
  call('POST', `/posts/${id}/deliveries/${w.channelId}/resolve`, { json, ...more })
const fromNowhere = (more: Call = {}) =>
  call('POST', '/media/upload-from-url', { json: { url: 'http://127.0.0.1:9' }, ...more })
const draft = () => ({ type: 'draft', content: 'x', channelIds: [] as string[] })
const another = { headers: { 'if-match': '"7"' } }
const keyed = { headers: { 'idempotency-key': 'one' } }

async function whileUnconnected(ask: () => Promise<Answer>): Promise<Answer> {
  const isOurs = eq(channels.id, w.channelId)
  await w.db.update(channels).set({ status: 'needs_reconnect' }).where(isOurs)
  const answer = await ask()
  await w.db.update(channels).set({ status: 'active' }).where(isOurs)
  return answer
}

/** What is asked while another request with the same Idempotency-Key is under way on `route`. */
async function whileUnderWay(route: string, ask: () => Promise<Answer>): Promise<Answer> {
  const name = JSON.stringify([w.organisationId, route, 'one'])
  return w.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
    return ask()
  })
}

/** What is asked when the key was used for something else on `route`. */
async function afterAnother(route: string, ask: () => Promise<Answer>): Promise<Answer> {
  await w.db.execute(sql`
    insert into idempotency_keys (organisation_id, route, key, body_hash, body)
    values (${w.organisationId}, ${route}, 'one', 'another', '{}')`)
  return ask()
}

async function aTokenOfOneChannel(): Promise<string> {
  const { organisationId } = w
  const made = { organisationId, clientId: crypto.randomUUID(), name: 'app', redirectUris: ['https://app.example/'] }
  const [app] = await w.db.insert(apps).values(made).returning()
  const channelIds = [w.channelId]
  const granted = { organisationId, appId: app!.id, approvedByName: 'Ada', scopes: [...scopes], channelIds }
  const [grant] = await w.db.insert(grants).values(granted).returning()
  const token = mintAccessToken()
  const ids = { organisationId, appId: app!.id, grantId: grant!.id }
  await w.db.insert(accessTokens).values({ ...ids, tokenHash: digest(token) })
  return token
}

async function aWebhook(): Promise<string> {
  await w.db.execute(sql`delete from webhooks`)
  return (await call('POST', '/webhooks', { json: { url: 'https://hooks.punctual.test/' } })).json.id
}

const special: Record<string, Provoke> = {
  'post /posts unprocessable': () => call('POST', '/posts', { json: { ...draft(), channelIds: ['x'] } }),
  'post /posts idempotency_key_in_use': () =>
    whileUnderWay('POST /posts', () => call('POST', '/posts', { json: draft(), ...keyed })),
  'post /posts idempotency_key_reused': () =>
    afterAnother('POST /posts', () => call('POST', '/posts', { json: draft(), ...keyed })),
  'patch /posts/:id post_already_publishing': async () => edit(await aPost(maybeOut)),
  'patch /posts/:id post_already_published': async () => edit(await aPost(published)),
  'patch /posts/:id post_needs_review': async () => edit(await aPost(inDoubt)),
  'patch /posts/:id post_already_cancelled': async () => {
    const id = await aPost()
    await remove(id)
    return edit(id)
  },
  'patch /posts/:id unprocessable': async () => call('PATCH', `/posts/${await aPost()}`, { json: { content: '' } }),
  'patch /posts/:id stale_version': async () =>
    call('PATCH', `/posts/${await aPost()}`, { json: { content: 'x' }, ...another }),
  'delete /posts/:id stale_version': async () => call('DELETE', `/posts/${await aPost()}`, another),
  'post /posts/:id/retry stale_version': async () => retry(await aPost(failed), another),
  'post /posts/:id/deliveries/:channelId/resolve stale_version': async () =>
    resolve(await aPost(inDoubt), { outcome: 'cancelled' }, another),
  'delete /posts/:id post_already_publishing': async () => remove(await aPost(maybeOut)),
  'delete /posts/:id post_already_published': async () => remove(await aPost(published)),
  'delete /posts/:id post_needs_review': async () => remove(await aPost(inDoubt)),
  'delete /posts/:id post_already_cancelled': async () => {
    const id = await aPost()
    await remove(id)
    return remove(id)
  },
  'post /posts/:id/retry nothing_to_retry': async () => retry(await aPost()),
  'post /posts/:id/retry unprocessable': async () => {
    const id = await aPost(failed)
    return whileUnconnected(() => retry(id))
  },
  'post /posts/:id/retry idempotency_key_in_use': async () => {
    const id = await aPost(failed)
    return whileUnderWay(`POST /posts/${id}/retry`, () => retry(id, keyed))
  },
  'post /posts/:id/retry idempotency_key_reused': async () => {
    const id = await aPost(failed)
    return afterAnother(`POST /posts/${id}/retry`, () => retry(id, keyed))
  },
  'post /posts/:id/deliveries/:channelId/resolve nothing_to_resolve': async () =>
    resolve(await aPost(), { outcome: 'cancelled' }),
  'post /posts/:id/deliveries/:channelId/resolve unprocessable': async () => {
    const id = await aPost(inDoubt)
    return whileUnconnected(() => resolve(id, { outcome: 'not_published' }))
  },
  'post /posts/:id/deliveries/:channelId/resolve idempotency_key_in_use': async () => {
    const id = await aPost(inDoubt)
    const route = `POST /posts/${id}/deliveries/${w.channelId}/resolve`
    return whileUnderWay(route, () => resolve(id, { outcome: 'cancelled' }, keyed))
  },
  'post /posts/:id/deliveries/:channelId/resolve idempotency_key_reused': async () => {
    const id = await aPost(inDoubt)
    const route = `POST /posts/${id}/deliveries/${w.channelId}/resolve`
    return afterAnother(route, () => resolve(id, { outcome: 'cancelled' }, keyed))
  },
  'post /media media_not_accepted': () => call('POST', '/media', { body: aFile('x') }),
  'post /media storage_full': async () => callApi(tiny, 'POST', '/media', { key: w.key, body: aFile(await aPhoto()) }),
  'post /media/upload-from-url storage_full': async () => {
    const { url } = (await call('POST', '/media', { body: aFile(await aPhoto()) })).json
    return callApi(tiny, 'POST', '/media/upload-from-url', { key: w.key, json: { url } })
  },
  'post /media body_too_large': () => call('POST', '/media', { body: aFile(`GIF89a${'x'.repeat(20 * 1024 * 1024)}`) }),
  'post /media upload_too_slow': () => {
    const begun = '--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n'
    const body = new ReadableStream({ start: (sent) => sent.enqueue(Buffer.from(begun)) }) // and nothing more
    return call('POST', '/media', { body, headers: { 'content-type': 'multipart/form-data; boundary=x' } })
  },
  'post /media/upload-from-url media_fetch_failed': () => fromNowhere(),
  'post /media/upload-from-url idempotency_key_in_use': () =>
    whileUnderWay('POST /media/upload-from-url', () => fromNowhere(keyed)),
  'post /media/upload-from-url idempotency_key_reused': () =>
    afterAnother('POST /media/upload-from-url', () => fromNowhere(keyed)),
  'delete /media/:id media_in_use': async () => {
    const form = aFile(await aPhoto())
    const { id } = (await call('POST', '/media', { body: form })).json
    await call('POST', '/posts', { json: { ...draft(), mediaIds: [id] } })
    return call('DELETE', `/media/${id}`)
  },
  'post /queues all_channels_required': async (route) => ask(route, { key: await aTokenOfOneChannel() }),
  'patch /queues/:id all_channels_required': async (route) => ask(route, { key: await aTokenOfOneChannel() }),
  'delete /queues/:id all_channels_required': async (route) => ask(route, { key: await aTokenOfOneChannel() }),
  'post /queues unprocessable': (route) => ask(route),
  'post /queues too_many_queues': async (route) => {
    const { id } = await aQueue(w)
    await w.db.execute(sql`
      insert into queues (id, organisation_id, name, is_default, time_zone, times)
      select gen_random_uuid(), q.organisation_id, 'x' || n, false, 'UTC', '[]'
      from queues q, generate_series(1, 50) as n where q.id = ${id}`)
    const answer = await ask(route)
    await w.db.execute(sql`delete from queues`)
    return answer
  },
  'patch /queues/:id unprocessable': async () => {
    const { id } = await aQueue(w)
    const answer = await call('PATCH', `/queues/${id}`, { json: { channelIds: [Nothing] } })
    await w.db.execute(sql`delete from queues`)
    return answer
  },
  'delete /queues/:id queue_is_default': async () => {
    const { id } = await aQueue(w)
    await aQueue(w, { name: 'Other' })
    const answer = await call('DELETE', `/queues/${id}`)
    await w.db.execute(sql`delete from queues`)
    return answer
  },
  'post /webhooks too_many_webhooks': async () => {
    const json = { url: 'https://hooks.punctual.test/' }
    const answers = await Promise.all(Array.from({ length: 21 }, () => call('POST', '/webhooks', { json })))
    await w.db.execute(sql`delete from webhooks`)
    return answers.find(({ status }) => status !== 201) ?? answers[0]!
  },
  'post /webhooks/:id/test webhook_off': async () => {
    const id = await aWebhook()
    await call('PATCH', `/webhooks/${id}`, { json: { status: 'OFF' } })
    return call('POST', `/webhooks/${id}/test`)
  },
  'post /webhooks/:id/deliveries/:deliveryId/resend webhook_off': async () => {
    const id = await aWebhook()
    const delivery = (await call('POST', `/webhooks/${id}/test`)).json.id
    await call('PATCH', `/webhooks/${id}`, { json: { status: 'OFF' } })
    return call('POST', `/webhooks/${id}/deliveries/${delivery}/resend`)
  },
}

test('who is refused while still sending reads why, and the connection can be used again', async () => {
  const body = `--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n${'x'.repeat(8_000_000)}\r\n--x--\r\n`
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: 'pak_live_x', 'content-type': 'multipart/form-data; boundary=x' }
  const ports = new Set<number | undefined>()
  for (let i = 0; i < 30; i++) {
    const refused = await over(agent, 'POST', '/media', headers, body)
    expect(refused).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
    ports.add(refused.port)
  }
  const taken = await over(agent, 'GET', '/me', { authorization: w.key })
  expect(taken).toMatchObject({ status: 200, json: { organisation: { id: w.organisationId } } })
  expect([...ports.add(taken.port)]).toEqual([expect.any(Number)])
  agent.destroy()
})

/** Ask over a connection of `agent`. `port` is this end's: another connection would have another. */
async function over(agent: Agent, method: string, path: string, headers: Record<string, string>, body = '') {
  const asked = request(`${w.site.appUrl}/public/v1${path}`, { agent, method, headers }).end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const { port } = answer.socket.address() as AddressInfo
  return { status: answer.statusCode, port, json: await json(answer) }
}
