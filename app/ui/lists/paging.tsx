import { ButtonLink } from '../forms/button.tsx'
import { uiStrings } from '../strings.ts'

type Props = {
  path: string
  filters?: Record<string, string>
  isFirstPage: boolean
  nextCursor: string | null
  names?: { first: string; next: string }
  className?: string
}

const newestFirst = { first: uiStrings.paging.newest, next: uiStrings.paging.older }

/** Links to the next page of a list and back to the first; nothing where one page has it all. Newest first unless `names` say otherwise. */
export function Paging({ path, filters = {}, isFirstPage, nextCursor, names = newestFirst, className = '' }: Props) {
  const to = (more: Record<string, string>) => `${path}?${new URLSearchParams({ ...filters, ...more })}`
  if (isFirstPage && !nextCursor) return null
  return (
    <nav aria-label={uiStrings.paging.label} className={`flex justify-between ${className}`}>
      {isFirstPage ? <span /> : <ButtonLink to={to({})}>{names.first}</ButtonLink>}
      {nextCursor ? <ButtonLink to={to({ cursor: nextCursor })}>{names.next}</ButtonLink> : null}
    </nav>
  )
}
