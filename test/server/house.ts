import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { and, eq, isNotNull, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../db/client.ts'
import { accounts } from '../../db/schema/accounts.ts'
import { connectFlows } from '../../db/schema/channels.ts'
import { deliveries } from '../../db/schema/ledger.ts'
import { media } from '../../db/schema/media.ts'
import { accessTokens, apps, grants } from '../../db/schema/oauth.ts'
import { posts } from '../../db/schema/posts.ts'
import { queueChannels, queues } from '../../db/schema/queues.ts'
import { webhooks } from '../../db/schema/webhooks.ts'
import { emitTestEvent } from '../../jobs/ledger/events.ts'
import type { Actor } from '../../server/access/credentials.ts'
import { scopes } from '../../server/access/scopes.ts'
import { digest, hashPassword, mintAccessToken } from '../../server/access/secrets.ts'
import { createKey } from '../../server/accounts/api-keys.ts'
import { aDelivery, aKeyOfAllScopes, anOrganisation, aPhoto } from '../builders.ts'
import type { Web } from './web.ts'

export const Password = 'a good password'

export type House = {
  organisationId: string
  accountId: string
  key: string
  picture: string // the path of one
  member: Extract<Actor, { kind: 'member' }>
}

/** Keep the delays after failed passwords that have begun from ending while a test looks. */
export const holdDelays = (db: Db) =>
  db.execute(sql`update throttles set expire = now() + interval '40 seconds' where key like 'delay%'`)

/** An organisation with a key of every scope and its owner, who can sign in and has a picture. */
export async function aHouse(w: Web): Promise<House> {
  const passwordHash = await hashPassword(Password)
  const made = await anOrganisation(w.db)
  const key = await aKeyOfAllScopes(w.db, made)
  await w.db.update(accounts).set({ passwordHash }).where(eq(accounts.id, made.accountId))
  const [account] = await w.db.select().from(accounts).where(eq(accounts.id, made.accountId))
  const person = {
    kind: 'member',
    isSuspended: false,
    id: made.accountId,
    name: 'Ada',
    email: account!.email,
    timeZone: 'UTC',
    weekStart: null,
    clock: null,
    role: 'owner',
  } as const
  const picture = await aPicture(w)
  return { ...made, key, picture, member: { ...person, organisationId: made.organisationId, sessionId: uuidv7() } }
}

/** One of each thing that has an id, new, so that a case may change it. */
export async function newThings(w: Web, { organisationId, accountId, member, picture }: House) {
  const channelId = await w.channel(organisationId)
  const dueAt = new Date(Date.now() + 3_600_000)
  const deliveryId = await aDelivery(w.db, { organisationId, channelId, dueAt })
  const [delivery] = await w.db.select().from(deliveries).where(eq(deliveries.id, deliveryId))
  const row = {
    organisationId,
    kind: 'image',
    mime: 'image/png',
    bytes: 1,
    sha256: '',
    fileKey: `${uuidv7()}.png`,
  } as const
  const [file] = await w.db.insert(media).values(row).returning()
  const { id: keyId } = await createKey(w.db, { organisationId, createdBy: accountId, name: 'k', expiresAt: null })
  const state = uuidv7()
  await w.db.insert(connectFlows).values({
    ...{ organisationId, accountId, network: 'feed', stateHash: digest(state), sealed: new Uint8Array() },
    expiresAt: dueAt,
  })
  const { queueId, queuedId } = await aQueue(w, { organisationId, channelId })
  const [app] = await w.db
    .insert(apps)
    .values({ organisationId, clientId: uuidv7(), name: 'app', redirectUris: ['https://app.example/back'] })
    .returning()
  const appId = app!.id
  const { grantId, token } = await aToken(w, organisationId, appId)
  const { webhookId, hookDeliveryId } = await aWebhook(w, { organisationId, appId, grantId })
  const beside = { email: member.email, path: picture, deliveryId, webhookId, hookDeliveryId, token, queueId, queuedId }
  const own = { ownQueueId: queueId, ownQueuedId: queuedId } // for a case that is about another id
  return {
    organisationId,
    channelId,
    postId: delivery!.postId,
    mediaId: file!.id,
    keyId,
    state,
    appId,
    ...beside,
    ...own,
  }
}

/** Those of them that name something of one organisation. */
export const idNames = [
  ...(['organisationId', 'channelId', 'postId', 'mediaId', 'keyId', 'state', 'appId'] as const),
  ...(['webhookId', 'hookDeliveryId', 'queueId', 'queuedId'] as const),
] as const

/** All that an organisation has, to see that nobody touched it. */
export async function belongingsOf(w: Web, { organisationId }: House): Promise<string> {
  const rows = (table: string) =>
    w.db.execute(
      sql.raw(
        `select to_jsonb(t) as row from ${table} t where organisation_id = '${organisationId}' order by to_jsonb(t)::text`,
      ),
    )
  const tables = [
    'posts',
    'deliveries',
    'post_media',
    'media',
    'channels',
    'api_keys',
    'connect_flows',
    'memberships',
    'apps',
    'grants',
    'webhooks',
    'webhook_deliveries',
    'queues',
    'queue_channels',
  ]
  return JSON.stringify(await Promise.all(tables.map(rows)))
}

// The only one of its organisation, with a post that waits in it: there is an end to how many it may have.
async function aQueue({ db }: Web, { organisationId, channelId }: { organisationId: string; channelId: string }) {
  const isQueued = and(eq(posts.organisationId, organisationId), isNotNull(posts.queueId))
  await db.update(posts).set({ queueId: null, queueDate: null }).where(isQueued)
  await db.delete(queues).where(eq(queues.organisationId, organisationId))
  const times = [{ weekday: 5, time: '17:30' }]
  const row = { organisationId, name: 'Main', isDefault: true, timeZone: 'UTC', times }
  const [queue] = await db.insert(queues).values(row).returning()
  const queueId = queue!.id
  await db.insert(queueChannels).values({ organisationId, queueId, channelId, position: 0 })
  const queueDate = new Date(Date.now() + 30 * 86_400_000)
  const deliveryId = await aDelivery(db, { organisationId, channelId, dueAt: queueDate })
  const [delivery] = await db.select().from(deliveries).where(eq(deliveries.id, deliveryId))
  const queuedId = delivery!.postId
  await db.update(posts).set({ queueId, queueDate }).where(eq(posts.id, queuedId))
  return { queueId, queuedId }
}

async function aToken({ db }: Web, organisationId: string, appId: string) {
  const granted = { organisationId, appId, approvedByName: 'Ada', scopes: [...scopes] }
  const [grant] = await db.insert(grants).values(granted).returning()
  const token = mintAccessToken()
  const grantId = grant!.id
  await db.insert(accessTokens).values({ organisationId, appId, grantId, tokenHash: digest(token) })
  return { grantId, token }
}

// Of that token, and the only one of its organisation: there is an end to how many it may have.
async function aWebhook({ db }: Web, of: { organisationId: string; appId: string; grantId: string }) {
  const { organisationId, appId } = of
  await db.delete(webhooks).where(eq(webhooks.organisationId, organisationId))
  const [webhook] = await db
    .insert(webhooks)
    .values({
      ...{ ...of, url: 'https://hooks.example/', events: ['post.failed'], secret: new Uint8Array() },
      ...{ createdByKind: 'app', createdById: appId, createdByName: 'app' },
    })
    .returning()
  const webhookId = webhook!.id
  return { webhookId, hookDeliveryId: await db.transaction((tx) => emitTestEvent(tx, organisationId, webhookId)) }
}

async function aPicture({ site }: Web): Promise<string> {
  const path = join(site.dataDir, `${uuidv7()}.png`)
  await writeFile(path, await aPhoto())
  return path
}
