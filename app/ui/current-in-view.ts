import { useLocation } from '@remix-run/react'
import { useEffect, useRef } from 'react'

/** Scroll a row of links until the current one is in view: on a small screen the row is wider than the screen. The page does not scroll. */
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
