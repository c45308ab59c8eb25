import { sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import type { DeliveryStatus, Override, Post } from '../../jobs/ledger/post-view.ts'
import type { Found } from '../../jobs/ledger/user-actions.ts'
import type { Viewer } from '../access/visibility.ts'
import type { FailureCode } from '../error-catalogue.ts'
import type { KnownFault } from '../errors.ts'
import type { UpdatePost } from './forms.ts'
import { readPost } from './rows.ts'

// Which parts of a post can still be changed, and what its published deliveries keep (docs/decisions/052).

/** Whether a delivery can still be changed or cancelled. */
export function isUnsent(state: string, maybeOut: boolean): boolean {
  return !maybeOut && ['draft', 'scheduled', 'claimed', 'held'].includes(state)
}

/** Whether a post can be edited: some delivery is unsent or failed, and each other one is published for certain. */
export function isEditable(found: Found[]): boolean {
  const here = found.filter(({ state }) => state !== 'cancelled')
  if (here.length === 0) return found.length === 0 // a draft without channels, or a cancelled post
  const isSettled = here.every(
    ({ state, maybeOut }) => isUnsent(state, maybeOut) || state === 'failed' || state === 'published',
  )
  return isSettled && here.some(({ state }) => state !== 'published')
}

/** The conflict that stops an edit. */
export function whyNoEdit({ status, deliveries }: Post): FailureCode {
  if (status === 'CANCELLED') return 'post_already_cancelled'
  if (isAny(deliveries, 'PUBLISHING')) return 'post_already_publishing'
  return isAny(deliveries, 'NEEDS_REVIEW') ? 'post_needs_review' : 'post_already_published'
}

/** The conflict that stops a cancellation: nothing of the post is left to cancel. */
export function whyNoCancel({ status, deliveries }: Post): FailureCode {
  if (status === 'CANCELLED') return 'post_already_cancelled'
  if (isAny(deliveries, 'PUBLISHED')) return 'post_already_published'
  return isAny(deliveries, 'PUBLISHING') ? 'post_already_publishing' : 'post_needs_review'
}

function isAny(deliveries: Post['deliveries'], wanted: DeliveryStatus): boolean {
  return deliveries.some(({ status }) => status === wanted)
}

/** The channels that published a post. */
export function publishedIn(found: Found[]): string[] {
  return found.flatMap(({ channelId, state }) => (state === 'published' ? [channelId] : []))
}

/**
 * Before a change of the post: give each published delivery its text and media as its own. Returns the changed post. The
 * caller has locked its deliveries.
 */
export async function keepPublished(tx: Tx, who: Viewer, id: string): Promise<Post> {
  await tx.execute(sql`
    update deliveries d set content = coalesce(d.content, p.content), media_ids = coalesce(d.media_ids, array(
      select m.media_id from post_media m
      where m.post_id = p.id and m.organisation_id = p.organisation_id order by m.position))
    from posts p
    where p.id = ${id} and p.organisation_id = ${who.organisationId}
      and d.post_id = p.id and d.organisation_id = p.organisation_id
      and d.state = 'published' and (d.content is null or d.media_ids is null)`)
  return readPost(tx, who, id)
}

/**
 * The faults of a change that touches the `published` channels of a post, which keep what they have. `post` comes from
 * `keepPublished`.
 */
export function changesToPublished(post: Post, published: string[], input: z.output<typeof UpdatePost>): KnownFault[] {
  if (published.length === 0) return []
  const { date, channelIds, overrides = [] } = input
  const isLeftOut = channelIds !== undefined && !published.every((id) => channelIds.includes(id))
  return [
    ...(date === undefined ? [] : [dateFault]),
    ...(isLeftOut ? [leftOutFault] : []),
    ...overrides.flatMap((wanted, i) => {
      const kept = post.overrides.find(({ channelId }) => channelId === wanted.channelId)
      const isOut = published.includes(wanted.channelId)
      return !isOut || isSame(wanted, kept) ? [] : [{ path: `overrides[${i}]`, ...ownPartsFault }]
    }),
  ]
}

const dateFault: KnownFault = {
  path: 'date',
  code: 'date_cannot_change',
  message:
    'Part of this post is published, so its date is fixed. We send the rest now. For another time, create a new post.',
}
const leftOutFault: KnownFault = {
  path: 'channelIds',
  code: 'channel_already_published',
  message: 'A channel that published this post must stay in the list.',
}
const ownPartsFault: Omit<KnownFault, 'path'> = {
  code: 'channel_already_published',
  message: 'This channel published the post. Its text and media are fixed.',
}

function isSame({ content, mediaIds }: Override, kept: Override | undefined): boolean {
  const isSameText = content === undefined || content === kept?.content
  return isSameText && (mediaIds === undefined || mediaIds.join() === kept?.mediaIds?.join())
}
