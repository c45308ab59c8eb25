import { type SQL, sql } from 'drizzle-orm'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import { shownError } from '../delivery-errors.ts'

// What API callers see of a post and its deliveries (docs/api/posts.md, Status). We always derive it from the ledger.
// Only for lists, a post stores its status and the time of its last change, both without what is being sent
// (`resting`). The schemas are in server/answers.ts.

export const postStatuses = [
  'DRAFT',
  'SCHEDULED',
  'PUBLISHING',
  'PUBLISHED',
  'PARTIALLY_PUBLISHED',
  'HELD',
  'FAILED',
  'NEEDS_REVIEW',
  'CANCELLED',
] as const
export type PostStatus = (typeof postStatuses)[number]
export type DeliveryStatus = Exclude<PostStatus, 'PARTIALLY_PUBLISHED'>

export type Delivery = {
  channelId: string
  network: string
  status: DeliveryStatus
  remoteId: string | null
  url: string | null
  publishedAt: string | null
  attempts: number
  nextAttemptAt: string | null
  error: DeliveryError | null
}

/** Separate text or media for one channel. A field that is left out has the post's value. */
export type Override = { channelId: string; content?: string | undefined; mediaIds?: string[] | undefined }

export type Post = {
  id: string
  type: 'schedule' | 'now' | 'draft'
  status: PostStatus
  date: string | null
  content: string
  channelIds: string[]
  mediaIds: string[]
  overrides: Override[]
  tags: string[]
  deliveries: Delivery[]
  queueId: string | null
  createdBy: { kind: 'member' | 'api_key' | 'app'; id: string; name: string }
  createdAt: string
  updatedAt: string
  version: number
}

/** The DeliveryStatus of a delivery `d`. If the post may be out already, it is PUBLISHING until we know the outcome. */
const deliveryStatus = sql`case
  when d.state = 'needs_review' then 'NEEDS_REVIEW'
  when d.state in ('sending', 'uncertain') or d.maybe_out then 'PUBLISHING'
  when d.state = 'claimed' then 'SCHEDULED'
  else upper(d.state::text) end`

/**
 * SQL: the delivery of this alias is under way. Then its shown status changes without a write to its post, so that the
 * sends of one post do not wait for each other (deliveries_moving is its index).
 */
export function isMoving(d: SQL): SQL {
  return sql`(${d}.state in ('claimed', 'sending', 'uncertain') or (${d}.maybe_out and ${d}.state = 'scheduled'))`
}

/** SQL: when the shown status of the delivery of this alias last changed, while it is under way. */
export function movedAt(d: SQL): SQL {
  return sql`(
    select greatest(a.started_at, a.intended_at, a.ended_at) from attempts a
    where a.delivery_id = ${d}.id and a.no = ${d}.attempt_no)`
}

/**
 * The view of a post `p`, as one lateral row `v`: its status, the part of it that posts.told stores (`resting`), its
 * deliveries, the last change of one that is under way (`moved_at`), and its media.
 */
export const postView = postViewIn({ deliveries: sql`deliveries`, media: sql`post_media` })

/** Like `postView`, with other sources for deliveries and media: a statement does not see the rows that it inserts. */
export function postViewIn({ deliveries, media }: { deliveries: SQL; media: SQL }): SQL {
  return sql`lateral (select w.*,
    case when w.status = 'PUBLISHING' and not w.is_begun then 'SCHEDULED' else w.status end as resting
  from (select
    case
      when count(*) = 0 or (bool_or(s.status = 'DRAFT') and bool_and(s.status in ('DRAFT', 'CANCELLED'))) then 'DRAFT'
      when bool_and(s.status = 'CANCELLED') then 'CANCELLED'
      when bool_or(s.status = 'NEEDS_REVIEW') then 'NEEDS_REVIEW'
      when bool_or(s.status = 'HELD') then 'HELD'
      when bool_or(s.status = 'PUBLISHING')
        or (bool_or(s.status = 'SCHEDULED') and bool_or(s.status in ('PUBLISHED', 'FAILED'))) then 'PUBLISHING'
      when bool_or(s.status = 'SCHEDULED') then 'SCHEDULED'
      when bool_or(s.status = 'PUBLISHED') and bool_or(s.status = 'FAILED') then 'PARTIALLY_PUBLISHED'
      when bool_or(s.status = 'FAILED') then 'FAILED'
      else 'PUBLISHED'
    end as status,
    bool_or(s.status in ('PUBLISHED', 'FAILED')) as is_begun,
    max(s.moved_at) as moved_at,
    coalesce(json_agg(json_build_object(
      'channelId', s.channel_id, 'network', s.network, 'status', s.status, 'remoteId', s.remote_id, 'url', s.remote_url,
      'publishedAt', s.published_at, 'attempts', s.attempt_no, 'nextAttemptAt', s.next_attempt_at, 'error', ${shownError(sql`s.error`)}
    ) order by s.position, s.id) filter (where s.id is not null), '[]') as deliveries,
    coalesce(json_agg(json_strip_nulls(json_build_object(
      'channelId', s.channel_id, 'content', s.content, 'mediaIds', s.media_ids
    )) order by s.position, s.id) filter (where coalesce(s.content, s.media_ids::text) is not null), '[]') as overrides,
    (select coalesce(json_agg(m.media_id order by m.position), '[]') from ${media} m
      where m.post_id = p.id and m.organisation_id = p.organisation_id) as media
  from (
    select d.*, c.network, ${deliveryStatus} as status, case when ${isMoving(sql`d`)} then ${movedAt(sql`d`)} end as moved_at
    from ${deliveries} d join channels c on c.id = d.channel_id
    where d.post_id = p.id and d.organisation_id = p.organisation_id
  ) s) w
) v`
}

/**
 * SQL: the text that names a post `p`: the one for all channels, else the first one for a channel, else ''. Like `textOf`
 * (jobs/networks/text-length.ts) of what `showPost` shows, but not trimmed.
 */
export const anyText = sql`case when p.content ~ '\\S' then p.content else coalesce((
  select d.content from deliveries d
  where d.post_id = p.id and d.organisation_id = p.organisation_id and d.content ~ '\\S'
    and (d.state <> 'cancelled' or p.told = 'CANCELLED')
  order by d.position, d.id limit 1), '') end`

/** SQL: the post `p` is in its queue. Any change of its date takes it out (db/schema/posts.ts). */
export const isQueued = sql`(p.queue_id is not null and p.queue_date = p.date)`

/**
 * SQL: the post `p` is in the queue `id`. PostgreSQL guesses that few rows have two equal columns, and would read the whole
 * queue; of `coalesce` it guesses half, which is near enough for posts_of_queue.
 */
export function isInQueue(id: string): SQL {
  return sql`(p.queue_id = ${id}::uuid and coalesce(p.queue_date = p.date, false))`
}

/** SQL: the columns of PostRow, of a post `p` and its view `v`. */
export const postColumns = postColumnsAt(sql`greatest(p.updated_at, v.moved_at)`)

/** Like `postColumns`, for a post that changes at `updatedAt`. */
export function postColumnsAt(updatedAt: SQL): SQL {
  return sql`p.id, p.type, v.status, p.date, p.content, p.tags, p.version, p.created_by_kind, p.created_by_id, p.created_by_name,
    p.created_at, ${updatedAt} as updated_at, case when ${isQueued} then p.queue_id end as queue_id, v.deliveries, v.overrides, v.media`
}

/** A row of `select postColumns from posts p, postView`. */
export type PostRow = {
  id: string
  type: Post['type']
  status: PostStatus
  date: string | null
  content: string
  tags?: string[] // an event that the previous version wrote has none
  version: number
  created_by_kind: Post['createdBy']['kind']
  created_by_id: string
  created_by_name: string
  created_at: string
  updated_at: string
  queue_id?: string | null // events of the previous version have none
  deliveries: Delivery[]
  overrides: Override[]
  media: string[]
}

/** A row of `postView` as callers see it: times in ISO 8601, `channelIds` without cancelled ones. */
export function showPost(row: PostRow): Post {
  const channelIds = row.deliveries
    .filter(({ status }) => status !== 'CANCELLED' || row.status === 'CANCELLED')
    .map(({ channelId }) => channelId)
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    date: iso(row.date),
    content: row.content,
    channelIds,
    mediaIds: row.media,
    overrides: row.overrides.filter(({ channelId }) => channelIds.includes(channelId)),
    tags: row.tags ?? [],
    deliveries: row.deliveries.map((delivery) => ({
      ...delivery,
      publishedAt: iso(delivery.publishedAt),
      nextAttemptAt:
        delivery.status === 'SCHEDULED' || delivery.status === 'PUBLISHING' ? iso(delivery.nextAttemptAt) : null,
    })),
    queueId: row.queue_id ?? null,
    createdBy: { kind: row.created_by_kind, id: row.created_by_id, name: row.created_by_name },
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
    version: row.version,
  }
}

/** Converts a time from PostgreSQL's format to ours: ISO 8601, UTC, milliseconds. */
export function iso<T extends string | null>(value: T): T {
  return (value === null ? null : new Date(value).toISOString()) as T
}
