import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { organisation } from './accounts.ts'
import { createdAt, id, instant } from './columns.ts'
import { posts } from './posts.ts'

export const mediaKind = pgEnum('media_kind', ['image', 'video'])

export const media = pgTable(
  'media',
  {
    id: id(),
    organisationId: organisation(),
    kind: mediaKind().notNull(),
    mime: text().notNull(), // by its bytes
    bytes: bigint({ mode: 'number' }).notNull(),
    width: integer(),
    height: integer(),
    durationMs: integer(),
    alt: text().notNull().default(''),
    sha256: text().notNull(), // hex, of the stored bytes
    fileKey: text().notNull(), // keys of db/files/files.ts; random, since anyone who knows one can read the file
    thumbnailKey: text(),
    createdById: uuid(), // a member, an API key or an app: a token for some channels can see what its own app added
    createdAt: createdAt(),
  },
  (t) => [
    unique('media_organisation').on(t.organisationId, t.id),
    index('media_by_age').on(t.organisationId, t.createdAt, t.id),
    index('media_same_bytes').on(t.organisationId, t.sha256), // we store the same file once
    index('media_age').on(t.createdAt), // the sweep
    index('media_file').on(t.fileKey), // is it the last row with this file?
    index('media_storage').on(t.organisationId, t.bytes), // the sum (server/media/uploads.ts) needs only the index
  ],
)

// An upload in progress: the bytes that are reserved for it, and its place if we fetch it (server/media/uploads.ts).
// We delete the row when the file is stored or the upload fails.
export const uploads = pgTable(
  'uploads',
  {
    id: id(),
    organisationId: organisation(),
    isFetch: boolean().notNull(),
    bytes: bigint({ mode: 'number' }).notNull(),
    leaseUntil: instant().notNull(), // renewed while it runs, so a dead process reserves nothing for long
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
