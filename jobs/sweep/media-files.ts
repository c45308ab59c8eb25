import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'

/**
 * Until `tx` ends, no other transaction adds or removes media with these bytes in their organisation. So the rows of
 * one file change one at a time.
 */
export async function lockBytes(tx: Tx, media: { organisationId: string; sha256: string }[]): Promise<void> {
  const names = new Set(media.map(({ organisationId, sha256 }) => `${organisationId} ${sha256}`))
  for (const name of [...names].sort()) // everyone locks in one order
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
}

/** The files of one media row. */
export type Keys = { fileKey: string; thumbnailKey: string | null }

/** The files that we may delete with removed rows: no other row has them, and no feed shows them. Holds lockBytes. */
export async function orphanedKeys(tx: Tx, removed: (Keys & { organisationId: string })[]): Promise<string[]> {
  const keys = removed.map(({ fileKey }) => fileKey)
  const owners = [...new Set(removed.map(({ organisationId }) => organisationId))]
  const isTheirs = sql`where feed_items.organisation_id = any(${sql.param(owners)}::uuid[])`
  const rows = await tx.execute<{ key: string; shown: boolean }>(sql`
    select key, key in (${shownInFeeds(isTheirs)}) as shown from unnest(${sql.param(keys)}::text[]) as removed (key)
    where not exists (select from media where file_key = key)`)
  // Our own feeds show the file itself. Every other network has its own copy.
  return [...rows].flatMap(({ key, shown }) => {
    const thumbnail = removed.find(({ fileKey }) => fileKey === key)?.thumbnailKey
    return [...(shown ? [] : [key]), ...(thumbnail ? [thumbnail] : [])]
  })
}

/** The stored files that no media row and no picture of a channel or an app names. A feed may still show them. */
export async function unnamedKeys(db: Db, keys: string[]): Promise<string[]> {
  const rows = await db.execute<{ key: string }>(sql`
    select key from unnest(${sql.param(keys)}::text[]) as stored (key)
    where not exists (select from media where file_key = key)
      and not exists (select from media where thumbnail_key = key)
      and not exists (select from channels where picture_key = key)
      and not exists (select from apps where picture_key = key)`)
  return [...rows].map(({ key }) => key)
}

/** The stored files that no feed shows. It reads all feeds, so call it once, after unnamedKeys. */
export async function unshownKeys(db: Db, keys: string[]): Promise<string[]> {
  if (keys.length === 0) return []
  const rows = await db.execute<{ key: string }>(sql`
    select key from unnest(${sql.param(keys)}::text[]) as stored (key)
    where not exists (select from (${shownInFeeds()}) as shown (shown_key) where shown_key = key)`)
  return [...rows].map(({ key }) => key)
}

function shownInFeeds(which = sql``) {
  return sql`
    select substring(shown.file ->> 'url' from '/files/([^/]+)$')
    from (select media from feed_items ${which}) as items, jsonb_array_elements(items.media) as shown (file)
    where shown.file ->> 'url' ~ '/files/[^/]+$'`
}
