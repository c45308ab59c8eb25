import { sql } from 'drizzle-orm'
import { foreignKey, index, integer, jsonb, pgEnum, pgTable, smallint, text, unique, uuid } from 'drizzle-orm/pg-core'
import { accounts, organisation } from './accounts.ts'
import { bytes, createdAt, id, instant } from './columns.ts'

export const channelStatus = pgEnum('channel_status', ['active', 'needs_reconnect', 'disconnected'])

/** What a channel accepts, as its network said when we last asked. The API shows it as `limits`. */
export type ChannelLimits = {
  textLength: number
  textUnit: 'characters' | 'graphemes'
  textBytes?: number | undefined // a second limit, in UTF-8 bytes
  urlsCountAs?: number | undefined // a link counts as at least this many
  shortensUrls?: boolean | undefined // and never as more, even if it is longer
  mediaCount: number
  mediaTypes: string[]
  mediaBytes?: number | undefined // of an image
  videoBytes?: number | undefined
  videoSeconds?: number | undefined
  videoAlone?: boolean | undefined // a video goes out without other files: four images or one video
  altLength?: number | undefined
}

export const channels = pgTable(
  'channels',
  {
    id: id(),
    organisationId: organisation(),
    network: text().notNull(), // a key of jobs/networks/registry.ts
    remoteAccount: text().notNull(), // the account's id at the network: if it is connected again, we reuse this row
    name: text().notNull(),
    handle: text(),
    url: text(),
    pictureKey: text(), // a key of db/files/files.ts: pages show only our own files
    status: channelStatus().notNull().default('active'),
    limits: jsonb().$type<ChannelLimits>().notNull(),
    limitsDueAt: instant().notNull().default(sql`now() + interval '24 hours'`), // when we read them again (jobs/channels/limits.ts)
    credential: bytes(), // sealed; null when a disconnected channel has nothing in progress
    credentialVersion: integer().notNull().default(1), // rises at each refresh and reconnect; a 401 counts only for the current one
    pausedUntil: instant(), // after a 429: we claim and intend nothing of this channel before then
    pausedAt: instant(), // by an operator, until it is resumed
    connectedAt: createdAt(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('channels_remote_account').on(t.organisationId, t.network, t.remoteAccount),
    unique('channels_organisation').on(t.organisationId, t.id), // deliveries refer to it
    index('channels_account').on(t.network, t.remoteAccount), // account reads: organisations may share an account
    index('channels_limits_due').on(t.network, t.limitsDueAt),
    // Channels whose credential we must still erase.
    index('channels_to_erase').on(t.id).where(sql`status = 'disconnected' and credential is not null`),
  ],
)

// A person on their way to a network's consent page and back.
export const connectFlows = pgTable(
  'connect_flows',
  {
    id: id(),
    organisationId: organisation(),
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    network: text().notNull(),
    stateHash: bytes().notNull().unique(), // SHA-256 of OAuth's `state`
    sealed: bytes().notNull(), // client secret, PKCE verifier and everything else that the network's callback needs
    channelId: uuid(), // the channel to reconnect; null for a new one
    expiresAt: instant().notNull(),
  },
  (t) => [
    index('connect_flows_expiry').on(t.expiresAt),
    foreignKey({
      name: 'connect_flows_channel',
      columns: [t.organisationId, t.channelId],
      foreignColumns: [channels.organisationId, channels.id],
    }).onDelete('cascade'),
  ],
)

// Our registration as an app at a server that a member of the organisation has connected to. Organisations don't share
// it: a server may give one app the same token again, and two organisations with one account must not share a token.
export const clientRegistrations = pgTable(
  'client_registrations',
  {
    id: id(),
    organisationId: organisation(),
    network: text().notNull(),
    server: text().notNull(), // an origin
    sealed: bytes().notNull(), // client id and secret, and what they were registered for
    createdAt: createdAt(),
  },
  (t) => [unique('client_registrations_server').on(t.organisationId, t.network, t.server)],
)

// A credential that we no longer need and revoke at its network: its channel was disconnected, or connected again.
// We delete the row when the credential is revoked, or when we give up (jobs/channels/revocations.ts).
export const revocations = pgTable(
  'revocations',
  {
    id: id(),
    organisationId: organisation(),
    channelId: uuid().notNull(),
    sealed: bytes().notNull(), // the credential
    tries: smallint().notNull().default(0),
    nextTryAt: instant().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('revocations_next').on(t.nextTryAt),
    foreignKey({
      name: 'revocations_channel',
      columns: [t.organisationId, t.channelId],
      foreignColumns: [channels.organisationId, channels.id],
    }).onDelete('cascade'),
  ],
)
