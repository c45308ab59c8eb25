import type { FreeTime } from '../../../server/posts/calendar.ts'
import { clockAt, clockIn } from '../../ui/time/time-zone.ts'

/** Where a post is written for a free time: the composer with its queue and, on the person's clock, its time. */
export function composerAt({ queueId, at }: FreeTime, zone: string): string {
  const { date, time } = clockAt(at, zone)
  return `/posts/new?${new URLSearchParams({ at: `${date}T${time}`, queue: queueId })}`
}

/** What such an address says. Null: it is of no free time. */
export function freeTimeIn(query: URLSearchParams): { queueId: string; date: string; time: string } | null {
  const [queueId, clock] = [query.get('queue'), clockIn(query.get('at'))]
  return queueId && clock ? { queueId, ...clock } : null
}
