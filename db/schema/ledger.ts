import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { channels } from './channels.ts'
import { createdAt, id, instant } from './columns.ts'
import { posts } from './posts.ts'

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

/** Why a delivery is in its state, in words for the person who must act. */
export type DeliveryError = { code: string; message: string; nextStep: string }

// One row per (post, channel): the unit of work of jobs/publish/publish.ts. Only jobs/ledger/ledger.ts changes its
// state.
export const deliveries = pgTable(
  'deliveries',
  {
    id: id(),
    organisationId: organisation(),
    postId: uuid().notNull(),
    channelId: uuid().notNull(),
    position: smallint().notNull(), // the order in which the caller named the channels
    content: text(), // its own text and media, if they differ from the post's
    mediaIds: uuid().array(),
    state: deliveryState().notNull(),
    dueAt: instant(), // null for a draft without a date
    nextAttemptAt: instant(), // not before this, even if due_at is earlier
    // When it may be claimed. greatest() ignores nulls.
    readyAt: instant().generatedAlwaysAs(sql`greatest(due_at, next_attempt_at)`),
    publishKey: text().notNull(), // never changes: the idempotency key, or the record key if the network accepts one
    prepared: text(), // what we will send, byte for byte, frozen at the intent
    maybeOut: boolean().notNull().default(false), // it may be published: no edit, no cancel, no failure until we know
    backoffStep: smallint().notNull().default(0), // how many waits of "Trying again" are over
    attemptNo: integer().notNull().default(0),
    crashCount: smallint().notNull().default(0),
    leaseToken: uuid(), // the fence: only its holder may record a negative result
    leaseOwner: text(), // the worker pool that sends it, or looks for it
    leaseUntil: instant(),
    lookAt: instant(), // we look for it (uncertain, or once more) not before this
    lookToken: uuid(), // the read that may report "absent"
    absentAt: instant(), // uncertain: the end of the first complete read that did not show it
    remoteId: text(),
    remoteUrl: text(),
    publishedAt: instant(), // when we sent it: the intent of the attempt that is published
    evidence: evidence(),
    firstSentAt: instant(),
    error: jsonb().$type<DeliveryError>(),
    createdAt: createdAt(),
  },
  (t) => [
    unique('deliveries_post_channel').on(t.postId, t.channelId),
    index('deliveries_own_media').using('gin', t.mediaIds).where(sql`media_ids is not null`), // is this file needed?
    // A remote post that one delivery has recorded cannot be the proof for another.
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
    // A safeguard for claim's order: one claimed or sending delivery per channel.
    uniqueIndex('deliveries_at_work').on(t.channelId).where(sql`state in ('claimed', 'sending')`),
    index('deliveries_uncertain').on(t.channelId).where(sql`state = 'uncertain'`), // claim, and looks: so few are allowed
    // A safeguard against poison: deliveries that may have crashed their worker go one at a time in the installation.
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
    index('deliveries_being_read').on(t.leaseUntil).where(sql`look_token is not null`), // looks: so few are allowed
    // Lists of posts: which deliveries are in progress (jobs/ledger/post-view.ts).
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

// A post on each of its channels, with the columns for sorting and filtering lists. Only triggers of posts and
// deliveries write it (migration 0015). So it is right no matter which process writes those, including the previous
// version.
export const channelPosts = pgTable(
  'channel_posts',
  {
    organisationId: uuid().notNull(),
    channelId: uuid().notNull(),
    postId: uuid().notNull(),
    isAlone: boolean().notNull(), // on no other channel: an app with access to this channel alone can see it
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

// One row per try: claim inserts it, intend stamps it, and the end of the try completes it once. After that, we only
// add `found_at`.
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
    intendedAt: instant(), // from then on, it may be published
    endedAt: instant(),
    foundAt: instant(), // when a read of the account found what this try sent
    outcome: text(), // published | later | refused | reconnect | unknown | internal | lost | edited | cancelled
    status: integer(), // the network's HTTP status
    reply: text(), // the network's response, redacted and cut
    message: text(),
  },
  (t) => [unique('attempts_no').on(t.deliveryId, t.no)],
)
