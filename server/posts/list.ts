import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import {
  isInQueue,
  isMoving,
  iso,
  movedAt,
  type Post,
  type PostRow,
  type PostStatus,
  postColumns,
  postStatuses,
  postView,
  showPost,
} from '../../jobs/ledger/post-view.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { channelsGrantedTo, reachesPost, type Viewer } from '../access/visibility.ts'
import { cursor, Id, Instant, limit, text } from '../forms.ts'

// Lists of posts. A list is made of pieces. An index gives each piece in the order of the list, cut off after a
// page: one for each status, and one for posts without a date. So a page costs what it shows, for any number of posts. Which
// statuses are wanted is a parameter: each connection keeps every statement that it has seen.

/** One or more statuses. */
export const PostStatuses = z.array(z.enum(postStatuses)).min(1).max(postStatuses.length)
/** What a list of posts can be asked for. */
export const ListPosts = z.strictObject({
  status: z
    .union(
      [z.enum(postStatuses), PostStatuses],
      `Must be one or more of ${postStatuses.join(', ')}, separated by commas.`,
    )
    .optional()
    .meta({ description: 'One or more, separated by commas.' }),
  channelId: Id.optional(),
  tag: text(50)
    .transform((tag) => tag.trim().normalize())
    .optional(),
  queueId: Id.optional().meta({
    description: 'Only posts that have a time of this queue, also after they went out: those with this `queueId`.',
  }),
  from: Instant.optional(),
  to: Instant.optional(),
  updatedSince: Instant.optional().meta({
    description:
      'Only posts that changed at or after this time, sending included. Let each call overlap the one before by a minute: a change may be saved with a slightly earlier time.',
  }),
  sort: z
    .enum(['date', 'updatedAt'])
    .optional()
    .meta({ description: 'Default: `date`, or `updatedAt` with `updatedSince`.' }),
  order: z.enum(['asc', 'desc']).default('desc'),
  limit,
  cursor,
})

/** Which posts to count. */
export const CountPosts = z.strictObject({ status: PostStatuses, to: Instant.optional() })

type ListQuery = z.output<typeof ListPosts>
type List = Omit<ListQuery, 'status'> & {
  who: Viewer
  statuses: PostStatus[] | null
  sort: Sort
  after: [string | null, string] | null
}
type Sort = 'date' | 'updatedAt'

/** A page of the organisation's posts that `who` may see. Throws `invalid_request` for a cursor of another sort. */
export async function listPosts(db: Tx, who: Viewer, wanted: ListQuery): Promise<Page<Post>> {
  const sort = wanted.sort ?? (wanted.updatedSince ? 'updatedAt' : 'date')
  const statuses = wanted.status ? [wanted.status].flat() : null
  const list: List = { ...wanted, who, statuses, sort, after: positionOf(wanted.cursor, sort) }
  const dir = direction(list)
  const rows = await db.execute<PostRow & { at: string | null }>(sql`
    with ${moving(who)}, ${tagged(list)} found as materialized (
      select at, id from (${allOf(partsOf(list).map((part) => partOf(list, part)))}) part
      order by at ${dir} nulls last, id ${dir} limit ${list.limit + 1}
    )
    select ${postColumns}, f.at from found f join posts p on p.id = f.id and p.organisation_id = ${who.organisationId}, ${postView}
    order by f.at ${dir} nulls last, f.id ${dir}`)
  return pageOf([...rows], list.limit, showPost, ({ at, id }) => [iso(at), id], sort)
}

/** How many posts that `who` may see have one of these statuses, before `to` where it is given. SCHEDULED includes what is being sent. */
export async function countPosts(
  db: Tx,
  who: Viewer,
  { status, to }: { status: string[]; to?: Date | undefined },
): Promise<number> {
  const [row] = await db.execute<{ count: number }>(sql`
    select count(*)::int as count from posts p
    where p.organisation_id = ${who.organisationId} and ${reachesPost(who)} and p.told = any(${sql.param(status)}::text[])
      ${to ? sql`and p.date < ${to.toISOString()}` : sql``}`)
  return row!.count
}

/** SQL: the common table `moving`: the organisation's posts with a delivery in progress. They are few. Their rows lack part of what posts show. */
export function moving({ organisationId }: Viewer): SQL {
  return sql`moving as materialized (
    select d.post_id as id, max(${movedAt(sql`d`)}) as at, bool_or(d.state <> 'claimed' or d.maybe_out) as is_sending
    from deliveries d where d.organisation_id = ${organisationId} and ${isMoving(sql`d`)} group by 1)`
}

/** SQL: the common table `tagged`, if there is a tag, and a comma. */
export function tagged({ who, tag }: Pick<List, 'who' | 'tag'>): SQL {
  if (tag === undefined) return sql``
  return sql`tagged as materialized (
    select t.post_id as id from post_search t
    where t.organisation_id = ${who.organisationId} and t.tags @> array[${tag}::text]),`
}

/** The rows that have a sort value, or those that have none, which come last in either order. */
type Part = 'valued' | 'empty'

function partsOf({ sort, after, from, to }: List): Part[] {
  if (after && after[0] === null) return ['empty']
  return sort === 'updatedAt' || from || to ? ['valued'] : ['valued', 'empty']
}

// In the order of its pieces: of each no more is read than the page takes.
function partOf(list: List, part: Part): SQL {
  const dir = direction(list)
  return sql`(select distinct at, id from (${allOf(piecesOf(list, part))}) piece
    order by at ${dir}, id ${dir} limit ${list.limit + 1})`
}

function piecesOf(list: List, part: Part): SQL[] {
  const { who, statuses, channelId, queueId, sort } = list
  const isWhole = queueId !== undefined || (!channelsGrantedTo(who) && !channelId)
  const pieces = isWhole
    ? postStatuses.map((one) => organisationPiece(list, one, part))
    : (statuses ? postStatuses : [null]).flatMap((one) => piecesOfChannels(list, one, part))
  if (part === 'valued' && (sort === 'updatedAt' || statuses)) pieces.push(movingPiece(list))
  return pieces
}

function piecesOfChannels(list: List, status: PostStatus | null, part: Part): SQL[] {
  const { who, channelId } = list
  const granted = channelsGrantedTo(who)
  const channelIds = !channelId ? granted! : !granted || granted.includes(channelId) ? [channelId] : []
  const ownDrafts = granted && !channelId && (status === null || status === 'DRAFT')
  return [
    channelPiece(list, status, part, { channelIds, isAlone: true }),
    ...(granted?.length === 1 ? [] : [channelPiece(list, status, part, { channelIds, isAlone: false })]),
    ...(ownDrafts ? [ownDraftPiece(list, status, part)] : []),
  ]
}

function allOf(pieces: SQL[]): SQL {
  return sql.join(pieces, sql` union all `)
}

// Of the whole organisation, or of a queue. `p` is the post.
function organisationPiece(list: List, status: PostStatus, part: Part): SQL {
  const of = { date: sql`p.date`, updatedAt: sql`p.updated_at`, id: sql`p.id`, status: sql`p.told` }
  return sql`(select ${value(list, of)} as at, p.id from posts p
    where p.organisation_id = ${list.who.organisationId} ${ofQueue(list)} and ${filters(list, of, part, status)} ${ordered(list, of)})`
}

// A queue has an index in the order of the list. A token of some channels, and one channel, sift its posts.
function ofQueue(list: List): SQL {
  if (list.queueId === undefined) return sql``
  return sql`and ${isInQueue(list.queueId)} and ${reachesPost(list.who)} ${onChannel(list)}`
}

function onChannel({ channelId }: List): SQL {
  if (!channelId) return sql``
  return sql`and not ${none(sql`channel_posts c where c.post_id = p.id and c.channel_id = ${channelId}`)}`
}

// Of some channels: a page of each, of which the list takes the first. Posts on one of them alone, or on others as well.
function channelPiece(
  list: List,
  status: PostStatus | null,
  part: Part,
  { channelIds, isAlone }: { channelIds: string[]; isAlone: boolean },
): SQL {
  const { who } = list
  const of = { date: sql`c.date`, updatedAt: sql`c.updated_at`, id: sql`c.post_id`, status: sql`c.status` }
  const granted = channelsGrantedTo(who)
  const isReached =
    granted && !isAlone
      ? none(sql`channel_posts o where o.post_id = c.post_id and o.channel_id <> all(${sql.param(granted)}::uuid[])`)
      : sql`true`
  return sql`(select of_channel.at, of_channel.id from unnest(${sql.param(channelIds)}::uuid[]) channel (id), lateral (
    select ${value(list, of)} as at, c.post_id as id from channel_posts c
    where c.channel_id = channel.id and c.is_alone = ${isAlone} and c.organisation_id = ${who.organisationId} and ${isReached}
      and ${filters(list, of, part, status)} ${ordered(list, of)}) of_channel)`
}

// True if there is no row. Checked for each candidate: `not exists` may be planned as a join that reads them all.
function none(rows: SQL): SQL {
  return sql`(select true from ${rows} limit 1) is null`
}

// Drafts without a channel: an app with some channels sees its own.
function ownDraftPiece(list: List, status: PostStatus | null, part: Part): SQL {
  const { who } = list
  const of = { date: sql`p.date`, updatedAt: sql`p.updated_at`, id: sql`p.id`, status: sql`p.told` }
  return sql`(select ${value(list, of)} as at, p.id from posts p
    where p.created_by_id = ${who.id} and p.organisation_id = ${who.organisationId} and p.told = 'DRAFT'
      and ${none(sql`deliveries d where d.post_id = p.id`)} and ${filters(list, of, part, status)} ${ordered(list, of)})`
}

// Posts that are being sent: the post's row does not have all of their status and last change.
function movingPiece(list: List): SQL {
  const { who, statuses, queueId, sort } = list
  const of = { date: sql`p.date`, updatedAt: sql`greatest(p.updated_at, m.at)`, id: sql`p.id`, status: sql`p.told` }
  const shown = sql`case when p.told = 'SCHEDULED' and m.is_sending then 'PUBLISHING' else p.told end`
  return sql`(select ${value(list, of)} as at, p.id from moving m, lateral (select o.* from posts o where o.id = m.id limit 1) p -- one by one
    where ${reachesPost(who)}
      ${onChannel(list)} ${queueId === undefined ? sql`` : sql`and ${isInQueue(queueId)}`}
      ${statuses ? sql`and ${shown} = any(${sql.param(statuses)}::text[])` : sql``}
      ${sort === 'date' ? sql`and p.told = 'SCHEDULED' and m.is_sending` : sql``}
      and ${filters(list, of, 'valued', null, true)} ${ordered(list, of)})`
}

type Columns = { date: SQL; updatedAt: SQL; id: SQL; status: SQL }

function value({ sort }: List, of: Columns): SQL {
  return of[sort]
}

/** What a row of a piece must be. `isMovingPiece`: it is under way; else the other piece has it where it is sorted by its change. */
function filters(list: List, of: Columns, part: Part, status: PostStatus | null, isMovingPiece = false): SQL {
  const { statuses, tag, sort, order, after, from, to, updatedSince } = list
  const at = value(list, of)
  const beyond = order === 'asc' ? sql`>` : sql`<`
  const all = [part === 'valued' ? sql`${at} is not null` : sql`${at} is null`]
  if (status) all.push(sql`${of.status} = ${sql.raw(`'${status}'`)}`)
  if (status && statuses) all.push(sql`${sql.raw(`'${status}'`)} = any(${sql.param(statuses)}::text[])`)
  if (tag !== undefined) all.push(sql`${of.id} in (select t.id from tagged t)`)
  if (from || to)
    all.push(sql`${of.date} >= coalesce(${from?.toISOString() ?? null}::timestamptz, '-infinity')
      and ${of.date} < coalesce(${to?.toISOString() ?? null}::timestamptz, 'infinity')`)
  if (after && part === 'valued' && after[0] !== null)
    all.push(sql`(${at}, ${of.id}) ${beyond} (${after[0]}::timestamptz, ${after[1]}::uuid)`)
  if (after && part === 'empty' && after[0] === null) all.push(sql`${of.id} ${beyond} ${after[1]}::uuid`)
  if (updatedSince) {
    const since = sql`${updatedSince.toISOString()}::timestamptz`
    const movedSince = sql`${of.id} in (select m.id from moving m where m.at >= ${since})`
    all.push(
      sort === 'updatedAt' ? sql`${of.updatedAt} >= ${since}` : sql`(${of.updatedAt} >= ${since} or ${movedSince})`,
    )
  }
  if (!isMovingPiece && sort === 'updatedAt') all.push(sql`${of.id} not in (select m.id from moving m)`)
  else if (!isMovingPiece && statuses && status === 'SCHEDULED')
    all.push(sql`${of.id} not in (select m.id from moving m where m.is_sending)`)
  return sql.join(all, sql` and `)
}

function ordered(list: List, of: Columns): SQL {
  const dir = direction(list)
  return sql`order by ${value(list, of)} ${dir}, ${of.id} ${dir} limit ${list.limit + 1}`
}

function direction({ order }: List): SQL {
  return order === 'asc' ? sql`asc` : sql`desc`
}
