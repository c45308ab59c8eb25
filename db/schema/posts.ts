import { sql } from 'drizzle-orm'
import { check, index, integer, pgEnum, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
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
