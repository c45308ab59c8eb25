import { sql } from 'drizzle-orm'
import { check, index, integer, jsonb, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'
import { maker } from './posts.ts'

// The first answer to a request that carried an Idempotency-Key, for a day. What takes longer than a transaction may be
// open holds its key by a lease until the answer is there.
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organisationId: organisation(),
    route: text().notNull(), // method and path, and the app whose key it is
    key: text().notNull(),
    bodyHash: bytes().notNull(),
    body: text(), // replayed byte for byte; null while the first request is under way
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

// What is counted for all processes together: requests by organisation, failures by address and account (server/access/rate-limit.ts).
export const throttles = pgTable('throttles', {
  key: text().primaryKey(),
  points: integer().notNull().default(0),
  expire: instant(),
})

// What was done with keys, apps and consents. Only ever added to: triggers of 0002_trail.sql refuse everything else.
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
    subjectId: text(), // the key, app or grant that it is about
    subjectName: text().notNull(),
    outcome: text().notNull(), // ok, or the error's code
    detail: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  },
  (t) => [index('activity_organisation').on(t.organisationId, t.at, t.id)],
)

// What the public API was asked, for the developer who asks why: a week of it, without bodies and secrets.
export const apiRequests = pgTable(
  'api_requests',
  {
    id: id(),
    organisationId: organisation(),
    at: instant().notNull(),
    requestId: text().notNull(), // X-Request-Id
    method: text().notNull(),
    path: text().notNull(), // as called, without its query
    status: smallint().notNull(),
    durationMs: integer().notNull(),
    credentialKind: maker().notNull(),
    credentialId: uuid().notNull(), // the key or the app: it may be gone
    credentialName: text().notNull(), // as it was called then
    problem: text(), // the code of a refusal
  },
  (t) => [
    index('api_requests_newest').on(t.organisationId, t.at, t.id),
    index('api_requests_age').on(t.at), // the sweep
  ],
)
