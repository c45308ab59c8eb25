import { useLocation } from '@remix-run/react'
import { useEffect, useRef } from 'react'

/** On a small screen the row of pages is longer than it is wide: where one is must be seen. The page itself stays where it is. */
export function useCurrentInView() {
  const list = useRef<HTMLUListElement>(null)
  const { pathname, search } = useLocation()
  useEffect(() => {
    const row = list.current
    const current = (pathname || search) && row?.querySelector('[aria-current]')
    if (!row || !current) return
    const [seen, place] = [row.getBoundingClientRect(), current.getBoundingClientRect()]
    if (place.left < seen.left || place.right > seen.right) row.scrollLeft += place.left - seen.left
  }, [pathname, search])
  return list
}
