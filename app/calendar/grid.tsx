import FullCalendar, { type CalendarOptions } from '@fullcalendar/react'
import dayGrid from '@fullcalendar/react/daygrid'
import interaction from '@fullcalendar/react/interaction'
import theme from '@fullcalendar/react/themes/classic'
import timeGrid from '@fullcalendar/react/timegrid'
import { useNavigate } from '@remix-run/react'
import { type MutableRefObject, useMemo } from 'react'
import type { CalendarPost, FreeTime } from '../../server/posts/calendar.ts'
import { type NamedQueue, nameOf } from '../queues/names.ts'
import { useZone } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import { nowMs } from '../ui/time/now.ts'
import { clockAt } from '../ui/time/time-zone.ts'
import { type AddressOf, useAddress } from './address.ts'
import { type Habits, movedClock, type View } from './days.ts'
import { FreeTimeEvent, PostEvent } from './event.tsx'
import { composerAt } from './free-times/composer-address.ts'
import { isMovable } from './moves/movable.ts'
import { calendarStrings as strings } from './strings.tsx'

// The only part that needs FullCalendar, in a script of its own. It is drawn in the browser alone: it sets styles on its
// elements, which our content security policy allows to scripts and forbids in HTML.

const plugins = [dayGrid, timeGrid, interaction, theme]
const names = { month: 'dayGridMonth', week: 'timeGridWeek', day: 'timeGridDay' }
const RowsOfDay = 4 // in the month
const EventMs = 30 * 60_000 // as long as an event is drawn

// The options that never change.
const look: CalendarOptions = {
  plugins,
  headerToolbar: false,
  height: 'auto',
  fixedWeekCount: false,
  allDaySlot: false,
  nowIndicator: true,
  now: nowMs,
  slotDuration: '01:00',
  slotMinHeight: 44,
  slotHeaderFormat: { hour: '2-digit', minute: '2-digit' },
  snapDuration: '00:15',
  defaultTimedEventDuration: '00:30',
  eventDurationEditable: false,
  eventDisplay: 'block',
  eventColor: 'rgb(var(--sunken))',
  eventContrastColor: 'rgb(var(--ink))',
  eventMinHeight: 22,
  eventOrder: 'isFreeTime,start,title', // posts get the room first
  slotEventOverlap: false,
  dayMaxEvents: RowsOfDay,
  moreLinkText: strings.moreOfDay,
  moreLinkHint: strings.moreOfDayLong,
  navLinkHint: strings.openDay,
  views: {
    dayGridMonth: { navLinks: true },
    timeGridWeek: {
      dayHeaderContent: ({ weekdayText, dayNumberText }) => `${weekdayText} ${dayNumberText}`,
      eventMaxStack: 1, // a column has room for one text
    },
    timeGridDay: { eventMaxStack: 6, moreLinkClick: 'popover' },
  },
}

export type GridProps = {
  posts: CalendarPost[]
  freeTimes: FreeTime[]
  queues: NamedQueue[]
  view: Exclude<View, 'list'>
  date: string
  habits: Habits
  isDragging: MutableRefObject<boolean>
  onMove: (post: CalendarPost, to: { date: string; time: string }, putBack: () => void) => void
  onEmpty: (date: string, time: string | null) => void
}

/** Posts and free times on their days and times. `onEmpty` is for a click on a time without a post, or on a day without a time. */
export function Grid({ posts, freeTimes, queues, view, date, habits, isDragging, onMove, onEmpty }: GridProps) {
  const zone = useZone()
  const navigate = useNavigate()
  const addressOf = useAddress()
  const openDay = (at: Date) => navigate(addressOf({ view: 'day', date: clockAt(at, zone).date }))
  return (
    <FullCalendar
      {...look}
      initialView={names[view]}
      initialDate={date}
      timeZone={zone}
      firstDay={habits.weekStart % 7}
      locale={habits.isTwelveHours ? 'en-US' : 'en-GB'}
      eventSources={useSources(posts, freeTimes, queues, addressOf)}
      eventContent={({ event, isNarrow }) => {
        const { post, freeTime, isCrowded } = event.extendedProps as Shown
        const look = { queues, habits, view, isNarrow, isCrowded }
        return post ? <PostEvent post={post} {...look} /> : <FreeTimeEvent freeTime={freeTime} {...look} />
      }}
      eventClick={({ event, jsEvent }) => {
        if (jsEvent.metaKey || jsEvent.ctrlKey || jsEvent.shiftKey) return // the browser opens it elsewhere
        jsEvent.preventDefault()
        navigate(event.url, { preventScrollReset: !event.extendedProps.freeTime })
      }}
      eventDragStart={() => {
        isDragging.current = true
      }}
      eventDragStop={() => {
        isDragging.current = false
      }}
      eventDrop={({ event, delta, revert }) => {
        const { post } = event.extendedProps as { post: CalendarPost }
        onMove(post, movedClock(post.date, zone, delta), revert)
      }}
      dateClick={({ dateStr, allDay }) => onEmpty(dateStr.slice(0, 10), allDay ? null : dateStr.slice(11, 16))}
      moreLinkClick={({ date }) => openDay(date)}
      navLinkDayClick={(day) => openDay(day)}
    />
  )
}

// What an event of the library stands for.
type Shown = { isFreeTime: boolean; isCrowded: boolean } & (
  | { post: CalendarPost; freeTime?: never }
  | { freeTime: FreeTime; post?: never }
)

function useSources(posts: CalendarPost[], freeTimes: FreeTime[], queues: NamedQueue[], addressOf: AddressOf) {
  const zone = useZone()
  const { write } = useMay()
  const known = JSON.stringify([posts, freeTimes, queues]) // the same, read again, leaves the page and its focus as it is
  const address = addressOf()
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  return useMemo(() => {
    const crowded = crowdedIn([...posts.map(({ date }) => date), ...freeTimes.map(({ at }) => at)])
    return [
      { id: 'posts', events: posts.map((post) => eventOf(post, addressOf, write, crowded)) },
      { id: 'free times', events: freeTimes.map((one) => eventOfFreeTime(one, queues, zone, crowded)) },
    ]
  }, [known, address, write, zone])
}

function eventOf(post: CalendarPost, addressOf: AddressOf, mayMove: boolean, crowded: Set<string>) {
  return {
    id: post.id,
    title: post.text.trim() || strings.noText,
    start: post.date,
    url: addressOf({ post: post.id }),
    startEditable: mayMove && isMovable(post),
    extendedProps: { post, isFreeTime: false, isCrowded: crowded.has(post.date) } satisfies Shown,
  }
}

function eventOfFreeTime(freeTime: FreeTime, queues: NamedQueue[], zone: string, crowded: Set<string>) {
  return {
    id: `${freeTime.at} ${freeTime.queueId}`,
    title: strings.queue.freeTimeOf(nameOf(queues, freeTime.queueId)),
    start: freeTime.at,
    url: composerAt(freeTime, zone),
    startEditable: false,
    className: 'calendar-free-time',
    color: 'transparent',
    contrastColor: 'rgb(var(--muted))',
    extendedProps: { freeTime, isFreeTime: true, isCrowded: crowded.has(freeTime.at) } satisfies Shown,
  }
}

// The times that have another one beside them, closer than an event is long. Some of these events have no room in the week.
function crowdedIn(times: string[]): Set<string> {
  const sorted = times.toSorted()
  const isClose = (a: string | undefined, b: string) => a !== undefined && Date.parse(b) - Date.parse(a) < EventMs
  const pairs = sorted.slice(1).map((time, i) => (isClose(sorted[i], time) ? [sorted[i]!, time] : []))
  return new Set(pairs.flat())
}
