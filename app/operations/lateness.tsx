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
import { operationsStrings } from './strings.tsx'

const strings = operationsStrings.lateness

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

/** How many posts are overdue now and were over the last day, and how late posts went out. */
export function Lateness() {
  const { counts, oldestDueAt, now, lateness } = useOperations()
  const waiting = lateness.map(({ at, waiting: value }) => ({ at, value }))
  const late = lateness.map(({ at, latenessP95Ms, latenessMaxMs }) => ({
    at,
    value: latenessP95Ms ?? 0,
    peak: latenessMaxMs,
  }))
  return (
    <Card title={strings.title}>
      <p>{oldestDueAt ? overdue(counts.overdue, oldestDueAt, now) : strings.nothingOverdue}</p>
      <Plot words={strings.waiting} bars={waiting} ticks={numbers} say={(value) => value.toLocaleString('en')} />
      <Plot words={strings.late} bars={late} ticks={spans} say={formatDuration} />
      <Numbers lateness={lateness} />
    </Card>
  )
}

function overdue(count: number, oldestDueAt: string, now: string): ReactNode {
  const ageMs = Math.max(0, Date.parse(now) - Date.parse(oldestDueAt))
  return strings.overdue(count, formatDuration(ageMs), <Instant at={oldestDueAt} form="exact" />)
}

type PlotProps = {
  words: { title: string; none: string; most: (value: string, time: string) => string; caption: string }
  bars: Bar[]
  ticks: Tick[]
  say: (value: number) => string
}

function Plot({ words, bars, ticks, say }: PlotProps) {
  const zone = useZone()
  const worst = bars.reduce((most, bar) => (highest(bar) > highest(most) ? bar : most))
  const time = DateTime.fromISO(worst.at, { zone, locale: 'en' }).toFormat('HH:mm')
  return (
    <figure className="mt-6">
      <figcaption className="text-sm font-medium">{words.title}</figcaption>
      <Chart
        label={highest(worst) === 0 ? words.none : words.most(say(highest(worst)), time)}
        bars={bars}
        ticks={ticks}
      />
      <p aria-hidden className="mt-2 flex justify-between pl-14 text-xs text-muted">
        <span>{strings.ago24h}</span>
        <span>{strings.ago12h}</span>
        <span>{strings.now}</span>
      </p>
      <p className="mt-1 text-sm text-muted">{words.caption}</p>
    </figure>
  )
}

function highest({ value, peak }: Bar): number {
  return Math.max(value ?? 0, peak ?? 0)
}

/** The same as a table, newest first, without half hours in which no worker ran. */
function Numbers({ lateness }: { lateness: HalfHour[] }) {
  const known = lateness.filter(({ waiting }) => waiting !== null).reverse()
  return (
    <details className="group mt-5">
      <summary className="inline-flex items-center gap-1 rounded-md text-sm font-medium text-accent-ink">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        {strings.numbers}
      </summary>
      <section
        aria-label={strings.numbers}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse scroll it with the keys
        tabIndex={0}
        className="mt-3 max-h-96 overflow-auto rounded-lg border border-line"
      >
        <table className="w-full whitespace-nowrap text-right text-sm tabular-nums [&_td]:px-3 [&_td]:py-1.5 [&_th]:px-3 [&_th]:py-2 [&_th]:font-medium">
          <thead className="bg-sunken">
            <tr>
              {Object.values(strings.columns).map((name) => (
                <th key={name} scope="col" className="first:text-left">
                  {name}
                </th>
              ))}
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
  const span = (ms: number | null) => (ms === null ? strings.noNumber : formatDuration(ms))
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
      <td>{waiting ? span(oldestWaitingMs) : strings.noNumber}</td>
    </tr>
  )
}
