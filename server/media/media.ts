import { rm } from 'node:fs/promises'
import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Db, Tx } from '../../db/client.ts'
import type { Files } from '../../db/files/files.ts'
import { media as mediaTable, postMedia } from '../../db/schema/media.ts'
import { OutboundError } from '../../jobs/outbound/outbound.ts'
import { type Keys, lockBytes, orphanedKeys } from '../../jobs/sweep/media-files.ts'
import type { Actor } from '../access/credentials.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { onceWhileHeld } from '../access/idempotency.ts'
import { type Context, needs, router, type Upload } from '../access/trpc.ts'
import { reachesMedia, reachesPost, type Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import { ById } from '../forms.ts'
import type * as answers from './answers.ts'
import { waitForPlace, wakeFirst } from './fetch-line.ts'
import { MediaError, typeOf, videoTypeOf } from './format.ts'
import { ListMedia, MediaOfPost, SomeMedia, UpdateMedia, UploadFile, UploadFromUrl } from './forms.ts'
import { type Accepted, acceptImage } from './images.ts'
import { bytesAtMost } from './limits.ts'
import { beginUpload } from './uploads.ts'
import { acceptVideo } from './video.ts'

export const media = router({
  /** Store a file that the HTTP handler has streamed to the temporary `path`. The handler removes it. */
  create: needs('media:write')
    .input(UploadFile.extend({ path: z.string() }))
    .mutation(({ ctx, input }) => storeMedia(ctx, input.path, input.alt)),

  uploadFromUrl: needs('media:write')
    .input(UploadFromUrl)
    .mutation(({ ctx, input }) =>
      onceWhileHeld<Media>(ctx, (finish) => fetchMedia(ctx, input.url, input.alt ?? '', finish)),
    ),

  list: needs('media:read')
    .input(ListMedia)
    .query(async ({ ctx: { db, env, actor }, input }): Promise<Page<Media>> => {
      const after = positionOf(input.cursor)
      const rows = await db
        .select()
        .from(mediaTable)
        .where(
          and(
            isVisible(actor),
            after
              ? sql`(${mediaTable.createdAt}, ${mediaTable.id}) < (${after[0]}::timestamptz, ${after[1]}::uuid)`
              : undefined,
          ),
        )
        .orderBy(sql`${mediaTable.createdAt} desc, ${mediaTable.id} desc`)
        .limit(input.limit + 1)
      return pageOf(
        rows,
        input.limit,
        (row) => showMedia(row, env.appUrl),
        (row) => [row.createdAt.toISOString(), row.id],
      )
    }),

  get: needs('media:read')
    .input(ById)
    .query(async ({ ctx: { db, env, actor }, input: { id } }) => {
      const [row] = await db
        .select()
        .from(mediaTable)
        .where(and(eq(mediaTable.id, id), isVisible(actor)))
      if (!row) throw new Failure('not_found')
      return showMedia(row, env.appUrl)
    }),

  /** The files of a post in their order, for its page; none where the actor may not see the post. */
  ofPost: needs('media:read')
    .input(MediaOfPost)
    .query(async ({ ctx: { db, env, actor, organisationId }, input: { postId } }): Promise<Media[]> => {
      const isSeen = sql`exists (
        select from posts p where p.id = ${postId} and p.organisation_id = ${organisationId} and ${reachesPost(actor)})`
      const rows = await db
        .select(getTableColumns(mediaTable))
        .from(mediaTable)
        .innerJoin(postMedia, and(eq(postMedia.mediaId, mediaTable.id), eq(postMedia.postId, postId)))
        .where(and(isVisible(actor), isSeen))
        .orderBy(postMedia.position)
      return rows.map((row) => showMedia(row, env.appUrl))
    }),

  /** The files with these ids in this order, for the composer. Those that the actor cannot see are left out. */
  some: needs('media:read')
    .input(SomeMedia)
    .query(async ({ ctx: { db, env, actor }, input: { ids } }): Promise<Media[]> => {
      const rows = await db
        .select()
        .from(mediaTable)
        .where(and(isVisible(actor), sql`${mediaTable.id} = any(${sql.param(ids)}::uuid[])`))
      return ids.flatMap((id) => rows.filter((row) => row.id === id)).map((row) => showMedia(row, env.appUrl))
    }),

  update: needs('media:write')
    .input(UpdateMedia)
    .mutation(async ({ ctx: { db, env, actor }, input: { id, alt } }) => {
      const [row] = await db
        .update(mediaTable)
        .set({ alt })
        .where(and(eq(mediaTable.id, id), isVisible(actor)))
        .returning()
      if (!row) throw new Failure('not_found')
      return showMedia(row, env.appUrl)
    }),

  /** Remove a file that no post needs any more. Published posts keep what they showed, and lose the id. */
  remove: needs('media:write')
    .input(ById)
    .mutation(async ({ ctx: { db, files, actor, organisationId }, input: { id } }) => {
      const gone = await db.transaction(async (tx) => {
        const [row] = await tx
          .select()
          .from(mediaTable)
          .where(and(eq(mediaTable.id, id), isVisible(actor)))
          .for('update') // posts that are being made with it lock its key (rules.ts): one of the two waits
        if (!row) throw new Failure('not_found')
        await lockPostsWith(tx, organisationId, id)
        if (await isNeeded(tx, organisationId, id)) throw new Failure('media_in_use')
        await tx.execute(sql`
          with used as (
            delete from post_media where media_id = ${id} and organisation_id = ${organisationId} returning post_id
          ), own as (
            update deliveries set media_ids = array_remove(media_ids, ${id}::uuid)
            where organisation_id = ${organisationId} and media_ids @> array[${id}::uuid] returning post_id
          )
          update posts set updated_at = now()
          where organisation_id = ${organisationId} and id in (select post_id from used union select post_id from own)`)
        await lockBytes(tx, [row])
        await tx.delete(mediaTable).where(and(eq(mediaTable.id, id), eq(mediaTable.organisationId, organisationId)))
        return orphanedKeys(tx, [row])
      })
      for (const key of gone) await files.remove(key)
    }),
})

export type Media = z.infer<typeof answers.Media>

// Before their deliveries, as everywhere.
async function lockPostsWith(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.execute(sql`
    select p.id from posts p where p.organisation_id = ${organisationId} and p.id in (
      select post_id from post_media where media_id = ${id} and organisation_id = ${organisationId}
      union select post_id from deliveries where organisation_id = ${organisationId} and media_ids @> array[${id}::uuid])
    order by p.id for no key update`)
}

// Drafts, what has yet to go out, and what may have to be sent again.
async function isNeeded(tx: Tx, organisationId: string, id: string): Promise<boolean> {
  const [row] = await tx.execute<{ needed: boolean }>(sql`
    select exists (
      select from post_media u join posts p on p.id = u.post_id
      left join deliveries d on d.post_id = p.id and d.media_ids is null
      where u.media_id = ${id} and u.organisation_id = ${organisationId}
        and (d.state not in ('published', 'cancelled') or not exists (select from deliveries o where o.post_id = p.id))
    ) or exists (
      select from deliveries d where d.organisation_id = ${organisationId} and d.media_ids @> array[${id}::uuid]
        and d.state not in ('published', 'cancelled')
    ) as needed`)
  return row!.needed
}

function isVisible(who: Viewer) {
  return and(eq(mediaTable.organisationId, who.organisationId), reachesMedia(who))
}

type Finish = (tx: Tx, media: Media) => Promise<void>

async function fetchMedia(ctx: Context & { actor: Actor }, url: string, alt: string, finish: Finish): Promise<Media> {
  const { files, outbound, actor, untilGone = neverGone } = ctx
  const signal = untilGone()
  const path = await files.temporary()
  try {
    await using upload = beginUpload(ctx, actor.organisationId)
    await waitForPlace(actor.organisationId, upload.takePlace, signal)
    await outbound.download(url, { to: path, maxBytes: bytesAtMost, reserve: upload.reserve, signal })
    signal.throwIfAborted()
    return await storeMedia({ ...ctx, upload }, path, alt, finish)
  } catch (error) {
    if (signal.aborted) throw new Failure('media_fetch_failed', { cause: error }) // read by nobody
    if (error instanceof OutboundError) throw new Failure('media_fetch_failed', { detail: error.message, cause: error })
    if (error instanceof Failure && error.failure === 'media_not_accepted')
      throw new Failure('media_fetch_failed', { detail: error.detail, cause: error })
    throw error
  } finally {
    wakeFirst(actor.organisationId)
    await rm(path, { force: true })
  }
}

function neverGone(): AbortSignal {
  return new AbortController().signal
}

/** Keep the file at `path`, or share what the organisation has of the same bytes: a row each, one file for all. */
async function storeMedia(
  ctx: Context & { actor: Actor },
  path: string,
  alt: string,
  finish: Finish = async () => {},
): Promise<Media> {
  const { files, actor } = ctx
  await using upload = ctx.upload ?? beginUpload(ctx, actor.organisationId)
  const { facts, store } = await accept(files, path, actor.organisationId)
  await upload.reserve(facts.bytes, facts.bytes) // our encoding may be larger
  const own = (await keysOf(ctx.db, actor.organisationId, facts.sha256)) ? null : await store()
  const made = { own, store, upload, finish, values: { alt, createdById: actor.id, ...facts } }
  const { media, keys } = await writeMedia(ctx, made).catch(async (error: unknown) => {
    if (error instanceof Failure && own) await removeAll(files, own) // thrown before the commit: there is no row
    throw error
  })
  // Not after another error: the row may exist then. The sweep removes unused files.
  if (own && keys !== own) await removeAll(files, own)
  return media
}

type MediaToWrite = {
  own: Keys | null // null: there was a file of the same bytes
  store: Accepted['store']
  upload: Upload
  finish: Finish
  values: Accepted['facts'] & { alt: string; createdById: string }
}

async function writeMedia(
  { db, env, actor: { organisationId } }: Context & { actor: Actor },
  { own, store, upload, finish, values }: MediaToWrite,
): Promise<{ media: Media; keys: Keys }> {
  return db.transaction(async (tx) => {
    await lockBytes(tx, [{ organisationId, sha256: values.sha256 }])
    const shared = await keysOf(tx, organisationId, values.sha256)
    const keys = shared ?? own ?? (await store()) // the one that was to be shared was removed meanwhile
    await upload.settle(tx, values.bytes)
    const [row] = await tx
      .insert(mediaTable)
      .values({ organisationId, ...values, ...keys })
      .returning()
    const media = showMedia(row!, env.appUrl)
    await finish(tx, media)
    return { media, keys }
  })
}

async function removeAll(files: Files, keys: Keys): Promise<void> {
  for (const key of Object.values(keys)) if (key) await files.remove(key)
}

async function accept(files: Files, path: string, organisationId: string): Promise<Accepted> {
  try {
    const mime = await typeOf(path)
    const video = videoTypeOf(mime)
    return await (video
      ? acceptVideo(files, path, video, organisationId)
      : acceptImage(files, path, mime, organisationId))
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    const fault = { path: 'file', code: error.code, message: error.message }
    throw new Failure('media_not_accepted', { detail: error.message, errors: [fault], cause: error })
  }
}

async function keysOf(db: Db | Tx, organisationId: string, sha256: string): Promise<Keys | undefined> {
  const [row] = await db
    .select({ fileKey: mediaTable.fileKey, thumbnailKey: mediaTable.thumbnailKey })
    .from(mediaTable)
    .where(and(eq(mediaTable.organisationId, organisationId), eq(mediaTable.sha256, sha256)))
    .limit(1)
  return row
}

function showMedia(row: typeof mediaTable.$inferSelect, appUrl: string): Media {
  const { id, kind, mime, bytes, width, height, durationMs, alt, sha256 } = row
  return {
    id,
    kind,
    mime,
    bytes,
    width,
    height,
    durationMs,
    alt,
    url: `${appUrl}/files/${row.fileKey}`,
    thumbnailUrl: row.thumbnailKey && `${appUrl}/files/${row.thumbnailKey}`,
    sha256,
    createdAt: row.createdAt.toISOString(),
  }
}
