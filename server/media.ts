import { rm } from 'node:fs/promises'
import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../db/client.ts'
import { media as mediaTable } from '../db/schema.ts'
import { OutboundError } from '../jobs/outbound.ts'
import type { Actor } from './actor.ts'
import type * as answers from './answers.ts'
import { type Page, pageOf, positionOf } from './cursor.ts'
import { Failure } from './errors.ts'
import { ById, ListMedia, UpdateMedia, UploadFile, UploadFromUrl } from './forms.ts'
import { acceptImage, ImageBytesAtMost, ImageError } from './images.ts'
import { reachesMedia, type Who } from './reach.ts'
import { type Context, needs, router } from './trpc.ts'

export const media = router({
  /** Take in a file that a door has streamed to the temporary `path`; the door removes it. */
  create: needs('media:write')
    .input(UploadFile.extend({ path: z.string() }))
    .mutation(({ ctx, input }) => storeImage(ctx, input.path, input.alt)),

  uploadFromUrl: needs('media:write')
    .input(UploadFromUrl)
    .mutation(async ({ ctx, input }): Promise<Media> => {
      const path = await ctx.files.temporary()
      try {
        await ctx.outbound.download(input.url, { to: path, maxBytes: ImageBytesAtMost })
        return await storeImage(ctx, path, input.alt ?? '')
      } catch (error) {
        if (error instanceof OutboundError)
          throw new Failure('media_fetch_failed', { detail: error.message, cause: error })
        if (error instanceof Failure && error.failure === 'media_not_accepted')
          throw new Failure('media_fetch_failed', { detail: error.detail, cause: error })
        throw error
      } finally {
        await rm(path, { force: true })
      }
    }),

  list: needs('media:read')
    .input(ListMedia)
    .query(async ({ ctx: { db, env, actor }, input }): Promise<Page<Media>> => {
      const after = positionOf(input.cursor)
      const rows = await db
        .select()
        .from(mediaTable)
        .where(
          and(
            isReached(actor),
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
        .where(and(eq(mediaTable.id, id), isReached(actor)))
      if (!row) throw new Failure('not_found')
      return showMedia(row, env.appUrl)
    }),

  update: needs('media:write')
    .input(UpdateMedia)
    .mutation(async ({ ctx: { db, env, actor }, input: { id, alt } }) => {
      const [row] = await db
        .update(mediaTable)
        .set({ alt })
        .where(and(eq(mediaTable.id, id), isReached(actor)))
        .returning()
      if (!row) throw new Failure('not_found')
      return showMedia(row, env.appUrl)
    }),

  /** Remove a file that no post needs any more: posts that are out keep what they showed, and lose the id. */
  remove: needs('media:write')
    .input(ById)
    .mutation(async ({ ctx: { db, files, actor, organisationId }, input: { id } }) => {
      const gone = await db.transaction(async (tx) => {
        const [row] = await tx
          .select()
          .from(mediaTable)
          .where(and(eq(mediaTable.id, id), isReached(actor)))
          .for('update') // posts that are being made with it lock its key (rules.ts): one of the two waits
        if (!row) throw new Failure('not_found')
        if (await isNeeded(tx, organisationId, id)) throw new Failure('media_in_use')
        await tx.execute(sql`delete from post_media where media_id = ${id} and organisation_id = ${organisationId}`)
        await tx.execute(sql`
          update deliveries set media_ids = array_remove(media_ids, ${id}::uuid)
          where organisation_id = ${organisationId} and media_ids @> array[${id}::uuid]`)
        await tx.delete(mediaTable).where(and(eq(mediaTable.id, id), eq(mediaTable.organisationId, organisationId)))
        return (await isShown(tx, organisationId, row.fileKey)) ? [] : [row.fileKey, row.thumbnailKey]
      })
      for (const key of gone) if (key) await files.remove(key)
    }),
})

export type Media = z.infer<typeof answers.Media>

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

// Our own feeds show the file itself; every other network has taken a copy.
async function isShown(tx: Tx, organisationId: string, key: string): Promise<boolean> {
  const [row] = await tx.execute<{ shown: boolean }>(sql`
    select exists (
      select from feed_items where organisation_id = ${organisationId} and media::text like ${`%/files/${key}"%`}
    ) as shown`)
  return row!.shown
}

function isReached(who: Who) {
  return and(eq(mediaTable.organisationId, who.organisationId), reachesMedia(who))
}

async function storeImage(
  { db, env, files, actor }: Context & { actor: Actor },
  path: string,
  alt: string,
): Promise<Media> {
  try {
    const image = await acceptImage(files, path)
    const [row] = await db
      .insert(mediaTable)
      .values({ organisationId: actor.organisationId, createdById: actor.id, kind: 'image', alt, ...image })
      .returning()
    return showMedia(row!, env.appUrl)
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    const fault = { path: 'file', code: error.code, message: error.message }
    throw new Failure('media_not_accepted', { detail: error.message, errors: [fault], cause: error })
  }
}

function showMedia(row: typeof mediaTable.$inferSelect, appUrl: string): Media {
  const { id, kind, mime, bytes, width, height, durationMs, alt, sha256 } = row
  return {
    ...{ id, kind, mime, bytes, width, height, durationMs, alt },
    url: `${appUrl}/files/${row.fileKey}`,
    thumbnailUrl: row.thumbnailKey && `${appUrl}/files/${row.thumbnailKey}`,
    sha256,
    createdAt: row.createdAt.toISOString(),
  }
}
