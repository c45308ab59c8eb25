import { useNavigate } from '@remix-run/react'
import { useCallback, useRef } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { instantOf } from '../../jobs/wall-clock.ts'
import type { CalendarPost, FreeTime } from '../../server/posts/calendar.ts'
import type { NamedQueue } from '../queues/names.ts'
import { useZone } from '../shell/account.ts'
import { useMay } from '../shell/permissions.ts'
import { useRereading } from '../ui/live.ts'
import { nowMs } from '../ui/time/now.ts'
import { clockAt, nextHour } from '../ui/time/time-zone.ts'
import { Warning } from '../ui/warning.tsx'
import { type Habits, Morning, type View } from './days.ts'
import { Legend } from './legend.tsx'
import { Agenda } from './list/agenda.tsx'
import type { useMoves } from './moves/use-moves.ts'
import { Steady } from './steady.tsx'
import { calendarStrings as strings } from './strings.tsx'
import { useGrid } from './use-grid.ts'

const RereadMs = 10_000

type ShownDaysProps = {
  posts: CalendarPost[]
  freeTimes: FreeTime[]
  queues: NamedQueue[]
  channels: Channel[]
  view: View | null // null: not known before scripts run
  date: string
  habits: Habits
  moves: ReturnType<typeof useMoves>
}

/** The days in the view, as a grid. The list is there until the script of the grid is, and in its place without scripts. */
export function ShownDays({ moves, ...shown }: ShownDaysProps) {
  const { channels: _, ...onGrid } = shown
  const { posts, freeTimes, view, date } = shown
  const isDragging = useRef(false)
  const Grid = useGrid(view !== null && view !== 'list')
  useRereading(
    useCallback(() => !isDragging.current && posts.some(isChanging), [posts]),
    RereadMs,
  )
  const write = useWriteAt(() => moves.refuse(strings.past))
  if (view === 'list' || Grid === 'failed')
    return (
      <>
        {Grid === 'failed' && view !== 'list' ? <Warning>{strings.notLoaded}</Warning> : null}
        <Agenda {...shown} />
      </>
    )
  if (!Grid || !view)
    return (
      <div className="calendar-waits">
        <Agenda {...shown} />
      </div>
    )
  return (
    <Steady key={`${view} ${date}`}>
      <Grid {...onGrid} view={view} isDragging={isDragging} onMove={moves.move} onEmpty={write} />
      <Legend posts={posts} freeTimes={freeTimes} />
    </Steady>
  )
}

// A post whose status will soon be another one.
function isChanging({ status, date }: CalendarPost): boolean {
  return status === 'PUBLISHING' || (status === 'SCHEDULED' && Date.parse(date) <= nowMs())
}

/** Opens the composer at a time that has no post. Only a day may be known. */
function useWriteAt(onPast: () => void) {
  const zone = useZone()
  const navigate = useNavigate()
  const { write } = useMay()
  return (date: string, time: string | null) => {
    if (!write) return
    const isToday = date === clockAt(new Date(nowMs()), zone).date
    const at = time ? { date, time } : isToday ? nextHour(zone) : { date, time: Morning }
    const instant = instantOf(at.date, at.time, zone)
    if (!instant || instant.getTime() < nowMs()) return onPast()
    navigate(`/posts/new?at=${at.date}T${at.time}`)
  }
}
