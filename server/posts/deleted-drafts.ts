import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { posts } from '../../db/schema/posts.ts'
import { emitPostEvent } from '../../jobs/ledger/events.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { cancel, type Found } from '../../jobs/ledger/user-actions.ts'
import type { Viewer } from '../access/visibility.ts'
import { readPost } from './rows.ts'

// A deleted draft leaves `posts` at once. Its rows are kept as JSON for a day, so that Undo restores it exactly
// (docs/decisions/052).

/** Delete a draft whose deliveries, `found`, the caller has locked. */
export async function deleteDraft(tx: Tx, organisationId: string, id: string, found: Found[]): Promise<void> {
  await keep(tx, organisationId, id)
  await cancel(tx, found)
  await emitPostEvent(tx, { organisationId, postId: id }, 'post.cancelled')
  await tx.delete(posts).where(and(eq(posts.id, id), eq(posts.organisationId, organisationId)))
}

async function keep(tx: Tx, organisationId: string, id: string): Promise<void> {
  const rowsOf = (table: SQL) => sql`(
    select coalesce(jsonb_agg(to_jsonb(r)), '[]') from ${table} r
    where r.post_id = p.id and r.organisation_id = p.organisation_id)`
  await tx.execute(sql`
    insert into deleted_drafts (id, organisation_id, post, deliveries, media, media_ids)
    select p.id, p.organisation_id, to_jsonb(p), ${rowsOf(sql`deliveries`)}, ${rowsOf(sql`post_media`)}, array(
      select media_id from post_media where post_id = p.id and organisation_id = p.organisation_id
      union select unnest(media_ids) from deliveries where post_id = p.id and organisation_id = p.organisation_id)
    from posts p where p.id = ${id} and p.organisation_id = ${organisationId}
    on conflict (organisation_id, id) do update set -- its id was used again, by the same form in another tab
      post = excluded.post, deliveries = excluded.deliveries, media = excluded.media, media_ids = excluded.media_ids,
      deleted_at = now()`)
}

type Row = Record<string, unknown>
type Kept = {
  post: Row
  deliveries: (Row & { media_ids: string[] | null })[]
  media: (Row & { media_id: string })[]
  mediaIds: string[]
}

/**
 * Restore a draft that was deleted in the last day, with its media and channels. Pressed twice, it is restored once.
 * Throws `not_found`.
 */
export async function restoreDraft(tx: Tx, who: Viewer, id: string): Promise<Post> {
  const { organisationId } = who
  const [kept] = await tx.execute<Kept>(sql`
    delete from deleted_drafts d
    where d.id = ${id} and d.organisation_id = ${organisationId} and d.deleted_at > now() - interval '1 day'
      and not exists (select from posts p where p.id = d.id and p.organisation_id = d.organisation_id)
    returning post, deliveries, media, media_ids as "mediaIds"`)
  if (!kept) return readPost(tx, who, id)
  const files = await lockFiles(tx, organisationId, kept.mediaIds)
  await insert(tx, 'posts', [{ ...kept.post, queue_id: null, queue_date: null }]) // its queue may be gone
  await insert(
    tx,
    'deliveries',
    kept.deliveries.map((row) => ({ ...row, media_ids: row.media_ids?.filter((file) => files.has(file)) ?? null })),
  )
  await insert(
    tx,
    'post_media',
    kept.media.filter(({ media_id }) => files.has(media_id)),
  )
  await readPost(tx, who, id)
  return emitPostEvent(tx, { organisationId, postId: id }, 'post.created')
}

// Somebody may have deleted a file since.
async function lockFiles(tx: Tx, organisationId: string, ids: string[]): Promise<Set<string>> {
  const rows = await tx.execute<{ id: string }>(sql`
    select id from media where organisation_id = ${organisationId} and id = any(${sql.param(ids)}::uuid[])
    order by id for key share`)
  return new Set([...rows].map(({ id }) => id))
}

// A column that was added since the deletion gets its default, and one that was removed is left out.
async function insert(tx: Tx, table: 'posts' | 'deliveries' | 'post_media', rows: Row[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const into = sql.identifier(table)
  const columns = await tx.execute<{ name: string }>(sql`
    select attname as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`)
  const names = sql.join(
    [...columns].filter(({ name }) => name in first).map(({ name }) => sql.identifier(name)),
    sql`, `,
  )
  await tx.execute(sql`
    insert into ${into} (${names})
    select ${names} from jsonb_populate_recordset(null::${into}, ${JSON.stringify(rows)}::jsonb)`)
}
