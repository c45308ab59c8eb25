import { rm } from 'node:fs/promises'
import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { media as mediaTable } from '../db/schema.ts'
import { OutboundError } from '../jobs/outbound.ts'
import type { Actor } from './actor.ts'
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
})

export type Media = {
  id: string
  kind: 'image' | 'video'
  mime: string
  bytes: number
  width: number | null
  height: number | null
  durationMs: number | null
  alt: string
  url: string
  thumbnailUrl: string | null
  sha256: string
  createdAt: string
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
