import { ChevronRight } from 'lucide-react'
import { DateTime } from 'luxon'
import type { ReactNode } from 'react'
import type { HalfHour } from '../../server/operations/operations.ts'
import { useZone } from '../shell/account.ts'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { type Bar, Chart, type Tick } from './chart.tsx'
import { formatDuration } from './format-duration.ts'
import { useOperations } from './operations.ts'

const numbers: Tick[] = [10, 100, 1000, 10_000, 100_000, 1_000_000].map((value) => ({
  value,
  label: value.toLocaleString('en'),
}))
const spans: Tick[] = [
  { value: 10, label: '10 ms' },
  { value: 100, label: '100 ms' },
  { value: 1000, label: '1 s' },
  { value: 10_000, label: '10 s' },
  { value: 60_000, label: '1 min' },
  { value: 600_000, label: '10 min' },
  { value: 3_600_000, label: '1 h' },
  { value: 86_400_000, label: '1 day' },
]

/** What is due and not out, now and over a day, and how late what went out was. */
export function Lateness() {
  const { counts, oldestDueAt, now, lateness } = useOperations()
  const waiting = lateness.map(({ at, waiting: value }) => ({ at, value }))
  const late = lateness.map(({ at, latenessP95Ms, latenessMaxMs }) => ({
    ...{ at, value: latenessP95Ms ?? 0, peak: latenessMaxMs },
  }))
  return (
    <Card title="What waits, and how late it goes out">
      <p>
        {counts.overdue === 0 ? 'Nothing is overdue.' : `${countOf(counts.overdue)} overdue`}
        {oldestDueAt ? (
          <>
            , the oldest for {formatDuration(Math.max(0, Date.parse(now) - Date.parse(oldestDueAt)))}, since{' '}
            <Instant at={oldestDueAt} form="exact" />.
          </>
        ) : null}
      </p>
      <Plot
        title="Due and not out"
        bars={waiting}
        ticks={numbers}
        none="nothing waited"
        say={(value) => value.toLocaleString('en')}
      >
        Counted once a minute: the most in each half hour. A mark below the line: no worker was there to count.
      </Plot>
      <Plot title="Late when it went out" bars={late} ticks={spans} none="nothing went out late" say={formatDuration}>
        The bar: 95 of 100 went out within this time after their hour. The line: the latest one.
      </Plot>
      <Numbers lateness={lateness} />
    </Card>
  )
}

function countOf(count: number): string {
  return count === 1 ? '1 delivery is' : `${count.toLocaleString('en')} deliveries are`
}

type PlotProps = {
  title: string
  bars: Bar[]
  ticks: Tick[]
  none: string
  say: (value: number) => string
  children: ReactNode
}

function Plot({ title, bars, ticks, none, say, children }: PlotProps) {
  const zone = useZone()
  const worst = bars.reduce((most, bar) => (highest(bar) > highest(most) ? bar : most))
  const when = DateTime.fromISO(worst.at, { zone, locale: 'en' }).toFormat('HH:mm')
  const most = highest(worst) === 0 ? none : `at most ${say(highest(worst))}, in the half hour from ${when}`
  return (
    <figure className="mt-6">
      <figcaption className="text-sm font-medium">{title}</figcaption>
      <Chart label={`${title}, over the last 24 hours: ${most}.`} bars={bars} ticks={ticks} />
      <p aria-hidden className="mt-2 flex justify-between pl-14 text-xs text-muted">
        <span>24 h ago</span>
        <span>12 h ago</span>
        <span>now</span>
      </p>
      <p className="mt-1 text-sm text-muted">{children}</p>
    </figure>
  )
}

function highest({ value, peak }: Bar): number {
  return Math.max(value ?? 0, peak ?? 0)
}

/** The same as a table, the newest first, as far as there is anything. */
function Numbers({ lateness }: { lateness: HalfHour[] }) {
  const known = lateness.filter(({ waiting }) => waiting !== null).reverse()
  return (
    <details className="group mt-5">
      <summary className="inline-flex items-center gap-1 rounded-md text-sm font-medium text-accent-ink">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        The numbers
      </summary>
      <section
        aria-label="The numbers"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse scrolls it with the keys
        tabIndex={0}
        className="mt-3 max-h-96 overflow-auto rounded-lg border border-line"
      >
        <table className="w-full whitespace-nowrap text-right text-sm tabular-nums [&_td]:px-3 [&_td]:py-1.5 [&_th]:px-3 [&_th]:py-2 [&_th]:font-medium">
          <thead className="bg-sunken">
            <tr>
              {['Half hour from', 'Published', 'Failed', '95 of 100 within', 'Latest', 'Waiting', 'Oldest'].map(
                (name) => (
                  <th key={name} scope="col" className="first:text-left">
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {known.map((half) => (
              <HalfHourRow key={half.at} half={half} />
            ))}
          </tbody>
        </table>
      </section>
    </details>
  )
}

function HalfHourRow({ half }: { half: HalfHour }) {
  const { at, published, failed, latenessP95Ms, latenessMaxMs, waiting, oldestWaitingMs } = half
  const span = (ms: number | null) => (ms === null ? '–' : formatDuration(ms))
  return (
    <tr>
      <th scope="row" className="text-left">
        <Instant at={at} form="time" />
      </th>
      <td>{published.toLocaleString('en')}</td>
      <td>{failed.toLocaleString('en')}</td>
      <td>{span(latenessP95Ms)}</td>
      <td>{span(latenessMaxMs)}</td>
      <td>{waiting?.toLocaleString('en')}</td>
      <td>{waiting ? span(oldestWaitingMs) : '–'}</td>
    </tr>
  )
}
