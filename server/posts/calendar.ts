import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import type { WeeklyTime } from '../../db/schema/queues.ts'
import { anyText, iso, isQueued, type Post, type PostStatus, postStatuses } from '../../jobs/ledger/post-view.ts'
import { takesTime } from '../../jobs/queues/queue.ts'
import { timesWithin } from '../../jobs/queues/weekly-times.ts'
import { needs, router } from '../access/trpc.ts'
import { reachesChannel, reachesPost, type Viewer } from '../access/visibility.ts'
import { Id, Instant } from '../forms.ts'
import { tagsOf } from './find.ts'
import { ListPosts, moving, PostStatuses, tagged } from './list.ts'
import { updatePost } from './write.ts'

// The posts of a range of days, for the calendar: little of each one, because there may be thousands. And the free times
// of queues in these days.

const PostsAtMost = 2000
const FreeTimesAtMost = 500
const TextLength = 80
const RangeDaysAtMost = 45 // the six weeks that a month may touch, and some

const days = { from: Instant, to: Instant }
const isShort = ({ from, to }: { from: Date; to: Date }) =>
  to.getTime() - from.getTime() <= RangeDaysAtMost * 86_400_000
const tooLong = { path: ['to'], error: `At most ${RangeDaysAtMost} days after from.` }

/** Which posts: the range begins at `from` and ends before `to`. */
const ListCalendar = z
  .strictObject({ ...days, status: PostStatuses.optional(), channelId: Id.optional(), tag: ListPosts.shape.tag })
  .refine(isShort, tooLong)

/** Which free times: in the same range, of the queues that have the channel. */
const FreeTimes = z.strictObject({ ...days, channelId: Id.optional() }).refine(isShort, tooLong)

/** A post, its new date, and the queue whose time that may be. `ifVersions`: the post must have one of them. */
const MoveTo = z.strictObject({
  id: Id,
  date: Instant,
  queueId: Id.nullable(),
  ifVersions: z.array(z.number().int()).optional(),
})

/** A post in the calendar. `text` is the beginning of its text: at most 80 characters. */
export type CalendarPost = {
  id: string
  date: string
  status: PostStatus
  text: string
  channelIds: string[]
  version: number
  mediaCount: number
  queueId: string | null
}

/** A time of a queue that the next post can take. */
export type FreeTime = { queueId: string; at: string }

type Range = z.output<typeof ListCalendar>
type Row = Omit<CalendarPost, 'date'> & { date: string }

export const calendar = router({
  /** The posts of a range of days, soonest first. `hasMore`: there are more than the 2,000 that it returns. */
  list: needs('posts:read')
    .input(ListCalendar)
    .query(({ ctx: { db, actor }, input }) => postsInRange(db, actor, input)),

  /** The free times of the queues that are not paused, soonest first. `hasMore`: there are more than the 500 that it returns. */
  freeTimes: needs('posts:read')
    .input(FreeTimes)
    .query(({ ctx: { db, actor }, input }) => freeTimesInRange(db, actor, input)),

  /** The tags that posts can be filtered by. */
  tags: needs('posts:read').query(({ ctx: { db, actor } }): Promise<string[]> => tagsOf(db, actor)),

  /**
   * Move a post. It takes the date from the queue if that is a free time there: Undo puts it back like this, and a free time
   * that was chosen in the calendar is taken. Throws what PATCH /posts/{id} throws.
   */
  moveTo: needs('posts:write')
    .input(MoveTo)
    .mutation(
      ({ ctx, input: { queueId, ...change } }): Promise<Post> =>
        ctx.db.transaction((tx) => updatePost(tx, ctx, change, queueId)),
    ),
})

async function postsInRange(db: Tx, who: Viewer, range: Range): Promise<{ posts: CalendarPost[]; hasMore: boolean }> {
  const rows = await db.execute<Row>(sql`
    with ${moving(who)}, ${tagged({ who, tag: range.tag })} found as materialized (
      select date, id, shown from (${piecesOf(who, range)}) piece order by date, id limit ${PostsAtMost + 1}
    )
    select p.id, p.date, f.shown as status, ${beginning} as text, p.version, c.ids as "channelIds", m.count as "mediaCount",
      case when ${isQueued} then p.queue_id end as "queueId"
    from found f join posts p on p.id = f.id and p.organisation_id = ${who.organisationId}, lateral (
      select coalesce(json_agg(d.channel_id order by d.position, d.id), '[]') as ids from deliveries d
      where d.post_id = p.id and d.organisation_id = p.organisation_id and (d.state <> 'cancelled' or f.shown = 'CANCELLED')
    ) c, lateral (
      select count(*)::int as count from post_media m where m.post_id = p.id and m.organisation_id = p.organisation_id
    ) m
    order by f.date, f.id`)
  const posts = rows.slice(0, PostsAtMost).map((row): CalendarPost => ({ ...row, date: iso(row.date) }))
  return { posts, hasMore: rows.length > PostsAtMost }
}

const beginning = sql`(select case when length(t.text) > ${sql.raw(String(TextLength))}
  then left(t.text, ${sql.raw(String(TextLength - 1))}) || '…' else t.text end from (select ${anyText} as text) t)`

// An index gives the range of each status. A post that is being sent has the status from before in its row.
function piecesOf(who: Viewer, { from, to, status: statuses, channelId, tag }: Range): SQL {
  const [after, before] = [from.toISOString(), to.toISOString()]
  const stored = postStatuses.filter(
    (one) => !statuses || statuses.includes(one) || (one === 'SCHEDULED' && statuses.includes('PUBLISHING')),
  )
  const isOnChannel = channelId
    ? sql`exists (select from channel_posts c where c.post_id = p.id and c.channel_id = ${channelId})`
    : sql`true`
  const isTagged = tag === undefined ? sql`true` : sql`p.id in (select t.id from tagged t)`
  const shown = sql`case when p.told = 'SCHEDULED' and m.is_sending then 'PUBLISHING' else p.told end`
  return sql.join(
    stored.map(
      (one) => sql`(select p.date, p.id, ${shown} as shown from posts p left join moving m on m.id = p.id
        where p.organisation_id = ${who.organisationId} and p.told = ${sql.raw(`'${one}'`)}
          and p.date >= ${after}::timestamptz and p.date < ${before}::timestamptz
          and ${isOnChannel} and ${isTagged} and ${reachesPost(who)}
          ${statuses ? sql`and ${shown} = any(${sql.param(statuses)}::text[])` : sql``}
        order by p.date, p.id limit ${PostsAtMost + 1})`,
    ),
    sql` union all `,
  )
}

type OpenQueue = { id: string; timeZone: string; times: WeeklyTime[]; taken: string[]; now: string }

async function freeTimesInRange(
  db: Tx,
  who: Viewer,
  range: z.output<typeof FreeTimes>,
): Promise<{ times: FreeTime[]; hasMore: boolean }> {
  const times = (await openQueues(db, who, range)).flatMap(({ id, taken, now, ...queue }) => {
    const passedOver = new Set(taken.map((at) => new Date(at).getTime()))
    const free = timesWithin(queue, new Date(now), range, FreeTimesAtMost + 1, passedOver)
    return free.map((at): FreeTime => ({ queueId: id, at: at.toISOString() }))
  })
  const soonest = times.toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
  return { times: soonest.slice(0, FreeTimesAtMost), hasMore: times.length > FreeTimesAtMost }
}

// The queues that give times, with the times of the range that are taken: one statement for all of them.
async function openQueues(
  db: Tx,
  who: Viewer,
  { from, to, ...wanted }: z.output<typeof FreeTimes>,
): Promise<OpenQueue[]> {
  const { channelId = null } = wanted
  const rows = await db.execute<OpenQueue>(sql`
    select q.id, q.time_zone as "timeZone", q.times, clock_timestamp()::timestamptz(3) as now,
      (select coalesce(json_agg(p.date), '[]') from posts p
        where p.queue_id = q.id and p.organisation_id = q.organisation_id and ${takesTime}
          and p.date >= ${from.toISOString()}::timestamptz and p.date < ${to.toISOString()}::timestamptz) as taken
    from queues q
    where q.organisation_id = ${who.organisationId} and q.paused_at is null and exists (
      select from queue_channels qc join channels c on c.id = qc.channel_id
      where qc.queue_id = q.id and qc.organisation_id = q.organisation_id and c.status <> 'disconnected'
        and ${reachesChannel(who, sql`c.id`)} and (${channelId}::uuid is null or c.id = ${channelId}::uuid))
    order by q.created_at, q.id`)
  return [...rows]
}
