import { useRevalidator } from '@remix-run/react'
import { useEffect } from 'react'

/** Reload the page's data every `everyMs` while `isNeeded` returns true and the tab is visible. */
export function useRereading(isNeeded: () => boolean, everyMs = 2000): void {
  const { state, revalidate } = useRevalidator()
  useEffect(() => {
    const timer = setInterval(() => {
      if (state === 'idle' && !document.hidden && isNeeded()) revalidate()
    }, everyMs)
    return () => clearInterval(timer)
  }, [isNeeded, everyMs, state, revalidate])
}
