import { CalendarPlus, ListOrdered } from 'lucide-react'
import type { CalendarPost, FreeTime } from '../../server/posts/calendar.ts'
import { Status } from '../posts/status.tsx'
import { Pill } from '../ui/status.tsx'
import { calendarStrings as strings } from './strings.tsx'

/** What the icons mean: the statuses of the posts that are shown, queues and free times. */
export function Legend({ posts, freeTimes }: { posts: CalendarPost[]; freeTimes: FreeTime[] }) {
  const statuses = [...new Set(posts.map(({ status }) => status))].sort()
  const hasQueued = posts.some(({ queueId }) => queueId)
  if (statuses.length === 0 && freeTimes.length === 0) return null
  return (
    <ul aria-label={strings.legend} className="mt-4 flex flex-wrap gap-2">
      {statuses.map((status) => (
        <li key={status}>
          <Status of={status} />
        </li>
      ))}
      {hasQueued ? (
        <li>
          <Pill name={strings.queue.in(null)} icon={ListOrdered} tone="calm" />
        </li>
      ) : null}
      {freeTimes.length > 0 ? (
        <li>
          <Pill name={strings.queue.freeTime} icon={CalendarPlus} tone="calm" />
        </li>
      ) : null}
    </ul>
  )
}
