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
