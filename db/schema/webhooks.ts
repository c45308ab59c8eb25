import { sql } from 'drizzle-orm'
import { check, foreignKey, index, integer, jsonb, pgEnum, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'
import { grants } from './oauth.ts'
import { maker } from './posts.ts'

// A URL of an organisation that receives events. A webhook that an access token created ends with its grant.
export const webhooks = pgTable(
  'webhooks',
  {
    id: id(),
    organisationId: organisation(),
    url: text().notNull(),
    description: text().notNull().default(''),
    events: text().array().notNull(),
    secret: bytes().notNull(), // sealed, not hashed: we sign with it
    previousSecret: bytes(), // sealed, and valid until previous_secret_until: a rotation's overlap
    previousSecretUntil: instant(),
    failingSince: instant(), // the first failure since the last success
    notBefore: instant(), // after a failure, so that a dead webhook delays the others little
    offSince: instant(), // we send nothing, and store nothing to send later
    offReason: text(), // failing | gone | person
    grantId: uuid(),
    appId: uuid(),
    createdByKind: maker().notNull(),
    createdById: uuid().notNull(),
    createdByName: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('webhooks_of_organisation').on(t.organisationId, t.id), // its deliveries refer to it
    foreignKey({
      name: 'webhooks_of_grant',
      columns: [t.organisationId, t.appId, t.grantId],
      foreignColumns: [grants.organisationId, grants.appId, grants.id],
    }).onDelete('cascade'),
    index('webhooks_by_age').on(t.organisationId, t.createdAt, t.id),
    check('webhooks_grant_is_whole', sql`(grant_id is null) = (app_id is null)`),
    check('webhooks_off_has_reason', sql`(off_since is null) = (off_reason is null)`),
  ],
)

// An event, written in the transaction that caused it. Its id is the `webhook-id`.
export const events = pgTable(
  'events',
  {
    id: id(),
    organisationId: organisation(),
    type: text().notNull(), // post.published …
    at: createdAt(),
    subject: jsonb().$type<Record<string, unknown>>().notNull(), // the row of the post or channel at that time
    body: text(), // as first sent: each later try sends the same bytes
  },
  (t) => [unique('events_of_organisation').on(t.organisationId, t.id), index('events_age').on(t.at)],
)

export const webhookDeliveryState = pgEnum('webhook_delivery_state', ['pending', 'delivered', 'failed'])

// One event on its way to one webhook: the unit of work of jobs/webhooks/deliver.ts.
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: id(),
    organisationId: organisation(),
    webhookId: uuid().notNull(),
    eventId: uuid().notNull(),
    state: webhookDeliveryState().notNull().default('pending'),
    attemptNo: integer().notNull().default(0),
    nextAttemptAt: instant(), // null once delivered or failed
    leaseToken: uuid(),
    leaseUntil: instant(), // a try is in progress; when it expires, the worker is dead and we try again
    createdAt: createdAt(),
  },
  (t) => [
    unique('webhook_deliveries_of_organisation').on(t.organisationId, t.id), // its attempts refer to it
    foreignKey({
      name: 'webhook_deliveries_webhook',
      columns: [t.organisationId, t.webhookId],
      foreignColumns: [webhooks.organisationId, webhooks.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'webhook_deliveries_event',
      columns: [t.organisationId, t.eventId],
      foreignColumns: [events.organisationId, events.id],
    }).onDelete('cascade'),
    index('webhook_deliveries_newest').on(t.webhookId, t.createdAt, t.id), // the log
    index('webhook_deliveries_waiting').on(t.webhookId, t.createdAt, t.id).where(sql`state = 'pending'`), // claim
    index('webhook_deliveries_next').on(t.webhookId, t.nextAttemptAt).where(sql`state = 'pending'`), // when to wake it
    index('webhook_deliveries_leased').on(t.webhookId).where(sql`lease_until is not null`), // is a call in progress?
    index('webhook_deliveries_event').on(t.eventId),
    index('webhook_deliveries_due').on(t.nextAttemptAt).where(sql`state = 'pending'`),
    check('webhook_deliveries_pending_has_next', sql`(state = 'pending') = (next_attempt_at is not null)`),
  ],
)

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    id: id(),
    organisationId: organisation(),
    deliveryId: uuid().notNull(),
    no: integer().notNull(),
    startedAt: instant().notNull(),
    durationMs: integer().notNull(),
    status: integer(), // the endpoint's HTTP status; null without a response
    reply: text(), // the start of its response
    error: text(), // why it counts as failed
    requestHeaders: jsonb().$type<Record<string, string>>().notNull(),
  },
  (t) => [
    unique('webhook_attempts_no').on(t.deliveryId, t.no),
    foreignKey({
      name: 'webhook_attempts_delivery',
      columns: [t.organisationId, t.deliveryId],
      foreignColumns: [webhookDeliveries.organisationId, webhookDeliveries.id],
    }).onDelete('cascade'),
  ],
)
