import { Link } from '@remix-run/react'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { ButtonLink } from '../ui/forms/button.tsx'
import { useAddress } from './address.ts'
import { dateAfter, type View, views } from './days.ts'
import { calendarStrings } from './strings.tsx'

type ToolbarProps = { view: View | null; shown: View | null; date: string; title: string }

/** Which days are shown, and the links to others. `shown` is the view on the page when the address names none. */
export function Toolbar({ view, shown, date, title }: ToolbarProps) {
  const addressOf = useAddress()
  const { steps } = calendarStrings
  const to = (count: number) => addressOf({ date: dateAfter(view, date, count), page: '' })
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-3">
      <nav aria-label={steps.label} className="flex gap-1.5">
        <ButtonLink to={to(-1)} preventScrollReset aria-label={steps.previous} className="px-2">
          <ChevronLeft aria-hidden />
        </ButtonLink>
        <ButtonLink to={addressOf({ date: '', page: '' })} preventScrollReset>
          {steps.today}
        </ButtonLink>
        <ButtonLink to={to(1)} preventScrollReset aria-label={steps.next} className="px-2">
          <ChevronRight aria-hidden />
        </ButtonLink>
      </nav>
      <h2 className="min-w-0 flex-1 text-lg font-semibold" aria-live="polite">
        {title}
      </h2>
      <Views shown={shown} />
    </div>
  )
}

function Views({ shown }: { shown: View | null }) {
  const addressOf = useAddress()
  return (
    <nav aria-label={calendarStrings.views.label}>
      <ul className="flex gap-1 rounded-lg bg-sunken p-1">
        {views.map((view) => (
          <li key={view}>
            <Link
              to={addressOf({ view, page: '' })}
              preventScrollReset
              aria-current={view === shown ? 'page' : undefined}
              className="block rounded-md px-3 py-1.5 text-sm font-medium text-muted hover:text-ink aria-[current]:bg-panel aria-[current]:text-ink aria-[current]:shadow-sm"
            >
              {calendarStrings.views[view]}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
