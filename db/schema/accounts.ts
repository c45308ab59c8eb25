import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  boolean,
  check,
  foreignKey,
  index,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytes, createdAt, id, instant } from './columns.ts'

export const organisation = () =>
  uuid()
    .notNull()
    .references((): AnyPgColumn => organisations.id, { onDelete: 'cascade' })

export const organisations = pgTable(
  'organisations',
  {
    id: id(),
    name: text().notNull(),
    suspendedAt: timestamp({ withTimezone: true }), // by an operator: we send nothing, and accept no posts or files
    createdAt: createdAt(),
  },
  (t) => [index('organisations_suspended').on(t.id).where(sql`suspended_at is not null`)], // claims and calls check it
)

// A person. The only table without an organisation. A membership joins a person to an organisation.
export const accounts = pgTable(
  'accounts',
  {
    id: id(),
    name: text().notNull(),
    email: text().notNull(),
    emailVerifiedAt: instant(), // when a link that we mailed to this address was used
    passwordHash: text().notNull(),
    timeZone: text().notNull().default('UTC'), // IANA name
    wantsNotices: boolean().notNull().default(true), // by mail, when a post or a channel needs attention
    weekStart: smallint(), // 1 is Monday, 7 is Sunday; null: by the browser's language
    clock: smallint(), // 12 or 24 hours; null: by the browser's language
    createdAt: createdAt(),
  },
  (t) => [
    uniqueIndex('accounts_email').on(sql`lower(${t.email})`), // one account per address, in any case
    check('week_start_is_a_day', sql`${t.weekStart} between 1 and 7`),
    check('clock_is_known', sql`${t.clock} in (12, 24)`),
  ],
)

export const role = pgEnum('role', ['owner', 'admin', 'editor', 'viewer'])
export type Role = (typeof role.enumValues)[number]

export const memberships = pgTable(
  'memberships',
  {
    organisationId: organisation(),
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    role: role().notNull(),
    lastChannelIds: uuid().array(), // of the last post that they wrote: the next one begins with these
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.organisationId, t.accountId] }), index('memberships_account').on(t.accountId)],
)

// A sign-up that waits for the link in its mail. No account, organisation or session exists before the link is used. One
// address can have several: the first that is used becomes the account.
export const signUps = pgTable(
  'sign_ups',
  {
    id: id(),
    tokenHash: bytes().unique(), // SHA-256 of 32 random bytes; null until the worker has written the mail
    email: text().notNull(),
    name: text().notNull(),
    organisation: text().notNull(), // its name
    passwordHash: text().notNull(),
    timeZone: text().notNull(),
    next: text().notNull(), // the path to go on to
    createdAt: createdAt(),
    expiresAt: instant().notNull(),
  },
  (t) => [index('sign_ups_expiry').on(t.expiresAt)], // the sweep
)

// A signed-in browser, and the organisation that it shows.
export const sessions = pgTable(
  'sessions',
  {
    id: id(),
    tokenHash: bytes().notNull().unique(), // SHA-256: nobody can sign in with a stolen backup
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    organisationId: uuid().notNull(),
    createdAt: createdAt(),
    lastUsedAt: createdAt(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    // When a member leaves an organisation, their sessions that show it end.
    foreignKey({
      name: 'sessions_membership',
      columns: [t.organisationId, t.accountId],
      foreignColumns: [memberships.organisationId, memberships.accountId],
    }).onDelete('cascade'),
    index('sessions_account').on(t.accountId),
    index('sessions_expiry').on(t.expiresAt), // the sweep
  ],
)

// A browser on which an account has signed in, kept for a year. It gives no access: its sign-ins only skip the wait
// that others' tries cause (server/access/login-throttle.ts). Its other accounts have rows with the same token.
export const devices = pgTable(
  'devices',
  {
    tokenHash: bytes().notNull(), // SHA-256
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    expiresAt: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tokenHash, t.accountId] }),
    index('devices_account').on(t.accountId, t.expiresAt),
    index('devices_expiry').on(t.expiresAt), // the sweep
  ],
)

export const apiKeys = pgTable(
  'api_keys',
  {
    id: id(),
    organisationId: organisation(),
    name: text().notNull(),
    keyHash: bytes().notNull().unique(), // SHA-256 of 178 random bits: nobody can guess it, so no slow hash is needed
    last4: text().notNull(),
    scopes: text().array().notNull(),
    createdBy: uuid().references(() => accounts.id, { onDelete: 'set null' }),
    createdAt: createdAt(),
    expiresAt: instant(),
    lastUsedAt: instant(),
    revokedAt: instant(),
  },
  (t) => [index('api_keys_organisation').on(t.organisationId, t.createdAt)],
)
