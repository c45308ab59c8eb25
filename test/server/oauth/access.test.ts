import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { media } from '../../../db/schema/media.ts'
import { credentialHolder } from '../../../server/access/credentials.ts'
import { problemFrom } from '../../../server/errors.ts'
import { aChannel, aPhoto } from '../../builders.ts'
import { apiAs, type Call, callApi, expectProblem, failureOf, faultsOf } from '../web.ts'
import { anApp, approved, aToken, type Flow, hashOf, openFlow, queryFor } from './flow.ts'

// What an access token reaches at the public API.

let f: Flow
let channels: string[]
let some: string // a token for the first two channels
let all: string // one for all, of the same app
beforeAll(async () => {
  f = await openFlow()
  channels = [await channel(), await channel(), await channel()]
  some = await aToken(f, f.app, { channelIds: channels.slice(0, 2) })
  all = await aToken(f)
})
afterAll(() => f.end())

function channel(organisationId = f.approver.organisationId): Promise<string> {
  return aChannel(f.db, f.site.secretKey, { organisationId, network: 'feed' })
}

const call = (token: string, method: string, path: string, options: Call = {}) =>
  callApi(f.baseUrl, method, path, { key: token, ...options })
const post = (channelIds: string[], more: object = {}) => ({
  ...{ type: 'schedule', date: new Date(Date.now() + 3_600_000).toISOString(), content: 'hello', channelIds },
  ...more,
})
const make = async (token: string, body: object) => (await call(token, 'POST', '/posts', { json: body })).json.id
const idsOf = ({ json }: { json: { data: { id: string }[] } }) => json.data.map(({ id }) => id)

test('a token is taken bare and as Bearer, and says whose it is', async () => {
  const [organisation] = await f.db.execute(
    sql`select id, name from organisations where id = ${f.approver.organisationId}`,
  )
  for (const authorization of [some, `Bearer ${some}`, `bearer ${some}`, `BEARER  ${some}`]) {
    const answer = await call('', 'GET', '/me', { headers: { authorization } })
    expect(answer).toMatchObject({
      status: 200,
      json: { organisation, credential: { kind: 'app', name: 'Shop window' } },
    })
    expect(answer.json.credential.scopes).not.toContain('webhooks:manage')
  }
})

test('a token does what its scopes say and nothing else', async () => {
  const only = async (scope: string) => aToken(f, f.app, {}, queryFor(f.app, { scope }))
  const [reader, writer] = [await only('channels:read'), await only('posts:write posts:read')]
  expect((await call(reader, 'GET', '/channels')).status).toBe(200)
  expectProblem(await call(reader, 'GET', '/posts'), 403, 'insufficient_scope')
  expectProblem(await call(reader, 'POST', '/posts', { json: post(channels) }), 403, 'insufficient_scope')
  expectProblem(await call(writer, 'GET', '/channels'), 403, 'insufficient_scope')
  expectProblem(await call(writer, 'GET', '/media'), 403, 'insufficient_scope')
  expect((await call(writer, 'POST', '/posts', { json: post(channels) })).status).toBe(201)
  expect((await call(reader, 'GET', '/me')).json.credential.scopes).toEqual(['channels:read'])
})

test('a token granted some channels sees no others', async () => {
  expect(idsOf(await call(some, 'GET', '/channels')).sort()).toEqual(channels.slice(0, 2).sort())
  expect((await call(some, 'GET', `/channels/${channels[1]}`)).status).toBe(200)
  expectProblem(await call(some, 'GET', `/channels/${channels[2]}`), 404, 'not_found')
})

test('a token granted all channels sees those connected later, one granted some does not', async () => {
  const later = await channel()
  expect(idsOf(await call(all, 'GET', '/channels'))).toContain(later)
  expectProblem(await call(some, 'GET', `/channels/${later}`), 404, 'not_found')
})

test('it cannot post to a channel that it was not granted: as if there were none', async () => {
  const mixed = [channels[0]!, channels[2]!]
  for (const body of [post(mixed), post(mixed, { type: 'now', date: undefined }), post(mixed, { type: 'draft' })]) {
    const answer = await call(some, 'POST', '/posts', { json: body })
    expectProblem(answer, 422, 'unprocessable')
    expect(faultsOf(answer)).toEqual(['channelIds[1] channel_not_found'])
  }
  const foreign = await channel(f.maker.organisationId)
  expect(faultsOf(await call(all, 'POST', '/posts', { json: post([foreign]) }))).toEqual([
    'channelIds[0] channel_not_found',
  ])
})

test('it sees, lists, changes and cancels a post only when every channel of it is granted', async () => {
  const mixed = await make(all, post([channels[0]!, channels[2]!]))
  const other = await make(all, post([channels[2]!]))
  const within = await make(all, post(channels.slice(0, 2)))
  const listed = idsOf(await call(some, 'GET', '/posts?limit=100'))
  expect(listed).toContain(within)
  for (const id of [mixed, other]) {
    expect(listed).not.toContain(id)
    expectProblem(await call(some, 'GET', `/posts/${id}`), 404, 'not_found')
    expectProblem(await call(some, 'DELETE', `/posts/${id}`), 404, 'not_found')
    expect((await call(all, 'GET', `/posts/${id}`)).json.status).toBe('SCHEDULED')
  }
  expect(idsOf(await call(some, 'GET', `/posts?channelId=${channels[2]}`))).toEqual([])
  expect((await call(some, 'GET', `/posts/${within}`)).status).toBe(200)
  expect((await call(some, 'DELETE', `/posts/${within}`)).status).toBe(204)
})

test('it takes times of a queue for its channels, sees only these channels of it, and changes no queue', async () => {
  const times = [{ weekday: 5, time: '17:30' }]
  const queue = { name: 'Main', timeZone: 'UTC', times, channelIds: channels }
  const { json: made } = await call(all, 'POST', '/queues', { json: queue })
  const queued = (channelIds: string[]) => ({ type: 'queue', content: 'hello', channelIds })
  const taken = await call(some, 'POST', '/posts', { json: queued([channels[1]!]) })
  expect([taken.status, taken.json.queueId]).toEqual([201, made.id])
  const refused = await call(some, 'POST', '/posts', { json: queued([channels[1]!, channels[2]!]) })
  expect(faultsOf(refused)).toEqual(['channelIds[1] channel_not_found'])
  expect((await call(some, 'GET', `/queues/${made.id}`)).json.channelIds).toEqual(channels.slice(0, 2))
  expect((await call(some, 'GET', '/queues')).json.data).toHaveLength(1)
  expect((await call(some, 'GET', `/queues/${made.id}/next?limit=1`)).json.dates).toHaveLength(1)
  for (const [method, path, json] of [
    ['POST', '/queues', queue],
    ['PATCH', `/queues/${made.id}`, { paused: true }],
    ['DELETE', `/queues/${made.id}`, undefined],
  ] as const)
    expectProblem(await call(some, method, path, { json }), 403, 'all_channels_required')
  expect((await call(all, 'DELETE', `/queues/${made.id}`)).status).toBe(204)
})

test('no procedure changes, resends, resolves or explains a post beyond the grant', async () => {
  const id = await make(all, post([channels[2]!]))
  const { actor: holder } = (await credentialHolder(f.db, some))!
  const { posts } = apiAs(f.installation, holder)
  const calls = [
    ...[posts.update({ id, content: 'mine' }), posts.retry({ id }), posts.attempts({ id }), posts.get({ id })],
    posts.resolve({ id, channelId: channels[2]!, outcome: 'cancelled' }),
  ]
  for (const ended of await Promise.all(calls.map(failureOf))) expect(ended).toBe('not_found')
  const ours = await make(some, post([channels[0]!]))
  expect(await failureOf(posts.update({ id: ours, channelIds: [channels[0]!, channels[2]!] }))).toBe('unprocessable')
  expect(await failureOf(posts.update({ id: ours, content: 'mine' }))).toBe('done')
})

test('a draft without channels is seen by a token of some channels only when its own app made it', async () => {
  const draft = { type: 'draft', content: 'later', channelIds: [] }
  const another = await aToken(f, await anApp(f.maker, undefined, 'Another'))
  const [mine, theirs] = [await make(some, draft), await make(another, draft)]
  const listed = idsOf(await call(some, 'GET', '/posts?limit=100'))
  expect(listed).toContain(mine)
  expect(listed).not.toContain(theirs)
  expectProblem(await call(some, 'GET', `/posts/${theirs}`), 404, 'not_found')
  expectProblem(await call(some, 'DELETE', `/posts/${theirs}`), 404, 'not_found')
  expect((await call(all, 'GET', `/posts/${theirs}`)).status).toBe(200)
})

test('what it makes says by which app', async () => {
  const made = await call(some, 'POST', '/posts', { json: post(channels.slice(0, 1)) })
  expect(made.json.createdBy).toEqual({ kind: 'app', id: f.app.id, name: 'Shop window' })
})

const picture = { organisationId: '', kind: 'image', mime: 'image/png', bytes: 1, sha256: '', fileKey: 'x' } as const

/** A picture that somebody else of the organisation added. */
async function aPicture(): Promise<string> {
  const row = { ...picture, organisationId: f.approver.organisationId }
  return (await f.db.insert(media).values(row).returning())[0]!.id
}

test('a token of some channels sees the media that its app added and those of posts that it sees, and no others', async () => {
  const [lone, beyond, within, own, override] = await Promise.all([1, 2, 3, 4, 5].map(aPicture))
  const { actor: holder } = (await credentialHolder(f.db, some))!
  await f.db.update(media).set({ createdById: holder.id }).where(eq(media.id, own!))
  await make(all, post([channels[2]!], { mediaIds: [beyond] }))
  await make(all, post([channels[0]!], { mediaIds: [within] }))
  await make(all, post([channels[0]!], { overrides: [{ channelId: channels[0], mediaIds: [override] }] }))
  const listed = idsOf(await call(some, 'GET', '/media?limit=100'))
  expect(listed.sort()).toEqual([within, own, override].sort())
  expect(idsOf(await call(all, 'GET', '/media?limit=100'))).toHaveLength(5)
  for (const id of [lone, beyond]) {
    expectProblem(await call(some, 'GET', `/media/${id}`), 404, 'not_found')
    expectProblem(await call(some, 'PATCH', `/media/${id}`, { json: { alt: 'mine' } }), 404, 'not_found')
    const body = post([channels[0]!], { mediaIds: [id] })
    expect(faultsOf(await call(some, 'POST', '/posts', { json: body }))).toEqual(['mediaIds[0] media_not_found'])
  }
  for (const id of [within, own, override]) {
    expect((await call(some, 'GET', `/media/${id}`)).status).toBe(200)
    const body = post([channels[0]!], { mediaIds: [id] })
    expect((await call(some, 'POST', '/posts', { json: body })).status).toBe(201)
  }
})

test('what a token adds it sees, and the organisation too', async () => {
  const path = join(f.site.dataDir, 'red.png')
  await writeFile(path, await aPhoto())
  const { actor: holder } = (await credentialHolder(f.db, some))!
  const { id } = await apiAs(f.installation, holder).media.create({ path })
  for (const token of [some, all]) expect((await call(token, 'GET', `/media/${id}`)).status).toBe(200)
})

test('an Idempotency-Key is an app’s own: another with the same key makes its own post', async () => {
  const another = await aToken(f, await anApp(f.maker, undefined, 'Another'))
  const body = { json: post([channels[0]!]), headers: { 'idempotency-key': 'order-1' } }
  const [first, theirs, again] = [
    await call(all, 'POST', '/posts', body),
    await call(another, 'POST', '/posts', body),
    await call(some, 'POST', '/posts', body),
  ]
  expect([first.status, theirs.status, again.status]).toEqual([201, 201, 201])
  expect(theirs.json).toMatchObject({ createdBy: { name: 'Another' } })
  expect(theirs.headers.get('idempotent-replayed')).toBe(null)
  expect(again.json.id).toBe(first.json.id) // another token of the same app
})

test('an Idempotency-Key replays no post to a token that may not see it', async () => {
  const headers = { 'idempotency-key': 'shared' }
  const body = { json: post([channels[2]!]), headers }
  expect((await call(all, 'POST', '/posts', body)).status).toBe(201)
  expectProblem(await call(some, 'POST', '/posts', body), 422, 'idempotency_key_reused')
})

test('a token reaches one organisation only, also where its approver belongs to more', async () => {
  const home = f.approver.organisationId
  const other = f.maker.organisationId
  await f.db.execute(sql`
    insert into memberships (organisation_id, account_id, role) values (${other}, ${f.approver.accountId}, 'owner')`)
  const sides = [
    { channelId: channels[0]!, token: await aToken(f, f.app, { organisationId: home }) },
    { channelId: await channel(other), token: await aToken(f, f.app, { organisationId: other }) },
  ]
  const posts = [
    await make(sides[0]!.token, post([sides[0]!.channelId])),
    await make(sides[1]!.token, post([sides[1]!.channelId])),
  ]
  for (const [mine, { token, channelId }] of sides.entries()) {
    expect((await call(token, 'GET', `/posts/${posts[mine]}`)).status).toBe(200)
    expectProblem(await call(token, 'GET', `/posts/${posts[1 - mine]}`), 404, 'not_found')
    expectProblem(await call(token, 'DELETE', `/posts/${posts[1 - mine]}`), 404, 'not_found')
    expect(idsOf(await call(token, 'GET', '/posts?limit=100'))).not.toContain(posts[1 - mine])
    const seen = idsOf(await call(token, 'GET', '/channels'))
    expect([seen.includes(channelId), seen.includes(sides[1 - mine]!.channelId)]).toEqual([true, false])
  }
})

test('its last use is kept, and shown under Approved apps', async () => {
  const app = await anApp(f.maker, undefined, 'Idle')
  const lineOf = async () => (await f.approver.api.approvedApps.list()).find(({ id }) => id === app.id)
  const token = await aToken(f, app, { channelIds: [channels[0]!] })
  expect(await lineOf()).toMatchObject({ lastUsedAt: null, tokens: 1, channels: [{ id: channels[0] }] })
  await call(token, 'GET', '/me')
  const { lastUsedAt } = (await lineOf())!
  expect(Date.now() - Date.parse(lastUsedAt!)).toBeLessThan(20_000)
  await f.db.execute(sql`
    update access_tokens set last_used_at = now() - interval '2 minutes' where token_hash = ${hashOf(token)}`)
  await call(token, 'GET', '/me')
  expect(Date.parse((await lineOf())!.lastUsedAt!)).toBeGreaterThanOrEqual(Date.parse(lastUsedAt!))
})

test('channels of a consent are those of the chosen organisation, at least one, each once', async () => {
  const foreign = await channel(f.maker.organisationId)
  const statusFor = (channelIds: string[]) =>
    approved(f, queryFor(f.app), { channelIds }).then(
      () => 'done',
      (error) => problemFrom(error).status,
    )
  for (const channelIds of [[], [channels[0]!, channels[0]!]]) expect(await statusFor(channelIds)).toBe(400)
  for (const channelIds of [[foreign], [channels[0]!, foreign]]) expect(await statusFor(channelIds)).toBe(422)
})
