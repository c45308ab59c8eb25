import { Link, useSearchParams } from '@remix-run/react'
import { CalendarClock } from 'lucide-react'
import { DateTime } from 'luxon'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { CalendarPost, FreeTime } from '../../../server/posts/calendar.ts'
import type { NamedQueue } from '../../queues/names.ts'
import { useZone } from '../../shell/account.ts'
import { Empty } from '../../ui/page.tsx'
import { clockAt } from '../../ui/time/time-zone.ts'
import { pageIn, useAddress } from '../address.ts'
import type { Habits, View } from '../days.ts'
import { calendarStrings as strings } from '../strings.tsx'
import { Pages } from './pages.tsx'
import { FreeTimeRow, PostRow } from './rows.tsx'

const RowsOfPage = 100 // a longer list is slow and hard to read

type Shown = { channels: Channel[]; queues: NamedQueue[]; habits: Habits }
type AgendaProps = Shown & { posts: CalendarPost[]; freeTimes: FreeTime[]; view: View | null; date: string }

/** The posts and free times as a list under their days. It needs no scripts. A month begins with its first day. */
export function Agenda({ posts, freeTimes, view, date, ...shown }: AgendaProps) {
  const [query] = useSearchParams()
  const zone = useZone()
  const isOfMonth = view === 'week' || view === 'day' ? () => true : (day: string) => day.startsWith(date.slice(0, 7))
  const rows = rowsOf(posts, freeTimes, zone).filter(({ day }) => isOfMonth(day))
  const page = Math.min(pageIn(query), Math.max(1, Math.ceil(rows.length / RowsOfPage)))
  const first = (page - 1) * RowsOfPage
  if (rows.length === 0)
    return (
      <Empty icon={<CalendarClock aria-hidden />} title={strings.none.title}>
        <p>{strings.none.text}</p>
      </Empty>
    )
  return (
    <>
      {[...Map.groupBy(rows.slice(first, first + RowsOfPage), ({ day }) => day)].map(([day, ofDay]) => (
        <Day key={day} day={day} rows={ofDay} {...shown} />
      ))}
      <Pages page={page} ofPage={RowsOfPage} count={rows.length} />
    </>
  )
}

type Row = { day: string; at: string } & ({ post: CalendarPost } | { freeTime: FreeTime })

// Of one time, posts come first. All times are written alike, so they compare as texts: there may be thousands.
function rowsOf(posts: CalendarPost[], freeTimes: FreeTime[], zone: string): Row[] {
  const dayOf = (at: string) => clockAt(at, zone).date
  const all: Row[] = [
    ...posts.map((post) => ({ day: dayOf(post.date), at: post.date, post })),
    ...freeTimes.map((freeTime) => ({ day: dayOf(freeTime.at), at: freeTime.at, freeTime })),
  ]
  return all.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
}

function Day({ day, rows, ...shown }: Shown & { day: string; rows: Row[] }) {
  const addressOf = useAddress()
  const name = DateTime.fromISO(day, { zone: 'utc', locale: 'en' }).toFormat('cccc d LLLL')
  return (
    <section className="mb-6">
      <h3 className="mb-2 text-sm font-medium text-muted">
        <Link to={addressOf({ view: 'day', date: day, page: '' })} className="hover:text-ink hover:underline">
          {name}
        </Link>
      </h3>
      <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-panel shadow-sm">
        {rows.map((row) =>
          'post' in row ? (
            <li key={row.post.id}>
              <PostRow post={row.post} {...shown} />
            </li>
          ) : (
            <li key={`${row.at} ${row.freeTime.queueId}`}>
              <FreeTimeRow freeTime={row.freeTime} {...shown} />
            </li>
          ),
        )}
      </ul>
    </section>
  )
}
