import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../db/client.ts'
import { deliveries } from '../../db/schema/ledger.ts'
import { postMedia } from '../../db/schema/media.ts'
import { emitNewPost } from '../../jobs/ledger/events.ts'
import { type Override, type Post, type PostRow, postColumns, postView, showPost } from '../../jobs/ledger/post-view.ts'
import { cancel, type Found, reschedule, sendAgain } from '../../jobs/ledger/user-actions.ts'
import { wakingAtDue } from '../../jobs/ledger/wake-ups.ts'
import type { Networks } from '../../jobs/networks/registry.ts'
import type { Actor } from '../access/credentials.ts'
import { reachesPost, type Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import type { Facts, Wanted } from './post-checks.ts'

// A post as rows: itself, its media, a delivery a channel.

/** A post of the organisation as callers see it. Throws `not_found`, also for a post of another organisation. */
export async function readPost(tx: Tx, who: Viewer, id: string): Promise<Post> {
  const [row] = await tx.execute<PostRow>(
    sql`select ${postColumns} from posts p, ${postView}
      where p.id = ${id} and p.organisation_id = ${who.organisationId} and ${reachesPost(who)}`,
  )
  if (!row) throw new Failure('not_found')
  return showPost(row)
}

type NewPost = {
  postId?: string | undefined
  type: Post['type']
  wanted: Wanted
  channels: Facts['channels']
  queueId: string | null // whose time its date is
}

/**
 * Create a post with its media, a delivery for each channel in the given order, the wake-ups of scheduled deliveries,
 * and the webhook events, all in one statement. Returns it as callers see it. `channels` has at least the wanted ones.
 */
export function makePost(tx: Tx, networks: Networks, actor: Actor, post: NewPost): Promise<Post> {
  const { postId = uuidv7(), type, wanted, channels, queueId } = post
  const { content, date, mediaIds, tags } = wanted
  const { organisationId } = actor
  const state = type === 'draft' ? 'draft' : 'scheduled'
  const made = insertion(networks, { organisationId, postId, ...wanted, channels, state, dueAt: date })
  const making = sql`
    post as (
      insert into posts (id, organisation_id, type, date, content, tags, told, created_by_kind, created_by_id, created_by_name,
        queue_id, queue_date)
      values (${postId}, ${organisationId}, ${type}, ${isoOf(date)}, ${content}, ${sql.param(tags)}::text[], ${state.toUpperCase()},
        ${actor.kind}, ${actor.id}, ${actor.name}, ${queueId}, ${queueId && isoOf(date)})
      returning *
    ), media as (
      insert into post_media (organisation_id, post_id, media_id, position)
      select ${organisationId}::uuid, ${postId}::uuid, id, place - 1
      from unnest(${sql.param(mediaIds)}::uuid[]) with ordinality as m (id, place)
      returning *
    ), made as ${made}, ${wakingAtDue(sql`made`)}`
  return emitNewPost(tx, organisationId, making)
}

/** Make `mediaIds`, in this order, the media of a post. */
export async function replaceMedia(tx: Tx, organisationId: string, postId: string, mediaIds: string[]): Promise<void> {
  await tx.delete(postMedia).where(and(eq(postMedia.postId, postId), eq(postMedia.organisationId, organisationId)))
  const rows = mediaIds.map((mediaId, position) => ({ organisationId, postId, mediaId, position }))
  if (rows.length > 0) await tx.insert(postMedia).values(rows)
}

type NewDeliveries = {
  organisationId: string
  postId: string
  channelIds: string[]
  channels: Facts['channels'] // these among others
  overrides: Override[]
  state: 'draft' | 'scheduled'
  dueAt: Date | null
}

function insertion(networks: Networks, wanted: NewDeliveries): SQL {
  const { organisationId, postId, channelIds, channels, overrides, state, dueAt } = wanted
  const rows = channelIds.map((channelId, position) => {
    const { network } = channels.find(({ id }) => id === channelId)!
    const id = uuidv7()
    const own = overrides.find((override) => override.channelId === channelId)
    return { ...own, id, channelId, position, publishKey: networks[network]?.mintPublishKey?.() ?? id }
  })
  return sql`(
      insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key, content, media_ids)
      select r.id, ${organisationId}::uuid, ${postId}::uuid, r."channelId", r.position, ${state}::delivery_state,
        ${isoOf(dueAt)}::timestamptz, r."publishKey", r.content, r."mediaIds"
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as r (id uuid, "channelId" uuid, position smallint, "publishKey" text, content text, "mediaIds" uuid[])
      returning *
    )`
}

function isoOf(date: Date | null): string | null {
  return date?.toISOString() ?? null
}

type DeliveryChange = {
  organisationId: string
  postId: string
  type: Post['type']
  wanted: Wanted
  found: Found[]
  channels: Facts['channels']
  keepsDueTime: boolean
  now: Date // of the database
}

/**
 * Change a post's deliveries to those wanted: remove the channels left out, add the new ones, and give the others the new
 * due time, unless `keepsDueTime`. Failed ones are sent again: at the new due time, or at once. Published ones stay as they are.
 */
export async function changeDeliveries(tx: Tx, networks: Networks, change: DeliveryChange): Promise<void> {
  const { organisationId, postId, type, wanted, found, channels, keepsDueTime, now } = change
  const to = { state: type === 'draft' ? 'draft' : 'scheduled', dueAt: wanted.date } as const
  // The time of a post that failed or waits is in the past: an added delivery would count as too late.
  const added = { ...to, dueAt: type !== 'draft' && wanted.date && wanted.date < now ? now : wanted.date }
  const leaving = found.filter(
    ({ channelId, state }) => !wanted.channelIds.includes(channelId) && state !== 'cancelled',
  )
  const staying = found.filter(({ channelId }) => wanted.channelIds.includes(channelId))
  await removeDeliveries(tx, change, leaving)
  const unsent = staying.filter(({ state }) => !['cancelled', 'failed', 'published'].includes(state))
  const inState = (wanted: Found['state']) => staying.filter(({ state }) => state === wanted)
  await reschedule(tx, unsent, keepsDueTime ? { state: to.state } : to)
  await reschedule(tx, inState('cancelled'), added)
  await sendAgain(tx, inState('failed'), keepsDueTime ? null : wanted.date)
  const channelIds = wanted.channelIds.filter((id) => !found.some(({ channelId }) => channelId === id))
  if (channelIds.length > 0) {
    const made = insertion(networks, {
      organisationId,
      postId,
      channelIds,
      channels,
      overrides: wanted.overrides,
      ...added,
    })
    await tx.execute(sql`with made as ${made}, ${wakingAtDue(sql`made`)} select from woken`)
  }
  await arrange(tx, organisationId, postId, wanted)
}

// Those that were never attempted go; the others stay as cancelled, with their attempts.
async function removeDeliveries(
  tx: Tx,
  { organisationId, postId }: Pick<DeliveryChange, 'organisationId' | 'postId'>,
  leaving: Found[],
): Promise<void> {
  await cancel(tx, leaving)
  await tx.delete(deliveries).where(
    and(
      eq(deliveries.postId, postId),
      eq(deliveries.state, 'cancelled'),
      eq(deliveries.attemptNo, 0),
      eq(deliveries.organisationId, organisationId),
      inArray(
        deliveries.id,
        leaving.map(({ id }) => id),
      ),
    ),
  )
}

/** Give a post's deliveries the order of their channels, and their own text and media, unless they are published. */
async function arrange(
  tx: Tx,
  organisationId: string,
  postId: string,
  { channelIds, overrides }: Wanted,
): Promise<void> {
  await tx.execute(sql`
    update deliveries d set position = named.place,
      content = case when d.state = 'published' then d.content else o.content end,
      media_ids = case when d.state = 'published' then d.media_ids else o."mediaIds" end
    from unnest(${sql.param(channelIds)}::uuid[]) with ordinality as named (channel_id, place)
    left join json_to_recordset(${JSON.stringify(overrides)}::json) as o ("channelId" uuid, content text, "mediaIds" uuid[])
      on o."channelId" = named.channel_id
    where d.post_id = ${postId} and d.organisation_id = ${organisationId} and d.channel_id = named.channel_id`)
}
