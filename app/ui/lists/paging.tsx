import { ButtonLink } from '../forms/button.tsx'

type Props = {
  path: string
  filters?: Record<string, string>
  isFirstPage: boolean
  nextCursor: string | null
  names?: { first: string; next: string }
  className?: string
}

const newestFirst = { first: 'To the newest', next: 'Older' }

/** The ways from one page of a list, newest first unless `names` say otherwise, to the next and back to the first; nothing where one page has it all. */
export function Paging({ path, filters = {}, isFirstPage, nextCursor, names = newestFirst, className = '' }: Props) {
  const to = (more: Record<string, string>) => `${path}?${new URLSearchParams({ ...filters, ...more })}`
  if (isFirstPage && !nextCursor) return null
  return (
    <nav aria-label="Pages" className={`flex justify-between ${className}`}>
      {isFirstPage ? <span /> : <ButtonLink to={to({})}>{names.first}</ButtonLink>}
      {nextCursor ? <ButtonLink to={to({ cursor: nextCursor })}>{names.next}</ButtonLink> : null}
    </nav>
  )
}
