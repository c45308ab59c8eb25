import { foreignKey, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { channels } from './channels.ts'
import { createdAt } from './columns.ts'

// The published items of a feed channel. The id is the delivery's publish key, so publishing again gives the same row.
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
