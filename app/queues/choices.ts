import type { Api } from '../../server/router.ts'
import { problemOf } from '../api.ts'
import type { NamedQueue } from './names.ts'

/**
 * A queue that a post can go into if all its channels are in `channelIds`. `next`: the time that the post would take;
 * null while the queue is paused. The default queue comes first.
 */
export type QueueChoice = NamedQueue & { next: string | null; channelIds: string[] }

/** The queues that a post can go into, now or when they are resumed. */
export async function queueChoices(api: Api): Promise<QueueChoice[]> {
  const { data } = await api.queues.list({ limit: 100 })
  const choices = await Promise.all(
    data
      .filter(({ pausedAt, times }) => pausedAt !== null || times.length > 0)
      .map(async ({ id, name, channelIds, isDefault, pausedAt }) => {
        const next = pausedAt === null ? await nextOf(api, id) : null
        return { id, name, channelIds, isDefault, next }
      }),
  )
  return choices
    .filter(({ next }) => next !== '')
    .toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault))
    .map(({ isDefault: _, ...choice }) => choice)
}

async function nextOf(api: Api, id: string): Promise<string> {
  const { dates } = await api.queues.next({ id, limit: 1 })
  return dates[0] ?? ''
}

/** All queues, for lists of posts. */
export async function queueNames(api: Api): Promise<NamedQueue[]> {
  const { data } = await api.queues.list({ limit: 100 })
  return data.map(({ id, name }) => ({ id, name }))
}

/** The queue of this id. Null if it does not exist, or no longer. */
export async function namedQueue(api: Api, id: string | null): Promise<NamedQueue | null> {
  if (id === null) return null
  try {
    const { name } = await api.queues.get({ id })
    return { id, name }
  } catch (error) {
    if (problemOf(error).status !== 404) throw error
    return null
  }
}
