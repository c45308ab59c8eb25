import { and, eq, inArray, sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../db/client.ts'
import { deliveries, postMedia, posts } from '../db/schema.ts'
import type { Networks } from '../jobs/networks/registry.ts'
import { cancel, type Found, reschedule } from '../jobs/orders.ts'
import { type Post, type PostRow, postView, showPost } from '../jobs/post-view.ts'
import { wakeAtDue } from '../jobs/queue.ts'
import type { Actor } from './actor.ts'
import { Failure } from './errors.ts'
import { reachesPost, type Who } from './reach.ts'
import type { Wanted } from './rules.ts'

// A post as rows: itself, its media, a delivery a channel.

/** A post of the organisation as callers see it. Throws `not_found`, for another organisation's just the same. */
export async function readPost(tx: Tx, who: Who, id: string): Promise<Post> {
  const [row] = await tx.execute<PostRow>(
    sql`select p.*, v.* from posts p, ${postView}
      where p.id = ${id} and p.organisation_id = ${who.organisationId} and ${reachesPost(who)}`,
  )
  if (!row) throw new Failure('not_found')
  return showPost(row)
}

/** Insert a post with its media, without deliveries yet; returns its id. */
export async function insertPost(
  tx: Tx,
  organisationId: string,
  type: Post['type'],
  wanted: Wanted,
  actor: Actor,
): Promise<string> {
  const id = uuidv7()
  const { content, date } = wanted
  const createdBy = { createdByKind: actor.kind, createdById: actor.id, createdByName: actor.name }
  await tx.insert(posts).values({ id, organisationId, type, content, date, ...createdBy })
  await replaceMedia(tx, organisationId, id, wanted.mediaIds)
  return id
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
  state: 'draft' | 'scheduled'
  dueAt: Date | null
}

/** Insert one delivery a channel, in the order given, with the wake-ups of those that are scheduled. */
export async function insertDeliveries(tx: Tx, networks: Networks, wanted: NewDeliveries): Promise<void> {
  const { channelIds, ...shared } = wanted
  if (channelIds.length === 0) return
  const networkOf = await tx.query.channels.findMany({
    columns: { id: true, network: true },
    where: (channel) => and(eq(channel.organisationId, wanted.organisationId), inArray(channel.id, channelIds)),
  })
  const rows = channelIds.map((channelId, position) => {
    const network = networkOf.find(({ id }) => id === channelId)!.network
    const id = uuidv7()
    return { id, ...shared, channelId, position, publishKey: networks[network]?.mintPublishKey?.() ?? id }
  })
  await tx.insert(deliveries).values(rows)
  if (wanted.state === 'scheduled')
    await wakeAtDue(
      tx,
      rows.map(({ id }) => id),
    )
}

/** Bring a post's deliveries to what is wanted: channels left out leave, new ones come, the others get the new hour, unless `keepsHour`. */
export async function changeDeliveries(
  tx: Tx,
  networks: Networks,
  change: {
    organisationId: string
    postId: string
    type: Post['type']
    wanted: Wanted
    found: Found[]
    keepsHour: boolean
  },
): Promise<void> {
  const { organisationId, postId, type, wanted, found, keepsHour } = change
  const to = { state: type === 'draft' ? 'draft' : 'scheduled', dueAt: wanted.date } as const
  const leaving = found.filter(
    ({ channelId, state }) => !wanted.channelIds.includes(channelId) && state !== 'cancelled',
  )
  const staying = found.filter(({ channelId }) => wanted.channelIds.includes(channelId))
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
  const named = (isBack: boolean) => staying.filter(({ state }) => (state === 'cancelled') === isBack)
  await reschedule(tx, named(false), keepsHour ? { state: to.state } : to)
  await reschedule(tx, named(true), to)
  const arriving = wanted.channelIds.filter((id) => !found.some(({ channelId }) => channelId === id))
  await insertDeliveries(tx, networks, { organisationId, postId, channelIds: arriving, ...to })
  await arrange(tx, organisationId, postId, wanted)
}

/** Give a post's deliveries the order in which their channels are named, and what they have of their own. */
export async function arrange(
  tx: Tx,
  organisationId: string,
  postId: string,
  { channelIds, overrides }: Wanted,
): Promise<void> {
  await tx.execute(sql`
    update deliveries d set position = named.place, content = o.content, media_ids = o."mediaIds"
    from unnest(${sql.param(channelIds)}::uuid[]) with ordinality as named (channel_id, place)
    left join json_to_recordset(${JSON.stringify(overrides)}::json) as o ("channelId" uuid, content text, "mediaIds" uuid[])
      on o."channelId" = named.channel_id
    where d.post_id = ${postId} and d.organisation_id = ${organisationId} and d.channel_id = named.channel_id`)
}
