import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Db } from '../../db/client.ts'
import type { Files } from '../../db/files/files.ts'
import { lockBytes, orphanedKeys, unnamedKeys, unshownKeys } from './media-files.ts'

const WeekMs = 7 * 24 * 3600 * 1000
const HourMs = 3600 * 1000
const BatchRows = 100
const Digits = '0123456789abcdef'

type Deps = { db: Db; files: Files; log: Logger; now?: () => Date }

/**
 * Remove media that are a week old and that no post, working copy or deleted draft uses, the rest of aborted uploads, and stored files that nothing
 * names. Of these files we check a sixteenth at a time, by the hour of `now`. Ends early when `signal` is aborted.
 */
export async function sweepMedia({ db, files, log, now = () => new Date() }: Deps, signal: AbortSignal): Promise<void> {
  const weekAgo = new Date(now().getTime() - WeekMs)
  await files.clear(weekAgo)
  let rows = 0
  for (let batch = BatchRows; batch === BatchRows && !signal.aborted; rows += batch)
    batch = await removeUnused(db, files, weekAgo)
  const digit = Digits[Math.floor(now().getTime() / HourMs) % 16]!
  const unnamed: string[] = []
  for (const next of Digits) {
    if (signal.aborted) break
    for await (const keys of files.list(digit + next, weekAgo))
      if (keys.length > 0) unnamed.push(...(await unnamedKeys(db, keys)))
  }
  const strays = await unshownKeys(db, unnamed)
  for (const key of strays) await files.remove(key)
  if (rows + strays.length > 0) log.info({ rows, strays: strays.length }, 'media swept')
}

async function removeUnused(db: Db, files: Files, before: Date): Promise<number> {
  const { count, keys } = await db.transaction(async (tx) => {
    // The transaction that creates a post locks its media's keys (server/posts/post-checks.ts), and we skip these. If
    // a post is created while the first check runs, the second check sees it. After the lock, no post can use these
    // rows.
    const locked = await tx.execute<{ id: string }>(sql`
      select m.id from media m where m.created_at < ${before.toISOString()} and ${isUnused}
      limit ${BatchRows} for update of m skip locked`)
    const ids = [...locked].map(({ id }) => id)
    if (ids.length === 0) return { count: 0, keys: [] }
    const removed = await tx.execute<Removed>(sql`
      delete from media m where m.id = any(${sql.param(ids)}::uuid[]) and ${isUnused}
      returning organisation_id as "organisationId", sha256, file_key as "fileKey", thumbnail_key as "thumbnailKey"`)
    const rows = [...removed]
    await lockBytes(tx, rows)
    return { count: ids.length, keys: await orphanedKeys(tx, rows) }
  })
  for (const key of keys) await files.remove(key)
  return count
}

type Removed = { organisationId: string; sha256: string; fileKey: string; thumbnailKey: string | null }

const isUnused = sql`
  not exists (select from post_media u where u.media_id = m.id)
  and not exists (
    select from deliveries d where d.organisation_id = m.organisation_id and d.media_ids @> array[m.id])
  and not exists (
    select from working_copies w where w.organisation_id = m.organisation_id and w.media_ids @> array[m.id])
  and not exists (
    select from working_copies w where w.organisation_id = m.organisation_id
      and w.overrides @> jsonb_build_array(jsonb_build_object('mediaIds', jsonb_build_array(m.id))))
  and not exists (
    select from deleted_drafts d where d.organisation_id = m.organisation_id and d.media_ids @> array[m.id])`
