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
  uuid,
} from 'drizzle-orm/pg-core'
import { memberships, organisation } from './accounts.ts'
import { createdAt, id, instant } from './columns.ts'

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
  },
  (t) => [
    unique('posts_organisation').on(t.organisationId, t.id), // deliveries refer to it
    // Lists (server/posts/list.ts), in both directions. A list of every status merges the lists of each.
    index('posts_status').on(t.organisationId, t.status, t.date, t.id),
    index('posts_updated').on(t.organisationId, t.status, t.updatedAt, t.id),
    index('posts_drafts_of').on(t.createdById, t.date, t.id).where(sql`told = 'DRAFT'`), // an app's, on no channel yet
    check('scheduled_has_date', sql`${t.type} = 'draft' or ${t.date} is not null`),
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
    date: text().notNull(), // as in the form: half a date is kept too
    time: text().notNull(),
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
  ],
)
