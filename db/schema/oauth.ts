import { sql } from 'drizzle-orm'
import { type AnyPgColumn, boolean, check, foreignKey, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { accounts, organisation, sessions } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'

// An app of a third party: what asks organisations for access. Deleting it takes its secrets, requests, grants, codes and tokens along.
export const apps = pgTable(
  'apps',
  {
    id: id(),
    organisationId: organisation(), // whose app it is, not who grants
    clientId: text().notNull().unique(), // public
    name: text().notNull(),
    description: text().notNull().default(''),
    pictureKey: text(),
    redirectUris: text().array().notNull(), // byte for byte; the first is the default
    createdBy: uuid().references(() => accounts.id, { onDelete: 'set null' }),
    createdAt: createdAt(),
  },
  (t) => [
    unique('apps_of_organisation').on(t.organisationId, t.id), // what its secrets, requests and attempts refer to
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

// A consent page that was shown: the request is kept here, so that the form carries nothing that could be forged.
export const authorizationRequests = pgTable(
  'authorization_requests',
  {
    id: id(),
    organisationId: organisation(), // the app's
    appId: uuid().notNull(),
    sessionId: uuid()
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }), // another browser's form is nobody's
    tokenHash: bytes().notNull().unique(),
    redirectUri: text().notNull(),
    wasRedirectNamed: boolean().notNull(), // then the exchange must name it too
    state: bytes(), // as it came, encoded, and sealed: the app's secret, not ours; null when it did not
    scopes: text().array().notNull(),
    codeChallenge: text(),
    answer: bytes(), // the redirect that the decision gave, sealed: a double click gets the same one
    decidedAt: instant(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    ofApp('authorization_requests_of_app', t),
    index('authorization_requests_expiry').on(t.expiresAt), // the sweep
    index('authorization_requests_session').on(t.sessionId), // a session that ends takes its own along
  ],
)

// One consent of one organisation to one app. It gives one code and the code one token: that token ends with it.
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
    channelIds: uuid().array(), // null: all, those connected later included
    createdAt: createdAt(),
    revokedAt: instant(),
  },
  (t) => [
    unique('grants_of_organisation').on(t.organisationId, t.appId, t.id), // what its code and its token refer to
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

// No expiry and no end of its own: it is good as long as its grant.
export const accessTokens = pgTable(
  'access_tokens',
  {
    id: id(),
    organisationId: organisation(), // whom it acts for
    grantId: uuid().notNull(),
    appId: uuid().notNull(),
    tokenHash: bytes().notNull().unique(),
    createdAt: createdAt(),
    lastUsedAt: instant(),
  },
  (t) => [
    ofGrant('access_tokens_of_grant', t),
    unique('access_tokens_one_a_grant').on(t.grantId), // the backstop of the statement that redeems a code
  ],
)

// What was lately tried with an app, right or wrong, for the developer whose flow fails. Anybody can cause a row, so only the newest stay.
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
    address: text(), // of the app's own call; where a person sat who was asked is not for the developer
  },
  (t) => [ofApp('app_attempts_of_app', t), index('app_attempts_newest').on(t.appId, t.step, t.id)],
)
