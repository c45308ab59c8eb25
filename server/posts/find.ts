import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { type Db, sqlStateOf, type Tx } from '../../db/client.ts'
import {
  isInQueue,
  iso,
  type Post,
  type PostRow,
  postColumns,
  postView,
  showPost,
} from '../../jobs/ledger/post-view.ts'
import { limitPerOrganisation } from '../access/concurrency.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { reachesPost, type Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'
import { cursor, Id, Instant, limit, text } from '../forms.ts'
import { moving, PostStatuses } from './list.ts'

// Finds posts for the page Find posts. A match can be at any date, so this reads all matches before it sorts them: by the
// indexes of post_search if there are words or a tag, by a queue's index if there is a queue.

const WordsAtMost = 6

export const FindPosts = z.strictObject({
  words: text(200).default(''),
  tag: text(50).optional(),
  channelId: Id.optional(),
  queueId: Id.optional(),
  status: PostStatuses.optional(),
  authorId: Id.optional(),
  from: Instant.optional(),
  to: Instant.optional(),
  limit,
  cursor,
})

type Wanted = z.output<typeof FindPosts>

const LongestMs = 3000
const Cancelled = '57014'

// LIKE can take seconds for long texts, and all organisations share the connections of the process (docs/decisions/063).
const inTurn = limitPerOrganisation({ atOnce: 4, each: 2, waitingAtMost: 6, of: 'searches' })

/**
 * The organisation's posts that match all filters: newest first, posts without a date last. Throws `unprocessable` for a
 * search that takes too long, and `rate_limited` when too many of the organisation wait.
 */
export function findPosts(db: Db, who: Viewer, wanted: Wanted): Promise<Page<Post>> {
  return inTurn(who.organisationId, async () => {
    try {
      return await db.transaction(async (tx) => {
        await tx.execute(sql`set local statement_timeout = ${sql.raw(String(LongestMs))}`)
        return matchesOf(tx, who, wanted)
      })
    } catch (cause) {
      // Without words only the database can be so slow: that is a failure of ours.
      if (sqlStateOf(cause) !== Cancelled || wordsIn(wanted.words).length === 0) throw cause
      throw new Failure('unprocessable', { errors: [tooSlow], cause })
    }
  })
}

const tooSlow = {
  path: 'words',
  code: 'too_slow' as const,
  message: 'This search takes too long. Enter a longer word, add a tag, or choose fewer days.',
}

async function matchesOf(db: Tx, who: Viewer, wanted: Wanted): Promise<Page<Post>> {
  const after = positionOf(wanted.cursor)
  const rows = await db.execute<PostRow & { at: string | null }>(sql`
    with ${moving(who)}, found as materialized (
      select p.id, p.date as at from posts p left join moving m on m.id = p.id
      where p.organisation_id = ${who.organisationId} and ${reachesPost(who)}
        and ${sql.join(filters(who, wanted), sql` and `)} ${after ? isAfter(after) : sql``}
      order by p.date desc nulls last, p.id desc limit ${wanted.limit + 1}
    )
    select ${postColumns}, f.at from found f join posts p on p.id = f.id and p.organisation_id = ${who.organisationId}, ${postView}
    order by f.at desc nulls last, f.id desc`)
  return pageOf([...rows], wanted.limit, showPost, ({ at, id }) => [iso(at), id])
}

type Named = { id: string; name: string }
type Choices = { authors: Named[]; tags: string[]; queues: Named[] }

/** The choices of the filters: the authors of the organisation's posts, each by their newest name, tags and queues. */
export async function findableBy(db: Tx, { organisationId }: Viewer): Promise<Choices> {
  const [row] = await db.execute<Choices>(sql`
    select
      (select coalesce(json_agg(a order by a.name), '[]') from (
        select distinct on (created_by_id) created_by_id as id, created_by_name as name from posts
        where organisation_id = ${organisationId} order by created_by_id, created_at desc limit ${ChoicesAtMost}) a) as authors,
      (select coalesce(json_agg(t.tag order by t.tag), '[]') from (
        ${tagsIn(organisationId)}) t) as tags,
      (select coalesce(json_agg(json_build_object('id', q.id, 'name', q.name) order by lower(q.name)), '[]')
        from queues q where q.organisation_id = ${organisationId}) as queues`)
  return row!
}

const ChoicesAtMost = 200

// Most filters that are not set are null, so few statements differ: each connection keeps every statement that it has seen.
function filters(who: Viewer, wanted: Wanted): SQL[] {
  const { tag, queueId, channelId = null, status = null, authorId = null, from = null, to = null } = wanted
  const statuses = status && sql.param(status)
  const words = wordsIn(wanted.words)
  const shownStatus = sql`case when p.told = 'SCHEDULED' and m.is_sending then 'PUBLISHING' else p.told end`
  return [
    ...(words.length > 0 || tag !== undefined ? [sql`p.id in (${matching(who, words, tag)})`] : []),
    ...(queueId === undefined ? [] : [isInQueue(queueId)]), // so its index counts
    sql`(${channelId}::uuid is null
      or exists (select from channel_posts c where c.post_id = p.id and c.channel_id = ${channelId}::uuid))`,
    sql`(${statuses}::text[] is null or ${shownStatus} = any(${statuses}::text[]))`,
    sql`(${authorId}::uuid is null or p.created_by_id = ${authorId}::uuid)`,
    sql`(${isoOf(from)}::timestamptz is null or p.date >= ${isoOf(from)}::timestamptz)`,
    sql`(${isoOf(to)}::timestamptz is null or p.date < ${isoOf(to)}::timestamptz)`,
  ]
}

function matching({ organisationId }: Viewer, words: string[], tag: string | undefined): SQL {
  const all = words.map((word) => sql`s.texts like ${likeAnywhere(word)}`)
  if (tag !== undefined) all.push(sql`s.tags @> array[${tag}::text]`)
  return sql`select s.post_id from post_search s where s.organisation_id = ${organisationId} and ${sql.join(all, sql` and `)}`
}

// A word matches any part of a text: some languages write no spaces. After the fifth word, the rest counts as one.
function wordsIn(typed: string): string[] {
  const words = typed.trim().split(/\s+/u).filter(Boolean)
  return words.length <= WordsAtMost
    ? words
    : [...words.slice(0, WordsAtMost - 1), words.slice(WordsAtMost - 1).join(' ')]
}

// Normalized like the texts in post_search. LIKE's own characters are escaped after that: NFKC turns others into them.
function likeAnywhere(word: string): SQL {
  return sql`'%' || regexp_replace(lower(normalize(${word}::text, NFKC)), '([\\\\%_])', '\\\\\\1', 'g') || '%'`
}

function isAfter([at, id]: [string | null, string]): SQL {
  if (at === null) return sql`and p.date is null and p.id < ${id}::uuid`
  return sql`and (p.date is null or (p.date, p.id) < (${at}::timestamptz, ${id}::uuid))`
}

function isoOf(date: Date | null): string | null {
  return date?.toISOString() ?? null
}

/** All tags of the organisation's posts, the first 200 by name: the choices of the calendar's filter. */
export async function tagsOf(db: Tx, { organisationId }: Viewer): Promise<string[]> {
  const rows = await db.execute<{ tag: string }>(tagsIn(organisationId))
  return [...rows].map(({ tag }) => tag)
}

function tagsIn(organisationId: string): SQL {
  return sql`
    select distinct unnest(tags) as tag from post_search
    where organisation_id = ${organisationId} and tags <> '{}' order by tag limit ${ChoicesAtMost}`
}
