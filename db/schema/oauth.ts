import { sql } from 'drizzle-orm'
import { type AnyPgColumn, boolean, check, foreignKey, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { accounts, organisation, sessions } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'

// A third party's app. It asks organisations for access. Deleting it also deletes its secrets, requests, grants, codes
// and tokens.
export const apps = pgTable(
  'apps',
  {
    id: id(),
    organisationId: organisation(), // the app's owner, not the one that grants
    clientId: text().notNull().unique(), // public
    name: text().notNull(),
    description: text().notNull().default(''),
    pictureKey: text(),
    redirectUris: text().array().notNull(), // compared byte for byte; the first is the default
    createdBy: uuid().references(() => accounts.id, { onDelete: 'set null' }),
    createdAt: createdAt(),
  },
  (t) => [
    unique('apps_of_organisation').on(t.organisationId, t.id), // its secrets, requests and attempts refer to it
    index('apps_organisation').on(t.organisationId, t.createdAt),
    check('apps_have_a_redirect', sql`cardinality(redirect_uris) between 1 and 10`),
  ],
)

function ofApp(name: string, t: { organisationId: AnyPgColumn; appId: AnyPgColumn }) {
  return foreignKey({
    name,
    columns: [t.organisationId, t.appId],
    foreignColumns: [apps.organisationId, apps.id],
  }).onDelete('cascade')
}

export const appSecrets = pgTable(
  'app_secrets',
  {
    id: id(),
    organisationId: organisation(),
    appId: uuid().notNull(),
    secretHash: bytes().notNull(), // SHA-256
    last4: text().notNull(),
    createdAt: createdAt(),
    expiresAt: instant(), // a rotation's overlap; null for the current one
  },
  (t) => [ofApp('app_secrets_of_app', t), index('app_secrets_app').on(t.appId)],
)

// A consent page that we showed. The request is stored here, so the form contains nothing that could be forged.
export const authorizationRequests = pgTable(
  'authorization_requests',
  {
    id: id(),
    organisationId: organisation(), // the app's
    appId: uuid().notNull(),
    sessionId: uuid()
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }), // a form from another browser is refused
    tokenHash: bytes().notNull().unique(),
    redirectUri: text().notNull(),
    wasRedirectNamed: boolean().notNull(), // if so, the exchange must name it too
    state: bytes(), // as received, encoded, and sealed: it is the app's secret; null when there was none
    scopes: text().array().notNull(),
    codeChallenge: text(),
    answer: bytes(), // the redirect after the decision, sealed: a double click gets the same redirect
    decidedAt: instant(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    ofApp('authorization_requests_of_app', t),
    index('authorization_requests_expiry').on(t.expiresAt), // the sweep
    index('authorization_requests_session').on(t.sessionId), // a session that ends deletes its requests
  ],
)

// One consent of one organisation to one app. It gives one code, and the code gives one token, which ends with the
// grant.
export const grants = pgTable(
  'grants',
  {
    id: id(),
    organisationId: organisation(), // who grants
    appId: uuid()
      .notNull()
      .references(() => apps.id, { onDelete: 'cascade' }),
    approvedBy: uuid().references(() => accounts.id, { onDelete: 'set null' }), // a token outlives its approver
    approvedByName: text().notNull(),
    scopes: text().array().notNull(),
    channelIds: uuid().array(), // null: all, including those connected later
    createdAt: createdAt(),
    revokedAt: instant(),
  },
  (t) => [
    unique('grants_of_organisation').on(t.organisationId, t.appId, t.id), // its code and its token refer to it
    index('grants_organisation').on(t.organisationId, t.createdAt),
    index('grants_app').on(t.appId),
  ],
)

function ofGrant(name: string, t: { organisationId: AnyPgColumn; appId: AnyPgColumn; grantId: AnyPgColumn }) {
  return foreignKey({
    name,
    columns: [t.organisationId, t.appId, t.grantId],
    foreignColumns: [grants.organisationId, grants.appId, grants.id],
  }).onDelete('cascade')
}

export const authorizationCodes = pgTable(
  'authorization_codes',
  {
    id: id(),
    organisationId: organisation(), // who grants
    grantId: uuid().notNull(),
    appId: uuid().notNull(),
    codeHash: bytes().notNull().unique(),
    redirectUri: text().notNull(),
    wasRedirectNamed: boolean().notNull(),
    codeChallenge: text(),
    createdAt: createdAt(),
    expiresAt: instant().notNull(),
    redeemedAt: instant(),
  },
  (t) => [
    ofGrant('authorization_codes_of_grant', t),
    unique('authorization_codes_one_a_grant').on(t.grantId),
    index('authorization_codes_expiry').on(t.expiresAt), // the sweep
  ],
)

// A token does not expire: it is valid as long as its grant.
export const accessTokens = pgTable(
  'access_tokens',
  {
    id: id(),
    organisationId: organisation(), // it acts for this organisation
    grantId: uuid().notNull(),
    appId: uuid().notNull(),
    tokenHash: bytes().notNull().unique(),
    createdAt: createdAt(),
    lastUsedAt: instant(),
  },
  (t) => [
    ofGrant('access_tokens_of_grant', t),
    unique('access_tokens_one_a_grant').on(t.grantId), // a safeguard for the statement that redeems a code
  ],
)

// Recent calls with an app, right or wrong, so that its developer can debug the flow. Anyone can cause a row, so we
// keep only the newest.
export const appAttempts = pgTable(
  'app_attempts',
  {
    id: id(),
    organisationId: organisation(), // the app's
    appId: uuid().notNull(),
    at: createdAt(),
    step: text().notNull(), // authorize | consent | token | revoke | introspect
    outcome: text().notNull(), // ok, or the error's code
    description: text(),
    address: text(), // of the app's own call; the developer must not see a person's address
  },
  (t) => [ofApp('app_attempts_of_app', t), index('app_attempts_newest').on(t.appId, t.step, t.id)],
)
