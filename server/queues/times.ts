import { and, eq } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { queues, type WeeklyTime } from '../../db/schema/queues.ts'
import type { Queue } from '../../jobs/queues/queue.ts'
import { inOrder } from '../../jobs/queues/weekly-times.ts'
import { Failure, type KnownFault } from '../errors.ts'
import { TimesAtMost } from './forms.ts'

// The page of a queue changes single times. It may show old ones, so it never sends the whole list.

/**
 * Add weekly times to a queue that the caller has locked. Those that it has already stay. Throws `unprocessable` if it has
 * them all, or would have too many.
 */
export async function addTimes(tx: Tx, organisationId: string, queue: Queue, added: WeeklyTime[]): Promise<void> {
  const fresh = added.filter((one) => !queue.times.some(isSame(one)))
  if (fresh.length === 0) refuse('repeated', alreadyThere(added))
  if (queue.times.length + fresh.length > TimesAtMost) refuse('too_big', `At most ${TimesAtMost} times.`)
  await replaceTimes(tx, organisationId, queue, [...queue.times, ...fresh])
}

/** Remove a weekly time from a queue that the caller has locked. Nothing happens if it is gone already. */
export async function removeTime(tx: Tx, organisationId: string, queue: Queue, removed: WeeklyTime): Promise<void> {
  const isIt = isSame(removed)
  const left = queue.times.filter((one) => !isIt(one))
  await replaceTimes(tx, organisationId, queue, left)
}

async function replaceTimes(tx: Tx, organisationId: string, { id }: Queue, times: WeeklyTime[]): Promise<void> {
  const isIt = and(eq(queues.id, id), eq(queues.organisationId, organisationId))
  await tx
    .update(queues)
    .set({ times: inOrder(times) })
    .where(isIt)
}

function isSame({ weekday, time }: WeeklyTime): (other: WeeklyTime) => boolean {
  return (other) => other.weekday === weekday && other.time === time
}

const Days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

function alreadyThere(times: WeeklyTime[]): string {
  const names = times.map(({ weekday, time }) => `${Days[weekday - 1]} ${time}`)
  const all = new Intl.ListFormat('en', { type: 'conjunction' }).format(names)
  return names.length === 1 ? `${all} is already a time of this queue.` : `${all} are already times of this queue.`
}

function refuse(code: KnownFault['code'], message: string): never {
  throw new Failure('unprocessable', { errors: [{ path: 'times', code, message }] })
}
