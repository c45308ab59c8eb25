import { and, eq } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { posts as postsTable } from '../../db/schema/posts.ts'
import { emitPostEvent } from '../../jobs/ledger/events.ts'
import type { Override, Post } from '../../jobs/ledger/post-view.ts'
import { type Found, lockDeliveries } from '../../jobs/ledger/user-actions.ts'
import type { Networks } from '../../jobs/networks/registry.ts'
import type { Actor } from '../access/credentials.ts'
import type { Viewer } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'
import type { CreatePost, UpdatePost } from './forms.ts'
import { changesToPublished, isEditable, isUnsent, keepPublished, publishedIn, whyNoEdit } from './partly-published.ts'
import { type Facts, loadPostContext, missingThings, type Unchanged, validatePost, type Wanted } from './post-checks.ts'
import { joinedQueue, lockQueueOf, placeIn, requireInQueue, type Taking } from './queueing.ts'
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
  const taking = await lockQueueOf(tx, actor, input)
  const place = taking && placeIn(taking, wanted.channelIds)
  const { now, channels } = await requirePossible(tx, actor, wanted, { isDraft, unchanged: nothing }, place?.faults)
  if (input.type === 'now') wanted.date = now
  if (place) wanted.date = place.date
  const type = input.type === 'queue' ? 'schedule' : input.type
  return makePost(tx, networks, actor, { postId, type, wanted, channels, queueId: place?.queueId ?? null })
}

/**
 * Change a post and send it where it is not out yet. Channels that published it keep what they published. With
 * `mayJoin`, a queue's id, the post is in that queue if its new date is a free time there. Throws `unprocessable`,
 * `stale_version`, or the conflict that stops the edit.
 */
export async function updatePost(
  tx: Tx,
  { actor, networks }: Writer,
  input: z.output<typeof UpdatePost>,
  mayJoin: string | null = null,
): Promise<Post> {
  const { organisationId } = actor
  const taking = await lockQueueOf(tx, actor, input)
  const joining = mayJoin ? await lockQueueOf(tx, actor, { type: 'queue', queueId: mayJoin }) : null
  const found = await lockDeliveries(tx, organisationId, input.id)
  const seen = await readPost(tx, actor, input.id)
  requireVersion(seen, input.ifVersions)
  if (!isEditable(found)) throw new Failure(whyNoEdit(seen))
  const published = publishedIn(found)
  const before = published.length === 0 ? seen : await keepPublished(tx, actor, input.id)
  const asked = typeAfter(before, input.type)
  const wanted = changed(before, input)
  const isDated = isDatedNow(before, wanted)
  const type = isDated || asked === 'queue' ? 'schedule' : asked
  const place = taking && placeIn(taking, wanted.channelIds)
  if (place) wanted.date = place.date
  requireNoOtherDate(before, wanted, input.type)
  requireComplete(isDated ? 'schedule' : asked, wanted)
  const isSameType = asked === before.type
  const keepsDueTime = isSameType && input.date === undefined
  const goesNow = asked === 'now' && !isSameType
  const options = {
    isDraft: type === 'draft',
    faults: changesToPublished(before, published, input),
    unchanged: {
      date: keepsDueTime || goesNow || published.length > 0,
      onChannels: isSameType ? unsentIn(found) : [],
      published,
    },
  }
  const { now, channels } = await requirePossible(tx, actor, wanted, options, place?.faults)
  if (goesNow) wanted.date = now
  const queueId = place ? place.queueId : await queueAfter(tx, actor, { before, type, wanted, joining })
  await tx
    .update(postsTable)
    .set({
      type,
      content: wanted.content,
      tags: wanted.tags,
      date: wanted.date,
      version: before.version + 1,
      queueId,
      queueDate: queueId === null ? null : wanted.date,
    })
    .where(and(eq(postsTable.id, input.id), eq(postsTable.organisationId, organisationId)))
  if (input.mediaIds) await replaceMedia(tx, organisationId, input.id, input.mediaIds)
  const of = { organisationId, postId: input.id }
  await changeDeliveries(tx, networks, { ...of, type, wanted, found, channels, keepsDueTime, now })
  return emitPostEvent(tx, of, 'post.updated')
}

type Change = { before: Post; type: Post['type']; wanted: Wanted; joining: Taking | null }

/** The queue that a changed post is in: its own while it keeps its date, else the one that it may join. */
async function queueAfter(tx: Tx, who: Viewer, { before, type, wanted, joining }: Change): Promise<string | null> {
  if (before.queueId && type === before.type && isSameDate(before, wanted)) {
    await requireInQueue(tx, who, before, wanted.channelIds)
    return before.queueId
  }
  return joining && joinedQueue(tx, who, joining, { ...wanted, id: before.id, type })
}

function changed(before: Post, input: z.output<typeof UpdatePost>): Wanted {
  return {
    content: input.content ?? before.content,
    date: input.date === undefined ? (before.date === null ? null : new Date(before.date)) : input.date,
    channelIds: input.channelIds ?? before.channelIds,
    mediaIds: input.mediaIds ?? before.mediaIds,
    overrides: input.overrides ?? before.overrides.filter(staysOn(input.channelIds ?? before.channelIds)),
    tags: input.tags ?? before.tags,
  }
}

// Where a post waits already: it goes out after a reconnect. A failed one is sent at once, as at a retry.
function unsentIn(found: Found[]): string[] {
  return found.flatMap(({ channelId, state }) => (isUnsent(state, false) ? [channelId] : []))
}

/** A new post has nothing that was already checked. */
export const nothing: Unchanged = { date: false, onChannels: [], published: [] }

/** What the body of POST /posts asks for. */
export function wantedIn({ content, channelIds, ...optional }: z.output<typeof CreatePost>): Wanted {
  const { date = null, mediaIds = [], overrides = [], tags = [] } = optional
  return { content, date, channelIds, mediaIds, overrides, tags }
}

function staysOn(channelIds: string[]): (override: Override) => boolean {
  return ({ channelId }) => channelIds.includes(channelId)
}

type CheckOptions = { isDraft: boolean; unchanged: Unchanged; faults?: KnownFault[] } // `faults`: those found before

/** Throws `unprocessable` with all problems. Returns the facts that it has loaded. */
async function requirePossible(
  tx: Tx,
  who: Viewer,
  wanted: Wanted,
  options: CheckOptions,
  ofQueue?: KnownFault[],
): Promise<Facts> {
  const facts = await loadPostContext(tx, who, wanted)
  const errors = [...(options.faults ?? []), ...problemsOf(wanted, facts, options, ofQueue)]
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
  return facts
}

/** Everything that is wrong with a post. Of a draft, only what does not exist. `ofQueue`: why its queue does not take it. */
export function problemsOf(
  wanted: Wanted,
  facts: Facts,
  { isDraft, unchanged }: CheckOptions,
  ofQueue: KnownFault[] = [],
): KnownFault[] {
  const faults = isDraft ? missingThings(wanted, facts) : validatePost(wanted, facts, unchanged)
  // A channel that does not exist, or is not connected, is not in the queue either: once is enough.
  return [...faults, ...ofQueue.filter(({ path }) => !faults.some((fault) => fault.path === path))]
}

/** Throws `stale_version` unless the post has one of the versions. */
export function requireVersion({ version }: Post, ifVersions: number[] | undefined): void {
  if (ifVersions && !ifVersions.includes(version)) throw new Failure('stale_version')
}

function isSameDate({ date: before }: Post, { date }: Wanted): boolean {
  return (before === null ? null : new Date(before).getTime()) === (date?.getTime() ?? null)
}

// The date of a post of type now is when it was accepted. With another one it goes out at that time.
function isDatedNow(before: Post, wanted: Wanted): boolean {
  return before.type === 'now' && !isSameDate(before, wanted)
}

// Who sends back the date that the post has does not ask for another one.
function requireNoOtherDate(before: Post, wanted: Wanted, type: AskedType | undefined): void {
  if (type !== 'now' || wanted.date === null || isSameDate(before, wanted)) return
  const message = "A post of type now can't have a date. Leave out the date, or the type."
  throw new Failure('unprocessable', { errors: [{ path: 'date', code: 'date_not_allowed', message }] })
}

type AskedType = Post['type'] | 'queue'

function typeAfter(before: Post, wanted: AskedType | undefined): AskedType {
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

function requireComplete(type: AskedType, { date, channelIds }: Wanted): void {
  if (type === 'draft') return
  const errors: KnownFault[] = []
  if (type === 'schedule' && date === null) errors.push({ path: 'date', code: 'required', message: 'Required.' })
  if (channelIds.length === 0)
    errors.push({ path: 'channelIds', code: 'required', message: 'Choose at least one channel.' })
  if (errors.length > 0) throw new Failure('unprocessable', { errors })
}
