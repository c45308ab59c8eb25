import { sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { emitPostEvent } from '../../jobs/ledger/events.ts'
import type { Post } from '../../jobs/ledger/post-view.ts'
import { lockDeliveries, reschedule } from '../../jobs/ledger/user-actions.ts'
import type { Viewer } from '../access/visibility.ts'
import { Failure, type KnownFault } from '../errors.ts'
import type { ScheduleAgain } from './forms.ts'
import { loadPostContext } from './post-checks.ts'
import { readPost } from './rows.ts'

/**
 * Schedule the cancelled deliveries of a post on `channelIds` again, for its date. Those that are no longer cancelled
 * stay as they are. Throws `unprocessable` if the date has passed, or a channel was disconnected. One that waits for a
 * reconnect is fine: the post waited for it before as well.
 */
export async function scheduleAgain(
  tx: Tx,
  who: Viewer,
  { id, channelIds }: z.output<typeof ScheduleAgain>,
): Promise<Post> {
  const { organisationId } = who
  const found = await lockDeliveries(tx, organisationId, id)
  const post = await readPost(tx, who, id)
  if (!channelIds.every((one) => found.some(({ channelId }) => channelId === one))) throw new Failure('not_found')
  const cancelled = found.filter(({ state, channelId }) => state === 'cancelled' && channelIds.includes(channelId))
  if (cancelled.length === 0 || post.type === 'draft') return post
  const onChannels = cancelled.map(({ channelId }) => channelId)
  const { now, channels } = await loadPostContext(tx, who, { ...post, date: null, channelIds: onChannels })
  const gone = channels.filter(({ status }) => status === 'disconnected')
  if (gone.length > 0) throw new Failure('unprocessable', { errors: gone.map(goneFault(channelIds)) })
  const date = post.date === null ? null : new Date(post.date)
  if (date === null || date <= now) throw new Failure('unprocessable', { errors: [passed] })
  // Its time in a queue may be another post's by now, or the queue is paused: it keeps its date and leaves the queue.
  await tx.execute(sql`
    update posts set queue_id = null, queue_date = null, version = version + 1
    where id = ${id} and organisation_id = ${organisationId} and told = 'CANCELLED' and queue_id is not null`)
  await reschedule(tx, cancelled, { state: 'scheduled', dueAt: date })
  return emitPostEvent(tx, { organisationId, postId: id }, 'post.updated')
}

function goneFault(channelIds: string[]) {
  return ({ id, name }: { id: string; name: string }): KnownFault => ({
    path: `channelIds[${channelIds.indexOf(id)}]`,
    code: 'channel_disconnected',
    message: `${name} was disconnected. Connect it again first, or duplicate the post.`,
  })
}

const passed = {
  path: 'date',
  code: 'date_in_past' as const,
  message: 'Its time is in the past, so we left it cancelled. Duplicate it to send it at another time.',
}
