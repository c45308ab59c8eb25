import { and, eq } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { posts as postsTable } from '../../db/schema/posts.ts'
import { emitPostEvent } from '../../jobs/ledger/events.ts'
import type { DeliveryStatus, Override, Post } from '../../jobs/ledger/post-view.ts'
import { type Found, lockDeliveries } from '../../jobs/ledger/user-actions.ts'
import type { Networks } from '../../jobs/networks/registry.ts'
import type { Actor } from '../access/credentials.ts'
import type { Viewer } from '../access/visibility.ts'
import type { FailureCode } from '../error-catalogue.ts'
import { Failure, type KnownFault } from '../errors.ts'
import type { CreatePost, UpdatePost } from './forms.ts'
import { type Facts, loadPostContext, missingThings, type Unchanged, validatePost, type Wanted } from './post-checks.ts'
import { changeDeliveries, makePost, readPost, replaceMedia } from './rows.ts'

// A post is created and changed here, for the API and for the composer.

type Writer = { actor: Actor; networks: Networks }

/** Create a post, with the id `postId` or a new one. Throws `unprocessable` with all problems. */
export async function createPost(
  tx: Tx,
  { actor, networks }: Writer,
  input: z.output<typeof CreatePost>,
  postId?: string,
): Promise<Post> {
  const wanted = wantedIn(input)
  const isDraft = input.type === 'draft'
  const { now, channels } = await requirePossible(tx, actor, wanted, { isDraft, unchanged: nothing })
  if (input.type === 'now') wanted.date = now
  return makePost(tx, networks, actor, { postId, type: input.type, wanted, channels })
}

/** Change a post. Throws `unprocessable`, `stale_version`, or the conflict that stops the edit. */
export async function updatePost(
  tx: Tx,
  { actor, networks }: Writer,
  input: z.output<typeof UpdatePost>,
): Promise<Post> {
  const { organisationId } = actor
  const found = await lockDeliveries(tx, organisationId, input.id)
  const before = await readPost(tx, actor, input.id)
  requireVersion(before, input.ifVersions)
  requireOurs(found, before)
  const type = typeAfter(before, input.type)
  const wanted = changed(before, input)
  requireComplete(type, wanted)
  const isSameType = type === before.type
  const keepsDueTime = isSameType && input.date === undefined
  const goesNow = type === 'now' && !isSameType
  const { now, channels } = await requirePossible(tx, actor, wanted, {
    isDraft: type === 'draft',
    unchanged: { date: keepsDueTime || goesNow, onChannels: isSameType ? before.channelIds : [] },
  })
  if (goesNow) wanted.date = now
  await tx
    .update(postsTable)
    .set({ type, content: wanted.content, date: wanted.date, version: before.version + 1 })
    .where(and(eq(postsTable.id, input.id), eq(postsTable.organisationId, organisationId)))
  if (input.mediaIds) await replaceMedia(tx, organisationId, input.id, input.mediaIds)
  await changeDeliveries(tx, networks, {
    organisationId,
    postId: input.id,
    type,
    wanted,
    found,
    channels,
    keepsDueTime,
  })
  return emitPostEvent(tx, { organisationId, postId: input.id }, 'post.updated')
}

function changed(before: Post, input: z.output<typeof UpdatePost>): Wanted {
  return {
    content: input.content ?? before.content,
    date: input.date === undefined ? (before.date === null ? null : new Date(before.date)) : input.date,
    channelIds: input.channelIds ?? before.channelIds,
    mediaIds: input.mediaIds ?? before.mediaIds,
    overrides: input.overrides ?? before.overrides.filter(staysOn(input.channelIds ?? before.channelIds)),
  }
}

/** A new post has nothing that was already checked. */
export const nothing: Unchanged = { date: false, onChannels: [] }

/** What the body of POST /posts asks for. */
export function wantedIn({ content, date, channelIds, mediaIds, overrides }: z.output<typeof CreatePost>): Wanted {
  return { content, date: date ?? null, channelIds, mediaIds: mediaIds ?? [], overrides: overrides ?? [] }
}

function staysOn(channelIds: string[]): (override: Override) => boolean {
  return ({ channelId }) => channelIds.includes(channelId)
}

type CheckOptions = { isDraft: boolean; unchanged: Unchanged }

/** Throws `unprocessable` with all problems. Returns the facts that it has loaded. */
async function requirePossible(tx: Tx, who: Viewer, wanted: Wanted, options: CheckOptions): Promise<Facts> {
  const facts = await loadPostContext(tx, who, wanted)
  const errors = problemsOf(wanted, facts, options)
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
  return facts
}

/** Everything that is wrong with a post. Of a draft, only what does not exist. */
export function problemsOf(wanted: Wanted, facts: Facts, { isDraft, unchanged }: CheckOptions): KnownFault[] {
  return isDraft ? missingThings(wanted, facts) : validatePost(wanted, facts, unchanged)
}

/** Whether a delivery can still be changed or cancelled. */
export function isUnsent(state: string, maybeOut: boolean): boolean {
  return !maybeOut && ['draft', 'scheduled', 'claimed', 'held'].includes(state)
}

/** Throws the conflict that stops an edit: some of the post is published, or may be. */
function requireOurs(found: Found[], post: Post): void {
  if (post.status === 'CANCELLED') throw new Failure('post_already_cancelled')
  if (!found.every(({ state, maybeOut }) => state === 'cancelled' || isUnsent(state, maybeOut)))
    throw new Failure(whyNot(post))
}

/** Throws `stale_version` unless the post has one of the versions. */
export function requireVersion({ version }: Post, ifVersions: number[] | undefined): void {
  if (ifVersions && !ifVersions.includes(version)) throw new Failure('stale_version')
}

/** The conflict that stops a change of a post. */
export function whyNot({ status, deliveries }: Post): FailureCode {
  if (status === 'CANCELLED') return 'post_already_cancelled'
  const isAny = (wanted: DeliveryStatus) => deliveries.some((delivery) => delivery.status === wanted)
  if (isAny('PUBLISHED')) return 'post_already_published'
  if (isAny('PUBLISHING')) return 'post_already_publishing'
  return isAny('NEEDS_REVIEW') ? 'post_needs_review' : 'post_failed'
}

function typeAfter(before: Post, wanted: Post['type'] | undefined): Post['type'] {
  if (wanted === undefined || wanted === before.type || before.type === 'draft') return wanted ?? before.type
  throw new Failure('unprocessable', {
    errors: [
      {
        path: 'type',
        code: 'type_cannot_change',
        message: `A post of type ${before.type} can't change its type. Only a draft can.`,
      },
    ],
  })
}

function requireComplete(type: Post['type'], { date, channelIds }: Wanted): void {
  if (type === 'draft') return
  const errors: KnownFault[] = []
  if (type === 'schedule' && date === null) errors.push({ path: 'date', code: 'required', message: 'Required.' })
  if (channelIds.length === 0)
    errors.push({ path: 'channelIds', code: 'required', message: 'Choose at least one channel.' })
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
}
