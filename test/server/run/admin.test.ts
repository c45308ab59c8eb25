import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { variablesWith } from '../../../db/env.ts'
import { accounts } from '../../../db/schema/accounts.ts'
import { activity } from '../../../db/schema/api.ts'
import { deliveries } from '../../../db/schema/ledger.ts'
import { posts } from '../../../db/schema/posts.ts'
import { aChannel, aDelivery, anOrganisation } from '../../builders.ts'
import { webWithChannel } from '../web.ts'

const w = webWithChannel()

/** What an operator's command prints, and on standard error instead when it fails. */
function admin(...command: string[]) {
  return adminWith({}, ...command)
}

async function adminWith(changes: Record<string, string>, ...command: string[]) {
  const file = resolve(import.meta.dirname, '../../../build/admin.js') // starts in half the time
  const env = variablesWith({ ...w.site.env, ...changes })
  const run = promisify(execFile)(process.execPath, [file, ...command], { env })
  return run.then(
    ({ stdout }) => ({ code: 0, said: JSON.parse(stdout), refused: null }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => {
      return { code, said: stdout ? JSON.parse(stdout) : null, refused: stderr.trim() }
    },
  )
}

async function deeds(organisationId = w.organisationId): Promise<unknown[]> {
  const rows = await w.db.select().from(activity).where(eq(activity.organisationId, organisationId))
  return rows.map(({ action, actorKind, actorName, subjectName }) => [action, actorKind, actorName, subjectName])
}

/** Remove a delivery with its post: what a test wrote past the engine must not look broken to the next one. */
async function forget(id: string): Promise<void> {
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, id))
  await w.db.delete(posts).where(eq(posts.id, row!.postId))
}

test('an operator finds a late delivery, sees all of it by its id and all of its post by the post’s, and sends it again', async () => {
  const { organisationId, channelId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() - 60_000) })
  const [row] = await w.db.select().from(deliveries).where(eq(deliveries.id, id))
  const { postId } = row!
  expect((await admin('overdue')).said).toMatchObject([
    { id, postId, state: 'scheduled', dueAt: row!.dueAt!.toISOString(), isPaused: false, isSuspended: false },
  ])
  const shown = (await admin('show', id)).said
  expect(shown).toMatchObject({
    delivery: { id },
    attempts: [],
    channel: { network: 'feed' },
    organisation: { id: organisationId },
  })
  expect(JSON.stringify(shown)).not.toContain('credential"')
  expect((await admin('show', postId)).said).toEqual({ deliveries: [shown] })
  await w.db.update(deliveries).set({ state: 'failed' }).where(eq(deliveries.id, id))
  expect((await admin('retry', id)).said).toMatchObject({ id: postId, status: 'SCHEDULED' })
  expect(await deeds()).toContainEqual(['post.retried', 'operator', 'at the command line', 'feed'])
})

test('an operator pauses a channel, a network and all, and resumes each; the channel’s trail has it', async () => {
  const { channelId } = w
  const instant = expect.stringMatching(/^\d{4}-.*Z$/)
  const channel = { scope: 'channel', id: channelId }
  expect((await admin('pause', 'channel', channelId)).said).toEqual({ paused: channel, since: instant })
  await admin('pause', 'channel', channelId)
  const network = { scope: 'network', name: 'mastodon' }
  expect((await admin('pause', 'network', 'mastodon')).said).toEqual({ paused: network, since: instant })
  expect((await admin('pause')).said).toEqual({ paused: { scope: 'all' }, since: instant })
  const stillPaused = { all: false, networks: ['mastodon'], channels: 1, organisations: 0 }
  expect((await admin('resume')).said).toMatchObject({ resumed: { scope: 'all' }, stillPaused })
  expect((await admin('resume', 'network', 'mastodon')).said).toMatchObject({ resumed: network })
  expect((await admin('resume', 'channel', channelId)).said).toMatchObject({
    ...{ resumed: channel, channelsDue: expect.any(Number) },
    stillPaused: { all: false, networks: [], channels: 0, organisations: 0 },
  })
  const ofPauses = (await deeds()).filter((deed) => /^channel/.test((deed as string[])[0]!))
  expect(ofPauses).toEqual([
    ['channel.paused', 'operator', 'at the command line', 'feed'],
    ['channel.resumed', 'operator', 'at the command line', 'feed'],
  ])
})

test('an operator lists organisations page by page, with what each has', async () => {
  const { organisationId, channelId } = w
  const other = await anOrganisation(w.db, 'Newer Works')
  const publishedAt = new Date('2026-01-02T03:04:05.678Z')
  const sent = await aDelivery(w.db, { organisationId, channelId, dueAt: publishedAt })
  await w.db
    .update(deliveries)
    .set({ state: 'published', publishedAt, evidence: 'answered' })
    .where(eq(deliveries.id, sent))
  const first = (await admin('list', '--limit', '1')).said
  const createdAt = expect.stringMatching(/^\d{4}-.*Z$/)
  expect(first.data).toEqual([
    {
      id: other.organisationId,
      name: 'Newer Works',
      createdAt,
      suspendedAt: null,
      people: 1,
      channels: 0,
      scheduledPosts: 0,
      lastPublishedAt: null,
    },
  ])
  const second = (await admin('list', '--cursor', first.nextCursor)).said
  expect(second).toMatchObject({
    data: [{ id: organisationId, people: 1, channels: 1, lastPublishedAt: publishedAt.toISOString() }],
    nextCursor: null,
  })
  expect((await admin('list', '--cursor', 'nope')).refused).toContain('Must be the nextCursor of an earlier page.')
  await forget(sent)
})

test('an operator finds what something is and whose, by id, address, name or the end of a key, and ends the key', async () => {
  const { organisationId, channelId } = w
  const { organisationId: findable, accountId, key } = await anOrganisation(w.db, 'Findable Works')
  const organisation = { id: findable, name: 'Findable Works', suspendedAt: null }
  const [account] = await w.db.select().from(accounts).where(eq(accounts.id, accountId))
  const person = { kind: 'account', id: accountId, name: account!.email, organisation }
  expect((await admin('find', account!.email.toUpperCase())).said).toEqual([person])
  expect((await admin('find', 'findable')).said).toEqual([
    { kind: 'organisation', id: findable, name: 'Findable Works', organisation },
  ])
  expect((await admin('find', channelId)).said).toMatchObject([
    { kind: 'channel', organisation: { id: organisationId } },
  ])
  const delivery = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() + 3_600_000) })
  expect((await admin('find', delivery)).said).toMatchObject([{ kind: 'delivery', id: delivery }])
  await forget(delivery)
  expect((await admin('find', 'nothing has this name')).said).toEqual([])

  const [found] = (await admin('find', key.slice(-4))).said
  expect(found).toMatchObject({ kind: 'api_key', name: 'test', organisation })
  expect((await w.call('GET', '/me', { key })).status).toBe(200)
  const revoked = (await admin('revoke-key', found.id)).said
  expect(revoked).toMatchObject({ id: found.id, last4: key.slice(-4), organisationId: findable })
  expect((await w.call('GET', '/me', { key })).status).toBe(401)
  expect((await admin('revoke-key', found.id)).said).toEqual(revoked)
  expect(await deeds(findable)).toEqual([['key.revoked', 'operator', 'at the command line', 'test']])
  expect((await admin('revoke-key', 'nope')).refused).toBe('API key not found.')
})

test('one screen says how it stands: version, workers, what waits, what is paused', async () => {
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8'))
  expect((await admin('pause')).code).toBe(0)
  expect((await admin('status')).said).toMatchObject({
    ...{ version, postgres: expect.stringMatching(/^\d+/), migrations: expect.any(Number), storedBytes: 0 },
    ...{ workers: [], pausedAt: expect.stringMatching(/Z$/), restoredAt: null, pausedChannelCount: 0 },
  })
  await admin('resume')
})

test('an operator bounds what a network is sent at once, and lifts it again', async () => {
  expect((await admin('limit', 'feed', '5')).said).toEqual({ network: 'feed', atOnce: 5 })
  expect((await admin('limit', 'feed', 'none')).said).toEqual({ network: 'feed', atOnce: null })
})

test('after a restore nothing is sent, and what was past due waits for a person', async () => {
  const { organisationId, channelId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() - 60_000) })
  const { said } = await admin('after-restore')
  const count = expect.any(Number)
  expect(said).toEqual({
    ...{ restoredAt: expect.any(String), needsReview: count, organisations: 1 },
    connectionsEnded: count,
    connectionsLeft: 0,
  })
  expect((await admin('show', id)).said.delivery).toMatchObject({ state: 'needs_review', error: { code: 'restored' } })
  expect((await admin('resume')).said.stillPaused.all).toBe(false)
})

test('what must hold is looked at, each thing with its count, and the exit says whether it does', async () => {
  const sound = await admin('verify')
  expect(sound).toMatchObject({ code: 0, said: { holds: true } })
  const { organisationId, channelId } = w
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() - 3_600_000) })
  const broken = await admin('verify')
  expect(broken).toMatchObject({ code: 1, said: { holds: false } })
  expect(broken.said.invariants).toContainEqual(expect.objectContaining({ broken: 1, ids: [id] }))
  await w.db.delete(deliveries).where(eq(deliveries.id, id))
})

test('a new first key seals everything again, and a missing key is an exit code', async () => {
  const key = randomBytes(32).toString('base64')
  const both = await adminWith({ SECRET_KEYS: `${key},${w.site.env.SECRET_KEYS}` }, 'rotate-key')
  expect(both).toMatchObject({ code: 0, said: { tables: { channels: { sealedAnew: 1 } }, unopened: [] } })
  const alone = await admin('rotate-key')
  expect(alone).toMatchObject({ code: 1, said: { unopened: [expect.stringContaining(w.channelId)] } })
  expect((await adminWith({ SECRET_KEYS: key }, 'rotate-key')).code).toBe(0)
})

test('something that does not exist gets a sentence', async () => {
  expect((await admin('show', 'nope')).refused).toBe('Delivery or post not found.')
  expect((await admin('retry', 'nope')).refused).toBe('Delivery not found.')
  expect((await admin('connect', 'feed', '--organisation', 'nope', '--name', 'x')).refused).toBe(
    'Organisation nope not found.',
  )
  expect((await admin('pause', 'channel', 'nope')).refused).toBe('Channel not found.')
  expect((await admin('resume', 'network', 'nope')).refused).toBe('Network nope not found.')
  expect((await admin('limit', 'nope', '5')).refused).toBe('Network nope not found.')
  expect((await admin('limit', 'feed', '0')).refused).toBe('N must be a whole number from 1 to 999999, or none.')
  expect((await admin('overdue', '--limit', 'x')).refused).toBe('--limit must be a whole number from 1 to 999999.')
  for (const words of [['everything'], ['network'], ['channel'], ['all', 'x']])
    expect((await admin('pause', ...words)).refused).toBe('Type all, network NAME or channel ID.')
})

test('what a suspended organisation has due is listed as such, and no operator sends it again', async () => {
  const { organisationId } = await anOrganisation(w.db, 'Waiting Works')
  const channelId = await aChannel(w.db, w.site.secretKey, { organisationId, network: 'feed' })
  const id = await aDelivery(w.db, { organisationId, channelId, dueAt: new Date(Date.now() - 60_000) })
  await admin('suspend', organisationId)
  expect((await admin('overdue')).said).toContainEqual(
    expect.objectContaining({ id, isPaused: true, isSuspended: true }),
  )
  await w.db.update(deliveries).set({ state: 'failed' }).where(eq(deliveries.id, id))
  expect((await admin('retry', id)).refused).toBe(
    `Its organisation is suspended. Unsuspend it first: npm run admin -- unsuspend ${organisationId}.`,
  )
  await admin('unsuspend', organisationId)
  expect((await admin('retry', id)).said).toMatchObject({ status: 'SCHEDULED' })
  await forget(id)
})

test('an operator suspends an organisation and ends that, and its trail has it', async () => {
  const { organisationId } = await anOrganisation(w.db, 'Suspect Works')
  const said = { id: organisationId, name: 'Suspect Works' }
  const suspendedAt = expect.stringMatching(/^\d{4}-.*Z$/)
  expect((await admin('suspend', organisationId)).said).toEqual({ ...said, suspendedAt })
  expect((await admin('list', '--limit', '1')).said.data).toMatchObject([{ ...said, suspendedAt }])
  expect((await admin('status')).said.suspendedOrganisations).toEqual([{ ...said, suspendedAt }])
  expect((await admin('find', organisationId)).said).toMatchObject([{ organisation: { ...said, suspendedAt } }])
  expect((await admin('resume')).said.stillPaused).toMatchObject({ organisations: 1 })
  expect((await admin('unsuspend', organisationId)).said).toEqual({ ...said, suspendedAt: null, needsReview: 0 })
  const by = ['operator', 'at the command line', 'Suspect Works']
  expect(await deeds(organisationId)).toEqual([
    ['organisation.suspended', ...by],
    ['organisation.unsuspended', ...by],
  ])
  expect((await admin('suspend', w.channelId)).refused).toBe('Organisation not found.')
})
