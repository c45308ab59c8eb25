import { CalendarPlus, Image, ListOrdered } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CalendarPost, FreeTime } from '../../server/posts/calendar.ts'
import { StatusIcon } from '../posts/status.tsx'
import { type NamedQueue, nameOf } from '../queues/names.ts'
import { useZone } from '../shell/account.ts'
import { type Habits, timeOf, type View } from './days.ts'
import { calendarStrings as strings } from './strings.tsx'

// What stands in the grid at a time.

type EventProps = { queues: NamedQueue[]; habits: Habits; view: View; isNarrow: boolean; isCrowded: boolean }

/** A post: its status, time and text, and the queue that it is in. */
export function PostEvent({ post, queues, ...look }: EventProps & { post: CalendarPost }) {
  const text = post.text.trim() || strings.noText
  const queue = post.queueId ? strings.queue.in(nameOf(queues, post.queueId)) : null
  return (
    <Line at={post.date} title={queue ? `${text}\n${queue}` : text} icon={<StatusIcon of={post.status} />} {...look}>
      <bdi className="min-w-0 flex-auto truncate font-medium">{text}</bdi>
      {queue && !isTight(look) ? <ListOrdered aria-hidden className="size-3 shrink-0" /> : null}
      {queue ? <span className={look.view === 'day' ? 'min-w-0 truncate' : 'sr-only'}>{queue}</span> : null}
      {post.mediaCount > 0 && !look.isNarrow ? <Image aria-hidden className="size-3 shrink-0" /> : null}
    </Line>
  )
}

/** A free time of a queue. */
export function FreeTimeEvent({ freeTime, queues, ...look }: EventProps & { freeTime: FreeTime }) {
  const name = nameOf(queues, freeTime.queueId)
  const icon = <CalendarPlus aria-hidden className="size-3.5 shrink-0" />
  return (
    <Line at={freeTime.at} title={strings.queue.freeTimeOf(name)} icon={icon} {...look}>
      <span className="min-w-0 flex-1 truncate">
        {look.view === 'day' ? strings.queue.freeTimeOf(name) : strings.queue.freeTimeInShort(name)}
      </span>
    </Line>
  )
}

function isTight({ view, isNarrow, isCrowded }: Pick<EventProps, 'view' | 'isNarrow' | 'isCrowded'>): boolean {
  return isNarrow || (isCrowded && view === 'week')
}

type LineProps = Omit<EventProps, 'queues'> & { at: string; title: string; icon: ReactNode; children: ReactNode }

// Where it is narrow, its place among the hours shows the time. Where it is crowded, the end of the line is left to the
// link to those that have no room.
function Line({ at, title, icon, habits, view, isNarrow, isCrowded, children }: LineProps) {
  const look = isNarrow ? 'gap-0.5 text-[10px]' : 'gap-1.5 px-1 text-xs'
  const end = isCrowded && view === 'week' ? 'pe-8' : ''
  return (
    <span title={title} className={`flex min-w-0 items-center overflow-hidden py-0.5 leading-4 ${look} ${end}`}>
      {icon}
      <span className={isNarrow && view !== 'month' ? 'sr-only' : 'shrink-0 tabular-nums'}>
        {timeOf(at, useZone(), habits)}
      </span>
      {children}
    </span>
  )
}
