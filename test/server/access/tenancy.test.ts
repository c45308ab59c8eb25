import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../../db/schema/accounts.ts'
import { type Actor, credentialHolder } from '../../../server/access/credentials.ts'
import { appRouter } from '../../../server/router.ts'
import { anOrganisation } from '../../builders.ts'
import { aHouse, belongingsOf, type House, idNames, newThings, Password } from '../house.ts'
import { apiAs, expectProblem, openWeb, type Web } from '../web.ts'

const Operator = 'operator@example.org'
const roles: Role[] = ['viewer', 'editor', 'admin', 'owner']

let w: Web
let ours: House
let theirs: House
let postOfOurs = ''
beforeAll(async () => {
  w = await openWeb({ AUTH_RATE_LIMIT: '0', OPERATORS: Operator })
  ours = await aHouse(w)
  theirs = await aHouse(w)
  postOfOurs = (await newThings(w, ours)).postId
})
afterAll(() => w.end())

/** New things of a house, and a post of ours to put them into. */
const thingsOf = async (house: House) => ({ ...(await newThings(w, house)), ownPostId: postOfOurs })
type Things = Awaited<ReturnType<typeof thingsOf>>

/**
 * A procedure, called with ids of `t`: who may (the least role; `key`: also an API key with its scope; `anybody`), how
 * it ends with one's own ids, and with an id of somebody else or of nothing.
 */
type Case = {
  may: Role | 'anybody'
  key?: true
  with?: (t: Things) => unknown
  own?: string
  missing?: string
  granted?: string // how it ends for a token of another channel, if not as `missing` or not_found
}
const read = { may: 'viewer', key: true, missing: 'not_found' } as const
const write = { may: 'editor', key: true, missing: 'not_found' } as const
const hook = { may: 'admin', key: true, missing: 'not_found' } as const
const text = { content: 'x' }
const aCopy = {
  ...{ isNew: false, revision: 0, postVersion: 1, ...text },
  ...{ channelIds: [], mediaIds: [], alts: {}, date: '', time: '' },
}
const aNewQueue = { timeZone: 'UTC', times: [] }
const inHours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString()
const anApp = { name: 'x', redirectUris: ['https://x.example/back'] }

const cases: Record<string, Case> = {
  'account.signIn': { may: 'anybody', with: (t) => ({ email: t.email, password: Password }) },
  'account.signOut': { may: 'viewer' },
  'account.signOutEverywhere': { may: 'viewer' },
  'account.show': { may: 'viewer' },
  'account.whoami': { may: 'viewer', key: true },
  'account.update': { may: 'viewer', with: (t) => ({ name: 'Ada', email: t.email, timeZone: 'UTC' }) },
  'account.changePassword': { may: 'viewer', with: () => ({ current: Password, password: Password }) },
  'account.switchOrganisation': { may: 'viewer', with: (t) => ({ id: t.organisationId }), missing: 'not_found' },
  'activity.list': { may: 'admin', with: () => ({}) },
  'approvedApps.list': { may: 'viewer' },
  'approvedApps.revoke': { may: 'admin', with: (t) => ({ id: t.appId }), missing: 'not_found' },
  'apps.list': { may: 'admin' },
  'apps.get': { may: 'admin', with: (t) => ({ id: t.appId }), missing: 'not_found' },
  'apps.create': { may: 'admin', with: () => anApp },
  'apps.update': { may: 'admin', with: (t) => ({ ...anApp, id: t.appId }), missing: 'not_found' },
  'apps.setPicture': { may: 'admin', with: (t) => ({ id: t.appId, path: t.path }), missing: 'not_found' },
  'apps.removePicture': { may: 'admin', with: (t) => ({ id: t.appId }), missing: 'not_found' },
  'apps.rotate': { may: 'admin', with: (t) => ({ id: t.appId }), missing: 'not_found' },
  'apps.delete': { may: 'admin', with: (t) => ({ id: t.appId, name: 'app' }), missing: 'not_found' },
  'authorize.begin': { may: 'anybody', with: () => ({ query: 'client_id=x' }) },
  'authorize.decide': { may: 'viewer', with: () => ({ request: 'x', decision: 'deny' }), own: 'consent_expired' },
  'calendar.list': {
    ...{ ...read, missing: 'done' },
    with: (t) => ({ from: '2031-01-01T00:00:00Z', to: '2031-02-01T00:00:00Z', channelId: t.channelId }),
  },
  'calendar.freeTimes': {
    ...{ ...read, missing: 'done' },
    with: (t) => ({ from: inHours(0), to: inHours(24), channelId: t.channelId }),
  },
  'calendar.tags': { may: 'viewer', key: true },
  'calendar.moveTo': {
    ...write,
    with: (t) => ({ id: t.postId, date: inHours(24), queueId: null }),
  },
  'channels.list': { may: 'viewer', key: true, with: () => ({}) },
  'channels.get': { ...read, with: (t) => ({ id: t.channelId }) },
  'channels.unsent': { ...read, with: (t) => ({ id: t.channelId }) },
  'channels.counts': { ...read, with: (t) => ({ id: t.channelId }) },
  'channels.known': { may: 'admin', with: (t) => ({ id: t.channelId }), missing: 'not_found' },
  'channels.networks': { may: 'viewer', key: true },
  'channels.previews': { may: 'viewer', key: true },
  'channels.connect': {
    ...{ may: 'admin', missing: 'not_found' },
    with: (t) => ({ network: 'feed', channelId: t.channelId, input: { name: 'Feed' } }),
  },
  'channels.finish': {
    ...{ may: 'admin', own: 'connect_failed', missing: 'connect_failed' },
    with: (t) => ({ state: t.state, code: 'x' }),
  },
  'channels.disconnect': { may: 'admin', with: (t) => ({ id: t.channelId, unsent: 'cancel' }), missing: 'not_found' },
  'feeds.show': { may: 'anybody', with: (t) => ({ channelId: t.channelId }) },
  'feeds.item': { may: 'anybody', with: (t) => ({ channelId: t.channelId, itemId: t.postId }), own: 'not_found' },
  'feeds.atom': { may: 'anybody', with: (t) => ({ channelId: t.channelId }) },
  'feeds.json': { may: 'anybody', with: (t) => ({ channelId: t.channelId }) },
  'keys.list': { may: 'admin' },
  'keys.create': { may: 'admin', with: () => ({ name: 'x' }) },
  'keys.revoke': { may: 'admin', with: (t) => ({ id: t.keyId }), missing: 'not_found' },
  'mail.show': { may: 'viewer' },
  'mail.choose': { may: 'viewer', with: () => ({ wantsNotices: 'on' }) },
  'mail.sendAgain': { may: 'viewer', own: 'no_mail' },
  'mail.verify': { may: 'anybody', with: () => ({ token: 'x' }), own: 'link_expired' },
  'media.create': { may: 'editor', key: true, with: (t) => ({ path: t.path }) },
  'media.uploadFromUrl': {
    may: 'editor',
    key: true,
    with: () => ({ url: 'http://127.0.0.1:9' }),
    own: 'media_fetch_failed',
  },
  'media.list': { may: 'viewer', key: true, with: () => ({}) },
  'media.get': { ...read, with: (t) => ({ id: t.mediaId }) },
  'media.some': { ...read, with: (t) => ({ ids: [t.mediaId] }), missing: 'done' },
  'media.ofPost': { ...read, with: (t) => ({ postId: t.postId }), missing: 'done' },
  'media.remove': { ...write, with: (t) => ({ id: t.mediaId }) },
  'media.update': { ...write, with: (t) => ({ id: t.mediaId, alt: 'x' }) },
  'newAddress.show': { may: 'viewer', with: () => ({ token: 'x' }) },
  'newAddress.use': { may: 'viewer', with: () => ({ token: 'x' }), own: 'link_expired' },
  'newAddress.sendAgain': { may: 'viewer', own: 'no_mail' },
  'newAddress.drop': { may: 'viewer' },
  'passwordReset.request': { may: 'anybody', with: (t) => ({ email: t.email }), own: 'no_mail' },
  'passwordReset.check': { may: 'anybody', with: () => ({ token: 'x' }) },
  'passwordReset.redeem': {
    may: 'anybody',
    with: () => ({ token: 'x', password: Password }),
    own: 'link_expired',
  },
  'posts.create': {
    ...{ ...write, missing: 'unprocessable' },
    with: (t) => ({ ...text, type: 'now', channelIds: [t.channelId], mediaIds: [t.mediaId] }),
  },
  'posts.validate': {
    ...{ ...write, missing: 'done' },
    with: (t) => ({ ...text, type: 'now', channelIds: [t.channelId], mediaIds: [t.mediaId] }),
  },
  'posts.list': { ...read, with: (t) => ({ channelId: t.channelId }), missing: 'done' },
  'posts.list of queue': { ...read, with: (t) => ({ queueId: t.queueId }), missing: 'done' },
  'posts.find in queue': { ...read, with: (t) => ({ queueId: t.queueId }), missing: 'done' },
  'posts.count': { may: 'viewer', key: true, with: () => ({ status: ['SCHEDULED'] }) },
  'posts.find': { ...read, key: true, with: (t) => ({ channelId: t.channelId }), missing: 'done' },
  'posts.findableBy': { may: 'viewer', key: true },
  'posts.get': { ...read, with: (t) => ({ id: t.postId }) },
  'posts.update': { ...write, with: (t) => ({ ...text, id: t.postId }) },
  'posts.update to': {
    ...{ ...write, missing: 'unprocessable' },
    with: (t) => ({ id: t.ownPostId, channelIds: [t.channelId], mediaIds: [t.mediaId] }),
  },
  'posts.cancel': { ...write, with: (t) => ({ id: t.postId }) },
  'posts.restore': { ...write, with: (t) => ({ id: t.postId }) },
  'posts.scheduleAgain': { ...write, with: (t) => ({ id: t.postId, channelIds: [t.channelId] }), own: 'done' },
  'posts.retry': { ...write, with: (t) => ({ id: t.postId }), own: 'nothing_to_retry' },
  'posts.resolve': {
    ...{ ...write, own: 'nothing_to_resolve' },
    with: (t) => ({ id: t.postId, channelId: t.channelId, outcome: 'not_published' }),
  },
  'workingCopies.get': { may: 'viewer', with: (t) => ({ id: t.postId }), missing: 'done' },
  'workingCopies.isSent': { may: 'viewer', with: (t) => ({ id: t.postId }), missing: 'done' },
  'workingCopies.isElsewhere': { may: 'viewer', with: (t) => ({ id: t.postId }), missing: 'done' },
  'workingCopies.list': { may: 'viewer' },
  'workingCopies.lastChannels': { may: 'viewer' },
  'workingCopies.save': {
    ...{ may: 'editor', missing: 'not_found' },
    with: (t) => ({ ...aCopy, id: t.postId }),
  },
  'workingCopies.discard': { may: 'editor', with: (t) => ({ id: t.postId }), missing: 'done' },
  'workingCopies.create': {
    ...{ may: 'editor', missing: 'unprocessable' },
    with: (t) => ({
      id: uuidv7(),
      post: { ...text, type: 'now', channelIds: [t.channelId], mediaIds: [t.mediaId] },
    }),
  },
  'workingCopies.update': {
    ...{ may: 'editor', missing: 'not_found' },
    with: (t) => ({ change: { ...text, id: t.postId } }),
  },
  'posts.create in queue': {
    ...{ ...write, missing: 'unprocessable' },
    with: (t) => ({ ...text, type: 'queue', queueId: t.queueId, channelIds: [t.channelId] }),
  },
  'posts.validate in queue': {
    ...{ ...write, missing: 'done' },
    with: (t) => ({ ...text, type: 'queue', queueId: t.queueId, channelIds: [t.channelId] }),
  },
  'queues.list': { may: 'viewer', key: true, with: () => ({}) },
  'queues.get': { ...read, with: (t) => ({ id: t.queueId }) },
  'queues.create': {
    ...{ ...write, missing: 'unprocessable', granted: 'all_channels_required' },
    with: (t) => ({ ...aNewQueue, name: uuidv7(), channelIds: [t.channelId] }),
  },
  'queues.update': { ...write, with: (t) => ({ id: t.queueId, name: 'x' }) },
  'queues.update to': {
    ...{ ...write, missing: 'unprocessable', granted: 'all_channels_required' },
    with: (t) => ({ id: t.ownQueueId, channelIds: [t.channelId] }),
  },
  'queues.addTimes': { ...write, with: (t) => ({ id: t.queueId, times: [{ weekday: 7, time: '23:59' }] }) },
  'queues.removeTime': { ...write, with: (t) => ({ id: t.queueId, time: { weekday: 7, time: '23:59' } }) },
  'queues.remove': { ...write, with: (t) => ({ id: t.queueId }) },
  'queues.next': { ...read, with: (t) => ({ id: t.queueId }) },
  'queues.waiting': { ...read, with: (t) => ({ id: t.queueId }) },
  'queues.moves': { ...read, with: (t) => ({ id: t.queueId }) },
  'queues.move': { ...write, own: 'queue_changed', with: (t) => ({ id: t.queueId, moves: [] }) },
  'queues.reorder': { ...write, with: (t) => ({ id: t.queueId, postIds: [t.ownQueuedId] }) },
  'queues.reorder of': {
    ...{ ...write, missing: 'queue_changed' },
    with: (t) => ({ id: t.ownQueueId, postIds: [t.queuedId] }),
  },
  'signUp.begin': {
    may: 'anybody',
    with: () => ({ name: 'x', email: `${uuidv7()}@example.org`, password: Password, organisation: 'x', next: '/' }),
  },
  'signUp.show': { may: 'anybody', with: () => ({ token: 'x' }) },
  'signUp.finish': { may: 'anybody', with: () => ({ token: 'x', password: Password }), own: 'link_expired' },
  'webhooks.list': { ...hook, missing: 'done', with: () => ({}) },
  'webhooks.get': { ...hook, with: (t) => ({ id: t.webhookId }) },
  'webhooks.create': { ...hook, with: () => ({ url: 'https://hooks.example/', events: ['post.failed'] }) },
  'webhooks.update': { ...hook, with: (t) => ({ id: t.webhookId, status: 'OFF' }) },
  'webhooks.remove': { ...hook, with: (t) => ({ id: t.webhookId }) },
  'webhooks.rotate': { ...hook, with: (t) => ({ id: t.webhookId }) },
  'webhooks.test': { ...hook, with: (t) => ({ id: t.webhookId }) },
  'webhooks.deliveries': { ...hook, with: (t) => ({ id: t.webhookId }) },
  'webhooks.resend': { ...hook, with: (t) => ({ id: t.webhookId, deliveryId: t.hookDeliveryId }) },
  'requests.list': { may: 'admin', with: (t) => ({ credential: t.keyId }), missing: 'done' },
  'posts.attempts': { ...read, with: (t) => ({ id: t.postId, limit: 10 }) },
}

/** Those of the installation's operators, who see all organisations: called with what, and how that ends. */
const operatorCases: Record<string, Pick<Case, 'with' | 'own'>> = {
  'operations.overview': {},
  'operations.stuck': { with: () => ({ kind: 'overdue' }) },
  'operations.pause': { with: (t) => ({ scope: 'channel', id: t.channelId }) },
  'operations.resume': { with: (t) => ({ scope: 'channel', id: t.channelId }) },
  'operations.retry': { with: (t) => ({ id: t.deliveryId }), own: 'nothing_to_retry' },
  'operations.wake': { with: (t) => ({ id: t.deliveryId }), own: 'nothing_to_wake' },
}

/** Who calls without being a person, and new things of ours: a key that all are for, or the token that is among them. */
async function programOf(kind: 'key' | 'token') {
  const things = await thingsOf(ours)
  const credential = kind === 'key' ? ours.key : things.token
  const { actor } = (await credentialHolder(w.db, credential)) as { actor: Extract<Actor, { kind: 'app' }> }
  return { actor, things }
}

const personOf = async () => ({ actor: ours.member, things: await thingsOf(ours) })

type Ending = { outcome: string; said: unknown }

async function call(name: string, actor: Actor | null, things: Things): Promise<Ending> {
  const [noun, verb] = name.split(' ')[0]!.split('.') as ['posts', 'get']
  const procedure = apiAs(w.installation, actor)[noun][verb] as (input: unknown) => Promise<unknown>
  try {
    return { outcome: 'done', said: await procedure({ ...cases, ...operatorCases }[name]!.with?.(things)) }
  } catch (error) {
    const { failure, detail, errors } = error as { failure?: string; detail?: string; errors?: unknown }
    return { outcome: failure ?? String(error), said: { detail, errors } }
  }
}

/** The names of the ids that a case is called with. */
function idsOf({ with: input }: Case): (typeof idNames)[number][] {
  const used = new Set<keyof Things>()
  input?.(new Proxy({} as Things, { get: (_, name) => used.add(name as keyof Things) && 'x' }))
  return idNames.filter((name) => used.has(name))
}

test('there is a case for each procedure', () => {
  const named = Object.keys({ ...cases, ...operatorCases }).map((name) => name.split(' ')[0])
  expect([...new Set(named)].sort()).toEqual(Object.keys(appRouter._def.procedures).sort())
})

describe.each(Object.entries(cases))('%s', (name, { may, key, own = 'done', missing, granted: ofGrant, ...rest }) => {
  test('is for those whose role is enough, and for nobody without a credential', async () => {
    let things = await thingsOf(ours)
    for (const role of roles) {
      const isEnough = may === 'anybody' || roles.indexOf(role) >= roles.indexOf(may)
      const { outcome } = await call(name, { ...ours.member, role }, things)
      expect([role, outcome]).toEqual([role, isEnough ? own : 'role_too_low'])
      if (isEnough) things = await thingsOf(ours) // these may have changed
    }
    const { outcome } = await call(name, null, things)
    expect(outcome).toBe(may === 'anybody' ? own : 'unauthenticated')
  })

  test('takes an API key or an access token only where it is meant to, with the scope for it', async () => {
    for (const kind of ['key', 'token'] as const) {
      const isTaken = key || may === 'anybody'
      const { actor, things } = await programOf(kind)
      expect([kind, (await call(name, actor, things)).outcome]).toEqual([kind, isTaken ? own : 'unauthenticated'])
      const other = name.startsWith('webhooks.') ? 'posts:read' : 'webhooks:manage'
      const bare = await call(name, { ...actor, scopes: [other] }, (await programOf(kind)).things)
      const isForAll = may === 'anybody' || name === 'account.whoami'
      expect([kind, bare.outcome]).toEqual([kind, isForAll ? own : key ? 'insufficient_scope' : 'unauthenticated'])
    }
  })

  const ids = may === 'anybody' ? [] : idsOf({ may, ...rest })
  if (ids.length > 0)
    test('answers to an id of somebody else as to one of nothing, and touches nothing there', async () => {
      const others = { ...theirs, ...(await anOrganisation(w.db)) } // with nothing else in it
      const foreign = await thingsOf(others)
      const before = await belongingsOf(w, others)
      for (const kind of ['member', ...(key ? (['key', 'token'] as const) : [])] as const) {
        for (const id of ids) {
          const answers: Ending[] = []
          const { actor, things } = kind === 'member' ? await personOf() : await programOf(kind)
          for (const other of [foreign[id], uuidv7(), 'x', ''])
            answers.push(await call(name, actor, { ...things, [id]: other }))
          for (const answer of answers) {
            expect([kind, id, answer.outcome]).toEqual([kind, id, missing])
            expect(answer).toEqual(answers[0])
          }
        }
      }
      expect(await belongingsOf(w, others)).toBe(before)
    })

  const granted = ids.filter((id) => ['channelId', 'postId', 'mediaId'].includes(id))
  if (key && granted.length > 0)
    test('answers a token that was granted another channel as if there were nothing', async () => {
      const { actor, things } = await programOf('token')
      const { outcome, said } = await call(
        name,
        { ...actor, channelIds: [await w.channel(ours.organisationId)] },
        things,
      )
      expect([ofGrant ?? 'not_found', missing]).toContain(outcome)
      if (outcome === 'done') expect(JSON.stringify(said)).not.toContain(things.postId)
    })

  test('never shows what belongs to another organisation', async () => {
    const foreign = await thingsOf(theirs)
    const said = JSON.stringify(await call(name, ours.member, await thingsOf(ours)))
    for (const id of idNames) expect(said).not.toContain(foreign[id])
  })
})

test.each(Object.entries(operatorCases))('%s is there for operators alone', async (name, { own = 'done' }) => {
  for (const role of roles) {
    const member = { ...ours.member, role }
    expect([role, (await call(name, member, await thingsOf(theirs))).outcome]).toEqual([role, 'not_found'])
    const operator = { ...member, email: Operator.toUpperCase() }
    expect([role, (await call(name, operator, await thingsOf(theirs))).outcome]).toEqual([role, own])
  }
  for (const kind of ['key', 'token'] as const) {
    const { actor, things } = await programOf(kind)
    expect([kind, (await call(name, { ...actor, name: Operator }, things)).outcome]).toEqual([kind, 'not_found'])
  }
  expect((await call(name, null, await thingsOf(theirs))).outcome).toBe('not_found')
})

test('every route of the public API answers to an id of somebody else as to one of nothing', async () => {
  const [mine, foreign] = [await thingsOf(ours), await thingsOf(theirs)]
  const before = await belongingsOf(w, theirs)
  for (const [method, path, id] of [
    ['GET', '/channels/', 'channelId'],
    ['GET', '/posts/', 'postId'],
    ['GET', '/media/', 'mediaId'],
    ['DELETE', '/posts/', 'postId'],
  ] as const) {
    const asked = (id: string) => w.call(method, path + id, { key: ours.key })
    const answers = [await asked(foreign[id]), await asked(uuidv7()), await asked('x')]
    for (const answer of answers) {
      expectProblem(answer, 404, 'not_found')
      expect({ ...answer.json, requestId: '' }).toEqual({ ...answers[0]!.json, requestId: '' })
    }
    expect((await asked(mine[id])).status).toBeLessThan(300)
  }
  const json = { type: 'now', content: 'x', channelIds: [foreign.channelId], mediaIds: [foreign.mediaId] }
  expectProblem(await w.call('POST', '/posts', { key: ours.key, json }), 422, 'unprocessable')
  expect(await belongingsOf(w, theirs)).toBe(before)
})
