import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../db/client.ts'

/**
 * Until `tx` ends, nobody else adds or removes media of these bytes in their organisation: the rows of one file come and
 * go one by one.
 */
export async function lockBytes(tx: Tx, media: { organisationId: string; sha256: string }[]): Promise<void> {
  const names = new Set(media.map(({ organisationId, sha256 }) => `${organisationId} ${sha256}`))
  for (const name of [...names].sort()) // in one order for all
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
}

/** The files of one media row. */
export type Keys = { fileKey: string; thumbnailKey: string | null }

/** Which files of removed rows may go with them: no other row has them, and no feed shows them. Holds lockBytes. */
export async function orphanedKeys(tx: Tx, removed: Keys[]): Promise<string[]> {
  const keys = removed.map(({ fileKey }) => fileKey)
  const rows = await tx.execute<{ key: string; shown: boolean }>(sql`
    select key, key in (${shownInFeeds}) as shown from unnest(${sql.param(keys)}::text[]) as removed (key)
    where not exists (select from media where file_key = key)`)
  // Our own feeds show the file itself; every other network has taken a copy.
  return [...rows].flatMap(({ key, shown }) => {
    const thumbnail = removed.find(({ fileKey }) => fileKey === key)?.thumbnailKey
    return [...(shown ? [] : [key]), ...(thumbnail ? [thumbnail] : [])]
  })
}

/** Of stored files, those that nothing names: no media, no picture of a channel or an app, no item of a feed. */
export async function strayKeys(db: Db, keys: string[]): Promise<string[]> {
  const rows = await db.execute<{ key: string }>(sql`
    select key from unnest(${sql.param(keys)}::text[]) as stored (key)
    where not exists (select from media where file_key = key)
      and not exists (select from media where thumbnail_key = key)
      and not exists (select from channels where picture_key = key)
      and not exists (select from apps where picture_key = key)
      and key not in (${shownInFeeds})`)
  return [...rows].map(({ key }) => key)
}

const shownInFeeds = sql`
  select substring(shown.file ->> 'url' from '/files/([^/]+)$')
  from feed_items, jsonb_array_elements(feed_items.media) as shown (file)
  where shown.file ->> 'url' ~ '/files/[^/]+$'`
