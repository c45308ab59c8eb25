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
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { memberships, organisation } from './accounts.ts'
import { createdAt, id, instant } from './columns.ts'
import { queues } from './queues.ts'

export const postType = pgEnum('post_type', ['schedule', 'now', 'draft'])
export const maker = pgEnum('maker', ['member', 'api_key', 'app'])

export const posts = pgTable(
  'posts',
  {
    id: id(),
    organisationId: organisation(),
    type: postType().notNull(),
    date: instant(), // as the caller set it; the ledger's due_at may move, this does not
    content: text().notNull(),
    tags: text().array().notNull().default(sql`'{}'`),
    version: integer().notNull().default(1), // the ETag: rises at edits, not when deliveries change
    // The status without what is being sent: the deliveries say that (jobs/ledger/post-view.ts). The column keeps its
    // old name, from when it only held the status that webhooks got last: processes of the previous version write it
    // too.
    status: text('told').notNull(),
    createdByKind: maker().notNull(),
    createdById: uuid().notNull(),
    createdByName: text().notNull(), // its name at that time: the creator may be deleted
    createdAt: createdAt(),
    updatedAt: createdAt(), // changes while sending do not count
    queueId: uuid(), // it took a time of this queue
    // The time that it took. The post is in its queue while this is its date. So any change of the date takes the post out
    // of the queue and frees the time, also if a process of the previous version makes it.
    queueDate: instant(),
  },
  (t) => [
    unique('posts_organisation').on(t.organisationId, t.id), // deliveries refer to it
    // Lists (server/posts/list.ts), in both directions. A list of every status merges the lists of each.
    index('posts_status').on(t.organisationId, t.status, t.date, t.id),
    index('posts_updated').on(t.organisationId, t.status, t.updatedAt, t.id),
    index('posts_drafts_of').on(t.createdById, t.date, t.id).where(sql`told = 'DRAFT'`), // an app's, on no channel yet
    // No two posts have the same time of a queue. A cancelled post frees its time; one that went out keeps it.
    uniqueIndex('posts_queue_time')
      .on(t.queueId, t.date)
      .where(sql`queue_id is not null and queue_date = date and told <> 'CANCELLED'`),
    index('posts_of_queue').on(t.queueId, t.status, t.date, t.id).where(sql`queue_id is not null`), // what waits in it
    foreignKey({
      name: 'posts_queue',
      columns: [t.organisationId, t.queueId],
      foreignColumns: [queues.organisationId, queues.id],
    }),
    check('scheduled_has_date', sql`${t.type} = 'draft' or ${t.date} is not null`),
  ],
)

// What Find posts searches: a post's text, its texts for single channels and its tags. Texts are in lower case and in
// Unicode's form NFKC. Only triggers of posts and deliveries write it (migration 0023). The indexes are not on posts:
// sending a post changes its row a few times, and each change would add all parts of its text to them again.
export const postSearch = pgTable(
  'post_search',
  {
    postId: uuid().primaryKey(),
    organisationId: uuid().notNull(),
    texts: text().notNull(),
    tags: text().array().notNull(),
  },
  (t) => [
    foreignKey({
      name: 'post_search_post',
      columns: [t.organisationId, t.postId],
      foreignColumns: [posts.organisationId, posts.id],
    }).onDelete('cascade'),
    // With the organisation in the index (extension btree_gin), one organisation never reads another's texts.
    index('post_search_texts').using('gin', t.organisationId, t.texts.op('gin_trgm_ops')),
    index('post_search_tags').using('gin', t.organisationId, t.tags),
  ],
)

// What a member has typed into the composer and not sent yet. Only this member sees it, and it changes no post.
export const workingCopies = pgTable(
  'working_copies',
  {
    id: uuid().notNull(), // of the post that it changes, or that it will become
    organisationId: organisation(),
    accountId: uuid().notNull(),
    isNew: boolean().notNull(), // it will become a post
    revision: integer().notNull(), // rises at each save, so that a second tab overwrites nothing
    postVersion: integer(), // the post's version when the member began to type; null if it is new
    content: text().notNull(),
    channelIds: uuid().array().notNull(), // no foreign keys: a copy outlives a channel or a file
    mediaIds: uuid().array().notNull(), // the sweep keeps these files
    alts: jsonb().$type<Record<string, string>>().notNull(), // alt texts by media id
    // As POST /posts takes them, also of channels that are not chosen now. The sweep keeps their files too.
    overrides: jsonb()
      .$type<{ channelId: string; content?: string | undefined; mediaIds?: string[] | undefined }[]>()
      .notNull()
      .default([]),
    tags: text().notNull().default(''), // as in the form, separated by commas
    date: text().notNull(), // as in the form: half a date is kept too
    time: text().notNull(),
    zone: text().notNull().default(''), // of date and time
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.accountId, t.id] }),
    foreignKey({
      name: 'working_copies_membership',
      columns: [t.organisationId, t.accountId],
      foreignColumns: [memberships.organisationId, memberships.accountId],
    }).onDelete('cascade'),
    index('working_copies_newest').on(t.organisationId, t.accountId, t.updatedAt), // of new posts, for /posts/new
    index('working_copies_media').using('gin', t.mediaIds), // may the sweep remove this file?
    index('working_copies_own_media').using('gin', t.overrides.op('jsonb_path_ops')), // the same
  ],
)

// A draft that was deleted in the last day, as it was: Undo puts it back (server/posts/deleted-drafts.ts). It is not in
// `posts`, so no list, count or webhook can show it.
export const deletedDrafts = pgTable(
  'deleted_drafts',
  {
    id: uuid().notNull(), // of the post
    organisationId: organisation(),
    post: jsonb().notNull(), // its row
    deliveries: jsonb().notNull(), // their rows
    media: jsonb().notNull(), // the rows of post_media
    mediaIds: uuid().array().notNull(), // the sweep keeps these files
    deletedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.organisationId, t.id] }),
    index('deleted_drafts_age').on(t.deletedAt), // the sweep
    index('deleted_drafts_media').using('gin', t.mediaIds), // may the sweep remove this file?
  ],
)
