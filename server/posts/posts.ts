import { sql } from 'drizzle-orm'
import type { z } from 'zod'
import { sqlStateOf, type Tx } from '../../db/client.ts'
import { emit, emitPostEvent } from '../../jobs/ledger/events.ts'
import { iso, type Post } from '../../jobs/ledger/post-view.ts'
import { recordPublished } from '../../jobs/ledger/settle.ts'
import { cancel, type Found, lockDeliveries, sendAgain } from '../../jobs/ledger/user-actions.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import { once } from '../access/idempotency.ts'
import { needs, router } from '../access/trpc.ts'
import { reachesPost, type Viewer } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'
import { ById } from '../forms.ts'
import type * as answers from './answers.ts'
import { deleteDraft, restoreDraft } from './deleted-drafts.ts'
import { FindPosts, findableBy, findPosts } from './find.ts'
import { CreatePost, ListAttempts, PostById, Resolve, ScheduleAgain, UpdatePost } from './forms.ts'
import { CountPosts, countPosts, ListPosts, listPosts } from './list.ts'
import { isUnsent, whyNoCancel } from './partly-published.ts'
import { loadPostContext } from './post-checks.ts'
import { placeFor } from './queueing.ts'
import { readPost } from './rows.ts'
import { scheduleAgain } from './schedule-again.ts'
import { createPost, nothing, problemsOf, requireVersion, updatePost, wantedIn } from './write.ts'

export const posts = router({
  create: needs('posts:write')
    .input(CreatePost)
    .mutation(({ ctx, input }) => once(ctx, (tx) => createPost(tx, ctx, input))),

  /** What stops POST /posts from creating this post: all problems on all channels at once. Nothing is stored. */
  validate: needs('posts:write')
    .input(CreatePost)
    .mutation(async ({ ctx: { db, actor }, input }): Promise<{ valid: boolean; errors: KnownFault[] }> => {
      const wanted = wantedIn(input)
      const place = await placeFor(db, actor, input)
      const facts = await loadPostContext(db, actor, wanted)
      const errors = problemsOf(wanted, facts, { isDraft: input.type === 'draft', unchanged: nothing }, place?.faults)
      return { valid: errors.length === 0, errors }
    }),

  list: needs('posts:read')
    .input(ListPosts)
    .query(({ ctx: { db, actor }, input }): Promise<Page<Post>> => listPosts(db, actor, input)),

  /** Posts by words, tag, channel, queue, status, author and dates, for the pages. */
  find: needs('posts:read')
    .input(FindPosts)
    .query(({ ctx: { db, actor }, input }): Promise<Page<Post>> => findPosts(db, actor, input)),

  /** The authors, tags and queues that posts can be found by. */
  findableBy: needs('posts:read').query(({ ctx: { db, actor } }) => findableBy(db, actor)),

  /** How many posts there are of some statuses, for the pages. */
  count: needs('posts:read')
    .input(CountPosts)
    .query(({ ctx: { db, actor }, input }) => countPosts(db, actor, input)),

  get: needs('posts:read')
    .input(ById)
    .query(({ ctx: { db, actor }, input }) => readPost(db, actor, input.id)),

  update: needs('posts:write')
    .input(UpdatePost)
    .mutation(({ ctx, input }) => ctx.db.transaction((tx) => updatePost(tx, ctx, input))),

  cancel: needs('posts:write')
    .input(PostById)
    .mutation(({ ctx: { db, organisationId, actor }, input: { id, ifVersions } }) =>
      db.transaction(async (tx) => {
        const found = await lockDeliveries(tx, organisationId, id)
        const post = await readPost(tx, actor, id)
        requireVersion(post, ifVersions)
        if (post.type === 'draft') {
          await deleteDraft(tx, organisationId, id, found)
          return
        }
        const cancellable = found.filter(({ state, maybeOut }) => isUnsent(state, maybeOut) || state === 'failed')
        if (cancellable.length === 0) throw new Failure(whyNoCancel(post))
        await cancel(tx, cancellable)
        await emit(tx, organisationId, [id])
      }),
    ),

  /** Undo the deletion of a draft, for the pages. */
  restore: needs('posts:write')
    .input(ById)
    .mutation(({ ctx: { db, actor }, input: { id } }) =>
      db
        .transaction((tx) => restoreDraft(tx, actor, id))
        .catch((error: unknown) => {
          if (sqlStateOf(error) !== '23505') throw error
          return readPost(db, actor, id) // another tab sent its text at the same moment
        }),
    ),

  /** Undo a cancellation on some channels, for the pages. Throws `unprocessable` if the due time has passed. */
  scheduleAgain: needs('posts:write')
    .input(ScheduleAgain)
    .mutation(({ ctx: { db, actor }, input }) => db.transaction((tx) => scheduleAgain(tx, actor, input))),

  retry: needs('posts:write')
    .input(PostById)
    .mutation(({ ctx, input }) => once(ctx, (tx) => retryPost(tx, ctx.actor, input))),

  resolve: needs('posts:write')
    .input(Resolve)
    .mutation(({ ctx, input }) =>
      once(ctx, async (tx) => {
        const found = await lockDeliveries(tx, ctx.organisationId, input.id)
        const post = await readPost(tx, ctx.actor, input.id)
        const delivery = found.find(({ channelId }) => channelId === input.channelId)
        if (!delivery) throw new Failure('not_found')
        requireVersion(post, input.ifVersions)
        const of = { organisationId: ctx.organisationId, postId: input.id }
        if (delivery.state !== 'needs_review') throw new Failure('nothing_to_resolve')
        if (input.outcome === 'not_published') {
          await requireConnected(tx, ctx.actor, post, [delivery])
          await sendAgain(tx, [delivery])
        }
        if (input.outcome === 'cancelled') await cancel(tx, [delivery])
        if (input.outcome === 'published') {
          const publication = { remoteId: null, url: input.url ?? null }
          await recordPublished(tx, [{ ...delivery, ...of, publication, evidence: 'person' }])
        }
        return emitPostEvent(tx, of)
      }),
    ),

  /** The ledger of a post: all attempts on all channels, oldest first. */
  attempts: needs('posts:read')
    .input(ListAttempts)
    .query(async ({ ctx: { db, organisationId, actor }, input: { id, limit, cursor } }): Promise<Page<Attempt>> => {
      const after = positionOf(cursor)
      // At least one row for a post that the caller can see, also without an attempt.
      const rows = await db.execute<Omit<Attempt, 'id'> & { id: string | null }>(sql`
        select a.id, a.channel_id as "channelId", a.no, a.started_at as "startedAt", a.intended_at as "intendedAt",
          a.ended_at as "endedAt", a.found_at as "foundAt", a.outcome, a.status, a.message, a.reply
        from posts p left join lateral (
          select a.*, d.channel_id from attempts a join deliveries d on d.id = a.delivery_id
          where d.post_id = p.id and d.organisation_id = ${organisationId}
            ${after ? sql`and (a.started_at, a.id) > (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
          order by a.started_at, a.id limit ${limit + 1}) a on true
        where p.id = ${id} and p.organisation_id = ${organisationId} and ${reachesPost(actor)}
        order by a.started_at, a.id`)
      if (rows.length === 0) throw new Failure('not_found')
      const attempts = [...rows].filter((row): row is Attempt => row.id !== null)
      const shown = attempts.map((row) => ({
        ...row,
        startedAt: iso(row.startedAt),
        intendedAt: iso(row.intendedAt),
        endedAt: iso(row.endedAt),
        foundAt: iso(row.foundAt),
      }))
      return pageOf(
        shown,
        limit,
        (attempt) => attempt,
        ({ startedAt, id }) => [startedAt, id],
      )
    }),
})

type Attempt = z.infer<typeof answers.Attempt>

type RetryInput = z.output<typeof PostById> & { channelId?: string }

/** Send the failed deliveries of a post again, or only the one on `channelId`. Throws `nothing_to_retry` or `stale_version`. */
export async function retryPost(tx: Tx, who: Viewer, { id, ifVersions, channelId }: RetryInput): Promise<Post> {
  const found = await lockDeliveries(tx, who.organisationId, id)
  const failed = found.filter(
    (one) => one.state === 'failed' && (channelId === undefined || one.channelId === channelId),
  )
  const post = await readPost(tx, who, id)
  requireVersion(post, ifVersions)
  if (failed.length === 0) throw new Failure('nothing_to_retry')
  await requireConnected(tx, who, post, failed)
  await sendAgain(tx, failed)
  return emitPostEvent(tx, { organisationId: who.organisationId, postId: id })
}

async function requireConnected(tx: Tx, who: Viewer, post: Post, wanted: Found[]): Promise<void> {
  const { channels } = await loadPostContext(tx, who, {
    ...post,
    date: null,
    channelIds: wanted.map(({ channelId }) => channelId),
  })
  const errors = channels
    .filter(({ status }) => status !== 'active')
    .map(
      ({ id, name }): KnownFault => ({
        path: `channelIds[${post.channelIds.indexOf(id)}]`,
        code: 'channel_needs_reconnect',
        message: `Reconnect ${name} first.`,
      }),
    )
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
}
