import { instantOf } from '../../../jobs/wall-clock.ts'
import type { Api } from '../../../server/router.ts'
import { problemOf } from '../../api.ts'
import { freeTimeIn } from './composer-address.ts'

// A post that is written for a free time takes it from the queue. The API can't ask for a later time of a queue than the
// next one. So the post is scheduled at the time, and joins the queue with it.

/** A free time that the composer was opened for, with its queue. */
export type Chosen = { at: string; queueId: string; name: string; channelIds: string[] }

/** The free time that an address names, if it is still free. */
export async function chosenIn(api: Api, query: URLSearchParams, zone: string): Promise<Chosen | null> {
  const free = freeTimeIn(query)
  const at = free && instantOf(free.date, free.time, zone)
  if (!at) return null
  const within = { from: at.toISOString(), to: new Date(at.getTime() + 1).toISOString() }
  const [{ times }, { data }] = await Promise.all([api.calendar.freeTimes(within), api.queues.list({ limit: 100 })])
  const queue = data.find(({ id }) => id === free.queueId && times.some(({ queueId }) => queueId === id))
  return queue ? { at: within.from, queueId: queue.id, name: queue.name, channelIds: queue.channelIds } : null
}

/**
 * Take the free time that the address names for the post that the composer's form has scheduled at it. Returns the queue
 * whose time was no longer free; the post stays at its time, outside the queue.
 */
export async function takeChosen(
  api: Api,
  query: URLSearchParams,
  form: FormData,
  zone: string,
): Promise<string | null> {
  const free = freeTimeIn(query)
  const isKept = free !== null && free.date === form.get('date') && free.time === form.get('time')
  if (!isKept || form.get('intent') !== 'schedule') return null
  const chosen = await chosenIn(api, query, zone)
  if (!chosen) return free.queueId
  if (!form.getAll('channelIds').every((id) => chosen.channelIds.includes(String(id)))) return null
  try {
    const { at, queueId } = chosen
    await api.calendar.moveTo({ id: String(form.get('copy')), date: at, queueId, ifVersions: [1] })
    return null
  } catch (error) {
    problemOf(error) // someone took it at this moment
    return free.queueId
  }
}

/** The channels that a post for a free time begins with: of the last ones those in the queue, else all of the queue. */
export function channelsFor({ channelIds }: Chosen, last: string[]): string[] {
  const both = last.filter((id) => channelIds.includes(id))
  return both.length > 0 ? both : channelIds
}
