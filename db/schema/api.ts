import { sql } from 'drizzle-orm'
import { check, index, integer, jsonb, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'
import { maker } from './posts.ts'

/** How long the first response to an Idempotency-Key is kept. */
export const IdempotencyHours = 24

// The first response to a request with an Idempotency-Key. A request that takes longer than a
// transaction may stay open holds its key by a lease until its response is ready.
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organisationId: organisation(),
    route: text().notNull(), // method and path, and the app whose key it is
    key: text().notNull(),
    bodyHash: bytes().notNull(),
    body: text(), // replayed byte for byte; null while the first request runs
    leaseToken: uuid(),
    leaseUntil: instant(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.organisationId, t.route, t.key] }),
    index('idempotency_keys_age').on(t.createdAt),
    check(
      'idempotency_keys_answered_or_leased',
      sql`body is not null or (lease_token is not null and lease_until is not null)`,
    ),
  ],
)

// Counters that all processes share: requests by organisation, failures by address and account
// (server/access/rate-limit.ts).
export const throttles = pgTable('throttles', {
  key: text().primaryKey(),
  points: integer().notNull().default(0),
  expire: instant(),
})

// The audit log of keys, apps and consents. You can only add rows: triggers of 0002_trail.sql refuse everything else.
// `detail` holds names and ids, never a secret.
export const activity = pgTable(
  'activity',
  {
    id: id(),
    organisationId: organisation(), // who may read it
    at: createdAt(),
    action: text().notNull(), // key.created, app.deleted, consent.approved …
    actorKind: text().notNull(), // member | app | operator
    actorId: text(),
    actorName: text().notNull(),
    address: text(),
    subjectId: text(), // the key, app or grant
    subjectName: text().notNull(),
    outcome: text().notNull(), // ok, or the error's code
    detail: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  },
  (t) => [index('activity_organisation').on(t.organisationId, t.at, t.id)],
)

// Requests to the public API, so that developers can debug them. Kept for a week, without bodies and secrets.
export const apiRequests = pgTable(
  'api_requests',
  {
    id: id(),
    organisationId: organisation(),
    at: instant().notNull(),
    requestId: text().notNull(), // X-Request-Id
    method: text().notNull(),
    path: text().notNull(), // as called, without the query
    status: smallint().notNull(),
    durationMs: integer().notNull(),
    credentialKind: maker().notNull(),
    credentialId: uuid().notNull(), // the key or the app, which may be deleted
    credentialName: text().notNull(), // its name at that time
    problem: text(), // the error code of a refused request
  },
  (t) => [
    index('api_requests_newest').on(t.organisationId, t.at, t.id),
    index('api_requests_age').on(t.at), // the sweep
  ],
)
