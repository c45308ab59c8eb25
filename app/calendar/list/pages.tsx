import { ButtonLink } from '../../ui/forms/button.tsx'
import { useAddress } from '../address.ts'
import { calendarStrings } from '../strings.tsx'

const strings = calendarStrings.pages

/** Which rows of a long list are shown, and the links to those before and after. Nothing where one page has them all. */
export function Pages({ page, ofPage, count }: { page: number; ofPage: number; count: number }) {
  const addressOf = useAddress()
  const last = Math.min(page * ofPage, count)
  if (count <= ofPage) return null
  return (
    <nav aria-label={strings.label} className="flex flex-wrap items-center justify-between gap-3">
      {page > 1 ? <ButtonLink to={addressOf({ page: String(page - 1) })}>{strings.previous}</ButtonLink> : <span />}
      <p className="text-sm text-muted">{strings.shown((page - 1) * ofPage + 1, last, count)}</p>
      {last < count ? <ButtonLink to={addressOf({ page: String(page + 1) })}>{strings.next}</ButtonLink> : <span />}
    </nav>
  )
}
