import { sql } from 'drizzle-orm'
import {
  boolean,
  foreignKey,
  index,
  jsonb,
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

/** A time of each week. `weekday` as ISO 8601 counts: 1 is Monday, 7 is Sunday. `time` is HH:MM on the queue's clock. */
export type WeeklyTime = { weekday: number; time: string }

// Weekly times that posts take, one post a time. The posts say which times are taken (posts.queue_id, posts.queue_date).
// Code that takes a time or changes the queue locks its row first, before the channels of a post.
export const queues = pgTable(
  'queues',
  {
    id: id(),
    organisationId: organisation(),
    name: text().notNull(),
    isDefault: boolean().notNull(), // the queue of a post that names none
    timeZone: text().notNull(), // IANA name
    times: jsonb().$type<WeeklyTime[]>().notNull(), // in order
    pausedAt: instant(), // its posts are drafts, and nobody takes a time
    createdAt: createdAt(),
  },
  (t) => [
    unique('queues_organisation').on(t.organisationId, t.id), // posts and channels refer to it
    uniqueIndex('queues_name').on(t.organisationId, sql`lower(${t.name})`),
    uniqueIndex('queues_default').on(t.organisationId).where(sql`is_default`), // one for an organisation
  ],
)

export const queueChannels = pgTable(
  'queue_channels',
  {
    organisationId: organisation(),
    queueId: uuid().notNull(),
    channelId: uuid().notNull(),
    position: smallint().notNull(), // the order in which the caller named the channels
  },
  (t) => [
    primaryKey({ columns: [t.queueId, t.channelId] }),
    foreignKey({
      name: 'queue_channels_queue',
      columns: [t.organisationId, t.queueId],
      foreignColumns: [queues.organisationId, queues.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'queue_channels_channel',
      columns: [t.organisationId, t.channelId],
      foreignColumns: [channels.organisationId, channels.id],
    }).onDelete('cascade'),
    index('queue_channels_channel_queues').on(t.organisationId, t.channelId),
  ],
)
