import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  customType,
  foreignKey,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { v7 as uuidv7 } from 'uuid'

// Every row belongs to an organisation; a foreign key that crosses rows of one carries the organisation along,
// so that the database itself refuses a post on another organisation's channel.

const id = () => uuid().primaryKey().$defaultFn(uuidv7)
// Milliseconds: JavaScript has no microseconds, and a cursor made from a rounded instant skips rows.
const instant = () => timestamp({ withTimezone: true, precision: 3 })
const createdAt = () => instant().notNull().defaultNow()
const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })
const organisation = () =>
  uuid()
    .notNull()
    .references((): AnyPgColumn => organisations.id, { onDelete: 'cascade' })

export const organisations = pgTable(
  'organisations',
  {
    id: id(),
    name: text().notNull(),
    suspendedAt: timestamp({ withTimezone: true }), // by an operator: nothing of it is sent, no post or file is taken
    createdAt: createdAt(),
  },
  (t) => [index('organisations_suspended').on(t.id).where(sql`suspended_at is not null`)], // each claim and each call asks
)

// A person. The one table that belongs to no organisation: what joins them is a membership.
export const accounts = pgTable(
  'accounts',
  {
    id: id(),
    name: text().notNull(),
    email: text().notNull(),
    passwordHash: text().notNull(),
    timeZone: text().notNull().default('UTC'), // IANA name
    createdAt: createdAt(),
  },
  (t) => [uniqueIndex('accounts_email').on(sql`lower(${t.email})`)], // one account an address, however it is written
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
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.organisationId, t.accountId] }), index('memberships_account').on(t.accountId)],
)

// A browser that is signed in, and the organisation that it looks at.
export const sessions = pgTable(
  'sessions',
  {
    id: id(),
    tokenHash: bytes().notNull().unique(), // SHA-256: a stolen backup signs nobody in
    accountId: uuid()
      .notNull()
      .references(() => accounts.id, { onDelete: 'cascade' }),
    organisationId: uuid().notNull(),
    createdAt: createdAt(),
    lastUsedAt: createdAt(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    // Leaving an organisation ends the sessions that look at it.
    foreignKey({
      name: 'sessions_membership',
      columns: [t.organisationId, t.accountId],
      foreignColumns: [memberships.organisationId, memberships.accountId],
    }).onDelete('cascade'),
    index('sessions_account').on(t.accountId),
    index('sessions_expiry').on(t.expiresAt), // the sweep
  ],
)

// A browser on which an account has signed in, for a year. It opens nothing: its tries do not wait for those of others
// (server/access/login-throttle.ts). Its other accounts have rows with the same token.
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
    keyHash: bytes().notNull().unique(), // SHA-256 of 178 random bits: nothing to guess, so nothing to slow down
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

export const channelStatus = pgEnum('channel_status', ['active', 'needs_reconnect', 'disconnected'])

/** What a channel takes, as its network said when it was connected or last asked. Shown to callers as `limits`. */
export type ChannelLimits = {
  textLength: number
  textUnit: 'characters' | 'graphemes'
  textBytes?: number | undefined // a second bound, in UTF-8 bytes
  urlsCountAs?: number | undefined // a link counts as at least so many
  shortensUrls?: boolean | undefined // and as no more, however long it is
  mediaCount: number
  mediaTypes: string[]
  mediaBytes?: number | undefined // of an image
  videoBytes?: number | undefined
  videoSeconds?: number | undefined
  altLength?: number | undefined
}

export const channels = pgTable(
  'channels',
  {
    id: id(),
    organisationId: organisation(),
    network: text().notNull(), // a key of jobs/networks/registry.ts
    remoteAccount: text().notNull(), // the account's own id at the network: connecting it again revives this row
    name: text().notNull(),
    handle: text(),
    url: text(),
    pictureKey: text(), // a key of db/files/files.ts: pages show nothing from elsewhere
    status: channelStatus().notNull().default('active'),
    limits: jsonb().$type<ChannelLimits>().notNull(),
    limitsDueAt: instant().notNull().default(sql`now() + interval '24 hours'`), // when they are read again (jobs/channels/limits.ts)
    credential: bytes(), // sealed; null once a disconnected channel has nothing under way
    credentialVersion: integer().notNull().default(1), // rises at each refresh and reconnect: a 401 counts only against the current one
    pausedUntil: instant(), // a 429: nothing of this channel is claimed or intended before
    pausedAt: instant(), // by an operator, until they resume it
    connectedAt: createdAt(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('channels_remote_account').on(t.organisationId, t.network, t.remoteAccount),
    unique('channels_organisation').on(t.organisationId, t.id), // what deliveries refer to
    index('channels_account').on(t.network, t.remoteAccount), // readings: organisations may share an account
    index('channels_limits_due').on(t.network, t.limitsDueAt),
    // Whose credential is still to be erased.
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
    sealed: bytes().notNull(), // client secret, PKCE verifier and whatever else the network needs on the way back
    channelId: uuid(), // the channel to be reconnected; null for a new one
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

// Our registration as an app at a server that somebody of the organisation has connected to. It is not shared: a server may
// give the same token again to one app, and two organisations with the same account must not have one token.
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

// A credential that is of no more use to us and is to be ended at its network: of a channel that was disconnected, or
// connected again. The row goes when it is ended, or when it could not be (jobs/channels/revocations.ts).
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

export const postType = pgEnum('post_type', ['schedule', 'now', 'draft'])
export const maker = pgEnum('maker', ['member', 'api_key', 'app'])

export const posts = pgTable(
  'posts',
  {
    id: id(),
    organisationId: organisation(),
    type: postType().notNull(),
    date: instant(), // what the caller asked for; the ledger's due_at may move, this does not
    content: text().notNull(),
    version: integer().notNull().default(1), // rises at edits, not while deliveries move: the ETag
    // Its status but for what is being sent, which the deliveries say (jobs/ledger/post-view.ts). The column is called as it was when it
    // only said what webhooks were told last: processes of the version before write it too.
    status: text('told').notNull(),
    createdByKind: maker().notNull(),
    createdById: uuid().notNull(),
    createdByName: text().notNull(), // as it was called then: the maker may be gone
    createdAt: createdAt(),
    updatedAt: createdAt(), // what is being sent aside
  },
  (t) => [
    unique('posts_organisation').on(t.organisationId, t.id), // what deliveries refer to
    // Lists (server/posts/list.ts), in either direction; one of every status is put together of all.
    index('posts_status').on(t.organisationId, t.status, t.date, t.id),
    index('posts_updated').on(t.organisationId, t.status, t.updatedAt, t.id),
    index('posts_drafts_of').on(t.createdById, t.date, t.id).where(sql`told = 'DRAFT'`), // an app's, on no channel yet
    check('scheduled_has_date', sql`${t.type} = 'draft' or ${t.date} is not null`),
  ],
)

export const mediaKind = pgEnum('media_kind', ['image', 'video'])

export const media = pgTable(
  'media',
  {
    id: id(),
    organisationId: organisation(),
    kind: mediaKind().notNull(),
    mime: text().notNull(), // what the bytes say
    bytes: bigint({ mode: 'number' }).notNull(),
    width: integer(),
    height: integer(),
    durationMs: integer(),
    alt: text().notNull().default(''),
    sha256: text().notNull(), // hex, of what is stored
    fileKey: text().notNull(), // keys of db/files/files.ts; random, since whoever knows one can read the file
    thumbnailKey: text(),
    createdById: uuid(), // a member, an API key or an app: a token of some channels sees what its own app added
    createdAt: createdAt(),
  },
  (t) => [
    unique('media_organisation').on(t.organisationId, t.id),
    index('media_by_age').on(t.organisationId, t.createdAt, t.id),
    index('media_same_bytes').on(t.organisationId, t.sha256), // the same file twice is stored once
    index('media_age').on(t.createdAt), // the sweep
    index('media_file').on(t.fileKey), // is it the last row of its file?
    index('media_storage').on(t.organisationId, t.bytes), // their sum (server/media/uploads.ts) is read from the index alone
  ],
)

// A file that is on its way in: the bytes that are kept free for it, and its place if it is fetched (server/media/uploads.ts).
// It goes when the file is stored or given up.
export const uploads = pgTable(
  'uploads',
  {
    id: id(),
    organisationId: organisation(),
    isFetch: boolean().notNull(),
    bytes: bigint({ mode: 'number' }).notNull(),
    leaseUntil: instant().notNull(), // renewed while it runs: a process that is gone holds nothing for long
    createdAt: createdAt(),
  },
  (t) => [
    index('uploads_organisation').on(t.organisationId, t.leaseUntil),
    index('uploads_expiry').on(t.leaseUntil), // the sweep
  ],
)

export const postMedia = pgTable(
  'post_media',
  {
    organisationId: organisation(),
    postId: uuid().notNull(),
    mediaId: uuid().notNull(),
    position: smallint().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.postId, t.position] }),
    foreignKey({
      name: 'post_media_post',
      columns: [t.organisationId, t.postId],
      foreignColumns: [posts.organisationId, posts.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'post_media_media',
      columns: [t.organisationId, t.mediaId],
      foreignColumns: [media.organisationId, media.id],
    }),
    index('post_media_media').on(t.mediaId), // may this file be deleted?
  ],
)

export const deliveryState = pgEnum('delivery_state', [
  'draft',
  'scheduled',
  'claimed',
  'sending',
  'uncertain',
  'held',
  'published',
  'failed',
  'needs_review',
  'cancelled',
])
export type DeliveryState = (typeof deliveryState.enumValues)[number]

export const evidence = pgEnum('evidence', ['answered', 'found', 'person'])

/** Why a delivery is where it is, in words for the person who has to act. */
export type DeliveryError = { code: string; message: string; nextStep: string }

// One row per (post, channel): the unit of work of jobs/publish/publish.ts, moved by jobs/ledger/ledger.ts alone.
export const deliveries = pgTable(
  'deliveries',
  {
    id: id(),
    organisationId: organisation(),
    postId: uuid().notNull(),
    channelId: uuid().notNull(),
    position: smallint().notNull(), // the order in which the caller named the channels
    content: text(), // its own text and media, where they are not the post's
    mediaIds: uuid().array(),
    state: deliveryState().notNull(),
    dueAt: instant(), // null for a draft without a date
    nextAttemptAt: instant(), // not before this, whatever due_at says
    // When it may be claimed. greatest() passes over nulls.
    readyAt: instant().generatedAlwaysAs(sql`greatest(due_at, next_attempt_at)`),
    publishKey: text().notNull(), // never changed: the idempotency key, or the record key where the network takes one
    prepared: text(), // what will be sent, byte for byte, frozen at the intent
    maybeOut: boolean().notNull().default(false), // something may be out there: no edit, no cancel, no failure until it is known
    backoffStep: smallint().notNull().default(0), // how many waits of "Trying again" are behind it
    attemptNo: integer().notNull().default(0),
    crashCount: smallint().notNull().default(0),
    leaseToken: uuid(), // the fence: who does not hold it writes nothing negative
    leaseOwner: text(), // the worker pool that works on it, or looks for it
    leaseUntil: instant(),
    lookAt: instant(), // uncertain, or looked for once more: not before
    lookToken: uuid(), // the reading that may say "absent"
    absentAt: instant(), // uncertain: the end of the first complete reading that did not show it
    remoteId: text(),
    remoteUrl: text(),
    publishedAt: instant(), // when it was sent: the intent of the attempt that is out there
    evidence: evidence(),
    firstSentAt: instant(),
    error: jsonb().$type<DeliveryError>(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('deliveries_post_channel').on(t.postId, t.channelId),
    index('deliveries_own_media').using('gin', t.mediaIds).where(sql`media_ids is not null`), // is this file needed?
    // A post already recorded for one delivery is nobody else's proof.
    uniqueIndex('deliveries_remote_id').on(t.channelId, t.remoteId).where(sql`remote_id is not null`),
    foreignKey({
      name: 'deliveries_post',
      columns: [t.organisationId, t.postId],
      foreignColumns: [posts.organisationId, posts.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'deliveries_channel',
      columns: [t.organisationId, t.channelId],
      foreignColumns: [channels.organisationId, channels.id],
    }),
    // The backstop of claim's order: one claimed or sending a channel.
    uniqueIndex('deliveries_at_work').on(t.channelId).where(sql`state in ('claimed', 'sending')`),
    index('deliveries_uncertain').on(t.channelId).where(sql`state = 'uncertain'`), // claim, and looks: so few may be
    // The backstop of poison: those that may have ended their worker go one at a time in the whole installation.
    uniqueIndex('deliveries_suspect')
      .on(sql`(crash_count > 0)`)
      .where(sql`crash_count > 0 and state in ('claimed', 'sending')`),
    index('deliveries_suspects_waiting').on(t.readyAt).where(sql`crash_count > 0 and state = 'scheduled'`), // who is next
    index('deliveries_head').on(t.channelId, t.dueAt, t.id).where(sql`state = 'scheduled'`), // claim
    index('deliveries_channel_ready').on(t.channelId, t.readyAt).where(sql`state = 'scheduled'`), // wake-ups of a channel
    index('deliveries_ready').on(t.readyAt).where(sql`state = 'scheduled'`), // the alarm, the reaper
    index('deliveries_leased').on(t.leaseUntil).where(sql`state in ('claimed', 'sending')`), // the heartbeat, the reaper
    index('deliveries_for_a_person').on(t.state).where(sql`state in ('held', 'needs_review')`), // the metrics, the operators' page
    index('deliveries_look').on(t.lookAt).where(sql`state = 'uncertain'`), // the reaper
    index('deliveries_being_read').on(t.leaseUntil).where(sql`look_token is not null`), // looks: so few may be
    // Lists of posts: what of them is under way (jobs/ledger/post-view.ts).
    index('deliveries_moving')
      .on(t.organisationId, t.postId)
      .where(sql`state in ('claimed', 'sending', 'uncertain') or (maybe_out and state = 'scheduled')`),
    check('published_has_evidence', sql`(state = 'published') = (published_at is not null and evidence is not null)`),
    check('under_way_has_lease', sql`(state in ('claimed', 'sending')) = (lease_token is not null)`),
    check('uncertain_has_look', sql`state <> 'uncertain' or (look_at is not null and maybe_out)`),
    check('only_a_draft_lacks_due_at', sql`due_at is not null or state in ('draft', 'cancelled')`),
    check('maybe_out_keeps_its_bytes', sql`not maybe_out or prepared is not null`),
    check(
      'never_cancelled_while_maybe_out',
      sql`not (maybe_out and state in ('cancelled', 'failed', 'held', 'draft'))`,
    ),
  ],
)

// A post on each of its channels, with what lists are sorted and filtered by. Triggers of posts and deliveries alone write it
// (migration 0015): so it is right whoever writes those, a process of the version before included.
export const channelPosts = pgTable(
  'channel_posts',
  {
    organisationId: uuid().notNull(),
    channelId: uuid().notNull(),
    postId: uuid().notNull(),
    isAlone: boolean().notNull(), // on no other channel: who was granted this channel alone sees it
    status: text().notNull(),
    date: instant(),
    updatedAt: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.postId, t.channelId] }),
    foreignKey({
      name: 'channel_posts_post',
      columns: [t.organisationId, t.postId],
      foreignColumns: [posts.organisationId, posts.id],
    }).onDelete('cascade'),
    index('channel_posts_date').on(t.channelId, t.isAlone, t.date, t.postId),
    index('channel_posts_status').on(t.channelId, t.isAlone, t.status, t.date, t.postId),
    index('channel_posts_updated').on(t.channelId, t.isAlone, t.updatedAt, t.postId),
  ],
)

// One row a try: inserted by claim, stamped by intend, completed once by whatever ends it. After that only `found_at` is added.
export const attempts = pgTable(
  'attempts',
  {
    id: id(),
    organisationId: organisation(),
    deliveryId: uuid()
      .notNull()
      .references(() => deliveries.id, { onDelete: 'cascade' }),
    no: integer().notNull(),
    owner: text().notNull(),
    credentialVersion: integer().notNull(),
    startedAt: instant().notNull(),
    intendedAt: instant(), // from here on something may be out there
    endedAt: instant(),
    foundAt: instant(), // when a reading of the account found what this try sent
    outcome: text(), // published | later | refused | reconnect | unknown | internal | lost | edited | cancelled
    status: integer(), // the network's HTTP status
    reply: text(), // the network's answer, redacted and capped
    message: text(),
  },
  (t) => [unique('attempts_no').on(t.deliveryId, t.no)],
)

// The installation itself, in one row: whether anything is sent, and which database this was when last seen. A backup that
// is put back elsewhere differs in it, and then nothing is claimed until an operator says so.
export const installation = pgTable(
  'installation',
  {
    only: boolean().primaryKey().default(true),
    pausedAt: instant(), // by an operator
    restoredAt: instant(), // found or said to be a restored backup, and not resumed since
    systemIdentifier: text(),
    databaseOid: bigint({ mode: 'number' }),
    timeline: integer(),
    allowsFailover: boolean().notNull().default(false), // a standby that became the primary has lost nothing: go on sending
  },
  (t) => [check('installation_is_one', sql`${t.only}`)],
)

// One row that holds the number of the transaction that wrote it. A dump that is restored writes it again in another one.
// No key: restored beside the row that is there, it makes two, and that is noticed as well (jobs/ledger/restore.ts). Never update it.
export const databaseMark = pgTable('database_mark', {
  writtenIn: bigint({ mode: 'number' }).notNull(), // the low 32 bits, as `xmin` has them
})

// What holds for a whole network in the installation. Rows are made by the workers that know the network.
export const networks = pgTable('networks', {
  name: text().primaryKey(), // a key of jobs/networks/registry.ts
  atOnce: integer(), // how many are claimed or sent at once by all workers together; null: as many as the workers can
  pausedAt: instant(), // by an operator
})

// A worker pool that takes jobs, from its start until it ends or is found dead.
export const workers = pgTable('workers', {
  owner: text().primaryKey(), // what leases and attempts carry
  host: text().notNull(),
  pid: integer().notNull(),
  concurrency: integer().notNull(),
  startedAt: createdAt(),
  seenAt: createdAt(), // its last heartbeat
  goneAt: instant(), // when its lock was first seen to be free: it is dead when it still is at the next look
  leavingAt: instant(), // it said that it ends by itself, so its end is no crash of what it sends
})

// What a worker did in a minute, for the operators' page. Swept after a week.
export const workerMinutes = pgTable(
  'worker_minutes',
  {
    at: instant().notNull(), // the minute's beginning
    owner: text().notNull(),
    published: integer().notNull(),
    failed: integer().notNull(),
    latenessP50Ms: integer('lateness_p50_ms'), // from due_at to when it was recorded; null when nothing was published
    latenessP95Ms: integer('lateness_p95_ms'),
    latenessMaxMs: integer(),
    waiting: integer().notNull(), // due and not out, in the whole installation, as this worker saw it
    oldestWaitingMs: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.at, t.owner] })],
)

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

// What a feed channel has published. Its id is the delivery's publish key, so the same publication again is the same row.
export const feedItems = pgTable(
  'feed_items',
  {
    id: text().primaryKey(),
    organisationId: organisation(),
    channelId: uuid().notNull(),
    content: text().notNull(),
    media: jsonb()
      .$type<{ url: string; mime: string; bytes: number; alt: string; width: number | null; height: number | null }[]>()
      .notNull(),
    publishedAt: createdAt(),
  },
  (t) => [
    foreignKey({
      name: 'feed_items_channel',
      columns: [t.organisationId, t.channelId],
      foreignColumns: [channels.organisationId, channels.id],
    }).onDelete('cascade'),
    index('feed_items_newest').on(t.channelId, t.publishedAt),
  ],
)

// What is counted for all processes together: requests by organisation, failures by address and account (server/access/rate-limit.ts).
export const throttles = pgTable('throttles', {
  key: text().primaryKey(),
  points: integer().notNull().default(0),
  expire: instant(),
})

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

// Where an organisation wants to be told. One that a token made ends with its grant.
export const webhooks = pgTable(
  'webhooks',
  {
    id: id(),
    organisationId: organisation(),
    url: text().notNull(),
    description: text().notNull().default(''),
    events: text().array().notNull(),
    secret: bytes().notNull(), // sealed: it signs, so it must be read again
    previousSecret: bytes(), // sealed, and good until then: a rotation's overlap
    previousSecretUntil: instant(),
    failingSince: instant(), // the first failure since the last success
    notBefore: instant(), // after a failure, so that one that is dead takes little of anybody's time
    offSince: instant(), // nothing is sent, and nothing is kept to be sent
    offReason: text(), // failing | gone | person
    grantId: uuid(),
    appId: uuid(),
    createdByKind: maker().notNull(),
    createdById: uuid().notNull(),
    createdByName: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('webhooks_of_organisation').on(t.organisationId, t.id), // what its deliveries refer to
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

// What happened, written in the transaction in which it did. Its id is the `webhook-id`.
export const events = pgTable(
  'events',
  {
    id: id(),
    organisationId: organisation(),
    type: text().notNull(), // post.published …
    at: createdAt(),
    subject: jsonb().$type<Record<string, unknown>>().notNull(), // the row of the post or channel as it then was
    body: text(), // as it was first sent: each later try sends the same bytes
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
    nextAttemptAt: instant(), // null once it is settled
    leaseToken: uuid(),
    leaseUntil: instant(), // a try is under way; over, its worker is gone and it is tried again
    createdAt: createdAt(),
  },
  (t) => [
    unique('webhook_deliveries_of_organisation').on(t.organisationId, t.id), // what its attempts refer to
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
    index('webhook_deliveries_leased').on(t.webhookId).where(sql`lease_until is not null`), // is a call under way?
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
    status: integer(), // the endpoint's HTTP status; null when there was no answer
    reply: text(), // the beginning of its answer
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
