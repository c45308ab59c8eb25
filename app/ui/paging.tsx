import { ButtonLink } from './button.tsx'

type Props = {
  path: string
  filters?: Record<string, string>
  isFirstPage: boolean
  nextCursor: string | null
  className?: string
}

/** The ways from one page of a list, newest first, to the next and back to the first; nothing where one page has it all. */
export function Paging({ path, filters = {}, isFirstPage, nextCursor, className = '' }: Props) {
  const to = (more: Record<string, string>) => `${path}?${new URLSearchParams({ ...filters, ...more })}`
  if (isFirstPage && !nextCursor) return null
  return (
    <nav aria-label="Pages" className={`flex justify-between ${className}`}>
      {isFirstPage ? <span /> : <ButtonLink to={to({})}>To the newest</ButtonLink>}
      {nextCursor ? <ButtonLink to={to({ cursor: nextCursor })}>Older</ButtonLink> : null}
    </nav>
  )
}
