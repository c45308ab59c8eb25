import { useRevalidator } from '@remix-run/react'
import { useEffect } from 'react'
import type { Post } from '../../jobs/ledger/post-view.ts'

const EveryMs = 2000

type Moving = Pick<Post, 'date'> & { deliveries: Pick<Post['deliveries'][number], 'status' | 'nextAttemptAt'>[] }

/** Read the page again every 2 s while one of `posts` is due or under way, and the tab is in sight. */
export function useLive(posts: Moving[]): void {
  useRereading(() => posts.some((post) => isMoving(post, Date.now())))
}

/** Read the page again every 2 s (or `everyMs`) while `isNeeded` says so, and the tab is in sight. */
export function useRereading(isNeeded: () => boolean, everyMs = EveryMs): void {
  const { state, revalidate } = useRevalidator()
  useEffect(() => {
    const timer = setInterval(() => {
      if (state === 'idle' && !document.hidden && isNeeded()) revalidate()
    }, everyMs)
    return () => clearInterval(timer)
  }, [isNeeded, everyMs, state, revalidate])
}

function isMoving({ date, deliveries }: Moving, nowMs: number): boolean {
  return deliveries.some(({ status, nextAttemptAt }) => {
    const dueAt = nextAttemptAt ?? date
    if (status === 'PUBLISHING') return !nextAttemptAt || Date.parse(nextAttemptAt) <= nowMs
    return status === 'SCHEDULED' && dueAt !== null && Date.parse(dueAt) <= nowMs
  })
}
