import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { webhooks as webhooksTable } from '../../db/schema/webhooks.ts'
import { seal } from '../../db/sealed.ts'
import { emitTestEvent } from '../../jobs/ledger/events.ts'
import { callWebhooks } from '../../jobs/ledger/wake-ups.ts'
import { endWaiting, secretPlace } from '../../jobs/webhooks/deliver.ts'
import { type AuditSource, recordBy } from '../access/audit.ts'
import type { Actor } from '../access/credentials.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { mintWebhookSecret } from '../access/secrets.ts'
import { needs, requireScope, router } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import type * as answers from './answers.ts'
import { type EventType, eventTypes } from './event-names.ts'
import { CreateWebhook, ListWebhookDeliveries, ListWebhooks, UpdateWebhook, WebhookDeliveryById } from './forms.ts'
import { listDeliveries, readDelivery, type WebhookDelivery } from './log.ts'

const WebhooksAtMost = 20
const OverlapHours = 24

export type Webhook = z.infer<typeof answers.Webhook>
type WithSecret = Webhook & { secret: string }

export const webhooks = router({
  list: needs('webhooks:manage')
    .input(ListWebhooks)
    .query(async ({ ctx: { db, actor }, input: { limit, cursor } }): Promise<Page<Webhook>> => {
      const after = positionOf(cursor)
      const rows = await db
        .select()
        .from(webhooksTable)
        .where(
          and(
            isVisible(actor),
            after
              ? sql`(${webhooksTable.createdAt}, ${webhooksTable.id}) > (${after[0]}::timestamptz, ${after[1]}::uuid)`
              : undefined,
          ),
        )
        .orderBy(webhooksTable.createdAt, webhooksTable.id)
        .limit(limit + 1)
      return pageOf(rows, limit, showWebhook, (row) => [row.createdAt.toISOString(), row.id])
    }),

  get: needs('webhooks:manage')
    .input(ById)
    .query(async ({ ctx: { db, actor }, input: { id } }) => showWebhook(await find(db, actor, id))),

  /** `secret` is shown only once. It is stored sealed. */
  create: needs('webhooks:manage')
    .input(CreateWebhook)
    .mutation(async ({ ctx: { db, ring, actor, address }, input }): Promise<WithSecret> => {
      const { organisationId } = actor
      const events = input.events ?? eventTypes.filter((type) => mayReceive(actor, type))
      requireEventScopes(actor, events)
      const id = uuidv7()
      const secret = mintWebhookSecret()
      return db.transaction(async (tx) => {
        await requireRoom(tx, organisationId)
        if (actor.kind === 'app') await requireGrant(tx, actor)
        const [row] = await tx
          .insert(webhooksTable)
          .values({
            id,
            organisationId,
            url: input.url,
            description: input.description ?? '',
            events,
            createdByKind: actor.kind,
            createdById: actor.id,
            createdByName: actor.name,
            ...(actor.kind === 'app' ? { grantId: actor.grantId, appId: actor.id } : {}),
            secret: seal(ring, secretPlace({ id, organisationId }), secret),
          })
          .returning()
        await recordWebhook(tx, 'webhook.created', { actor, address }, row!)
        return { ...showWebhook(row!), secret }
      })
    }),

  /** `status` OFF stops it, and waiting events are not sent. ACTIVE starts again with new events. */
  update: needs('webhooks:manage')
    .input(UpdateWebhook)
    .mutation(({ ctx: { db, actor, address }, input: { id, status, ...wanted } }): Promise<Webhook> => {
      if (wanted.events) requireEventScopes(actor, wanted.events)
      return db.transaction(async (tx) => {
        const before = await find(tx, actor, id, 'no key update')
        const { url = before.url, description = before.description, events = before.events } = wanted
        const isMoved = url !== before.url
        const switched = status === statusOf(before) ? undefined : status
        const [row] = await tx
          .update(webhooksTable)
          .set({
            url,
            description,
            events,
            ...(isMoved ? { failingSince: null, notBefore: null } : {}),
            ...(switched ? switches[switched] : {}),
          })
          .where(isIt(actor, id))
          .returning()
        if (switched === 'OFF') await endWaiting(tx, actor.organisationId, id)
        const actions = [
          ...(isMoved || wanted.events || wanted.description !== undefined ? ['webhook.updated'] : []),
          ...(switched ? [`webhook.switched_${switched === 'OFF' ? 'off' : 'on'}`] : []),
        ]
        for (const action of actions)
          await recordWebhook(tx, action, { actor, address }, row!, isMoved ? { formerUrl: before.url } : {})
        return showWebhook(row!)
      })
    }),

  remove: needs('webhooks:manage')
    .input(ById)
    .mutation(({ ctx: { db, actor, address }, input: { id } }) =>
      db.transaction(async (tx) => {
        const [row] = await tx.delete(webhooksTable).where(isIt(actor, id)).returning()
        if (!row) throw new Failure('not_found')
        await recordWebhook(tx, 'webhook.deleted', { actor, address }, row)
      }),
    ),

  /** A new secret, shown only once. For 24 h each call is signed with both, so that a receiver can switch. */
  rotate: needs('webhooks:manage')
    .input(ById)
    .mutation(({ ctx: { db, ring, actor, address }, input: { id } }): Promise<WithSecret> => {
      const secret = mintWebhookSecret()
      return db.transaction(async (tx) => {
        const before = await find(tx, actor, id, 'no key update')
        const [row] = await tx
          .update(webhooksTable)
          .set({
            secret: seal(ring, secretPlace(before), secret),
            previousSecret: before.secret,
            previousSecretUntil: sql`now() + ${OverlapHours} * interval '1 hour'`,
          })
          .where(isIt(actor, id))
          .returning()
        await recordWebhook(tx, 'webhook.secret_rotated', { actor, address }, row!)
        return { ...showWebhook(row!), secret }
      })
    }),

  /** Send an event of the type `webhook.test`. It is queued when this returns. */
  test: needs('webhooks:manage')
    .input(ById)
    .mutation(({ ctx: { db, actor }, input: { id } }): Promise<WebhookDelivery> => {
      const { organisationId } = actor
      return db.transaction(async (tx) => {
        requireOn(await find(tx, actor, id, 'no key update'))
        await skipPause(tx, actor, id)
        const deliveryId = await emitTestEvent(tx, organisationId, id)
        return readDelivery(tx, organisationId, id, deliveryId)
      })
    }),

  deliveries: needs('webhooks:manage')
    .input(ListWebhookDeliveries)
    .query(async ({ ctx: { db, actor }, input }): Promise<Page<WebhookDelivery>> => {
      await find(db, actor, input.id)
      return listDeliveries(db, actor.organisationId, input)
    }),

  /** Send an event again under its own id, delivered or not. A waiting one is sent now. */
  resend: needs('webhooks:manage')
    .input(WebhookDeliveryById)
    .mutation(
      ({ ctx: { db, actor }, input: { id, deliveryId } }): Promise<WebhookDelivery> =>
        db.transaction(async (tx) => {
          requireOn(await find(tx, actor, id, 'no key update'))
          const resent = await tx.execute(sql`
          update webhook_deliveries set state = 'pending', next_attempt_at = now()
          where id = ${deliveryId} and webhook_id = ${id} and organisation_id = ${actor.organisationId} returning id`)
          if (resent.length === 0) throw new Failure('not_found')
          await skipPause(tx, actor, id)
          await callWebhooks(tx, [id])
          return readDelivery(tx, actor.organisationId, id, deliveryId)
        }),
    ),
})

/** A webhook that a token made ends with its grant. */
export async function removeWebhooksOf(tx: Tx, organisationId: string, grantIds: string[]): Promise<void> {
  const isTheirs = and(eq(webhooksTable.organisationId, organisationId), inArray(webhooksTable.grantId, grantIds))
  // In the order in which emitting events locks them.
  await tx.select({ id: webhooksTable.id }).from(webhooksTable).where(isTheirs).orderBy(webhooksTable.id).for('update')
  await tx.delete(webhooksTable).where(isTheirs)
}

type WebhookRow = typeof webhooksTable.$inferSelect

const switches = {
  OFF: { offSince: sql`now()`, offReason: 'person' },
  ACTIVE: { offSince: null, offReason: null, failingSince: null, notBefore: null },
}

// A token sees only its own webhooks: the log shows events that not every token may read.
function isVisible(actor: Actor): SQL | undefined {
  const isOfOrganisation = eq(webhooksTable.organisationId, actor.organisationId)
  return actor.kind === 'app' ? and(isOfOrganisation, eq(webhooksTable.grantId, actor.grantId)) : isOfOrganisation
}

function isIt(actor: Actor, id: string): SQL | undefined {
  return and(isVisible(actor), eq(webhooksTable.id, id))
}

// A lock of its key would block posts, because their events refer to the row.
async function find(tx: Tx, actor: Actor, id: string, lock?: 'no key update'): Promise<WebhookRow> {
  const read = tx.select().from(webhooksTable).where(isIt(actor, id))
  const [row] = await (lock ? read.for(lock) : read)
  if (!row) throw new Failure('not_found')
  requireEventScopes(actor, row.events as EventType[]) // or it could turn it to an address of its own, or read its log
  return row
}

async function requireRoom(tx: Tx, organisationId: string): Promise<void> {
  await tx.execute(sql`select from organisations where id = ${organisationId} for no key update`) // two at once could both be the last
  const [row] = await tx.execute<{ count: number }>(
    sql`select count(*)::int as count from webhooks where organisation_id = ${organisationId}`,
  )
  if (row!.count >= WebhooksAtMost) throw new Failure('too_many_webhooks')
}

// Waits for a running revocation, which also removes what its grant has created.
async function requireGrant(tx: Tx, { grantId, organisationId }: Extract<Actor, { kind: 'app' }>): Promise<void> {
  const rows = await tx.execute(sql`
    select from grants where id = ${grantId} and organisation_id = ${organisationId} and revoked_at is null for share`)
  if (rows.length === 0) throw new Failure('unauthenticated', { detail: 'This access token was revoked.' })
}

function requireOn({ offSince }: WebhookRow): void {
  if (offSince) throw new Failure('webhook_off')
}

/** Throws `insufficient_scope`: getting an event requires the scope to read its subject. */
function requireEventScopes(actor: Actor, events: EventType[]): void {
  for (const type of events.length > 0 ? events : eventTypes) requireScope(actor, scopeFor(type))
}

function mayReceive(actor: Actor, type: EventType): boolean {
  return actor.kind === 'member' || actor.scopes.includes(scopeFor(type))
}

function scopeFor(type: EventType) {
  return type.startsWith('post.') ? 'posts:read' : 'channels:read'
}

// Somebody waits for this call, so skip the pause after an earlier failure.
async function skipPause(tx: Tx, actor: Actor, id: string): Promise<void> {
  await tx.update(webhooksTable).set({ notBefore: null }).where(isIt(actor, id))
}

function recordWebhook(tx: Tx, action: string, source: AuditSource, row: WebhookRow, more = {}): Promise<void> {
  const { id, url, events } = row
  return recordBy(tx, source, { action, subject: { id, name: url }, detail: { events, ...more } })
}

function statusOf({ offSince }: WebhookRow): Webhook['status'] {
  return offSince ? 'OFF' : 'ACTIVE'
}

function showWebhook(row: WebhookRow): Webhook {
  const { id, url, description } = row
  const overlap = row.previousSecretUntil && row.previousSecretUntil > new Date() ? row.previousSecretUntil : null
  return {
    id,
    url,
    description,
    events: row.events as EventType[],
    status: statusOf(row),
    offReason: row.offReason as Webhook['offReason'],
    offSince: row.offSince?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    previousSecretUntil: overlap?.toISOString() ?? null,
    createdBy: { kind: row.createdByKind, id: row.createdById, name: row.createdByName },
    createdAt: row.createdAt.toISOString(),
  }
}
