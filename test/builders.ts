import { randomUUID } from 'node:crypto'
import sharp from 'sharp'
import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../db/client.ts'
import { channels } from '../db/schema/channels.ts'
import { type DeliveryState, deliveries } from '../db/schema/ledger.ts'
import { posts } from '../db/schema/posts.ts'
import { seal } from '../db/sealed.ts'
import { wakeAtDue } from '../jobs/ledger/wake-ups.ts'
import { credentialPlace } from '../jobs/publish/network-session.ts'
import { scopes } from '../server/access/scopes.ts'
import { createAccount, createOrganisation } from '../server/accounts/account.ts'
import { createKey } from '../server/accounts/api-keys.ts'

/** An organisation with its owner and an API key of every default scope. */
export async function anOrganisation(db: Db, name = 'Test') {
  const email = `${randomUUID()}@example.org`
  const accountId = await createAccount(db, { name: 'Ada', email, passwordHash: 'none' })
  const organisationId = await createOrganisation(db, name, accountId)
  const { key } = await createKey(db, { organisationId, createdBy: accountId, name: 'test', expiresAt: null })
  return { organisationId, accountId, key }
}

/** A key with every scope that a key can have. */
export async function aKeyOfAllScopes(db: Db, of: { organisationId: string; accountId: string }): Promise<string> {
  const { organisationId, accountId: createdBy } = of
  const made = await createKey(db, { organisationId, createdBy, name: 'test', scopes: [...scopes], expiresAt: null })
  return made.key
}

/** A PNG with one colour. */
export async function aPhoto({ width = 9, height = 9 } = {}): Promise<Buffer<ArrayBuffer>> {
  const photo = sharp({ create: { width, height, channels: 3, background: 'teal' } })
  return Buffer.from(await photo.png().toBuffer())
}

/** A connected channel of a (fake) network. */
export async function aChannel(
  db: Db,
  secretKey: Buffer,
  wanted: {
    organisationId: string
    network: string
    token?: string
    credential?: Record<string, unknown>
    remoteAccount?: string
  },
): Promise<string> {
  const { organisationId, network, token = 'good', credential: kept = { token } } = wanted
  const id = uuidv7()
  const remoteAccount = wanted.remoteAccount ?? id
  const credential = seal([secretKey], credentialPlace({ channelId: id, organisationId }), JSON.stringify(kept))
  const limits = {
    textLength: 500,
    textUnit: 'characters' as const,
    mediaCount: 4,
    mediaTypes: ['image/jpeg', 'image/png'],
  }
  await db.insert(channels).values({ id, organisationId, network, remoteAccount, name: network, limits, credential })
  return id
}

/** A post on one channel, due at `dueAt`, with its wake-up. Returns the delivery's id. */
export async function aDelivery(
  db: Db,
  wanted: { organisationId: string; channelId: string; dueAt: Date; text?: string; state?: DeliveryState },
): Promise<string> {
  const [id] = await someDeliveries(db, [wanted])
  return id!
}

const statusOf: Partial<Record<DeliveryState, string>> = {
  claimed: 'SCHEDULED',
  sending: 'SCHEDULED',
  uncertain: 'SCHEDULED',
}

/** Many posts with one call, in the given order. */
export async function someDeliveries(
  db: Db,
  wanted: { organisationId: string; channelId: string; dueAt: Date; text?: string; state?: DeliveryState }[],
): Promise<string[]> {
  const rows = wanted.map((one) => ({ ...one, postId: uuidv7(), id: uuidv7() }))
  await db.transaction(async (tx) => {
    await tx.insert(posts).values(
      rows.map(({ postId, organisationId, dueAt, text = 'hello', state = 'scheduled' }) => ({
        id: postId,
        organisationId,
        type: 'schedule' as const,
        status: statusOf[state] ?? state.toUpperCase(),
        date: dueAt,
        content: text,
        createdByKind: 'member' as const,
        createdById: uuidv7(),
        createdByName: 'test',
      })),
    )
    await tx.insert(deliveries).values(
      rows.map(({ id, postId, organisationId, channelId, dueAt, state = 'scheduled' }) => ({
        id,
        organisationId,
        postId,
        channelId,
        dueAt,
        state,
        position: 0,
        publishKey: id,
      })),
    )
    await wakeAtDue(
      tx,
      rows.map(({ id }) => id),
    )
  })
  return rows.map(({ id }) => id)
}
