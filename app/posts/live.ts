import type { Post } from '../../jobs/ledger/post-view.ts'
import { useRereading } from '../ui/live.ts'
import { nowMs } from '../ui/time/now.ts'

type LivePost = Pick<Post, 'date'> & { deliveries: Pick<Post['deliveries'][number], 'status' | 'nextAttemptAt'>[] }

/** Reload the page's data every 2 s while one of `posts` is due or being sent, and the tab is visible. */
export function useLivePosts(posts: LivePost[]): void {
  useRereading(() => posts.some((post) => isChanging(post, nowMs())))
}

function isChanging({ date, deliveries }: LivePost, now: number): boolean {
  // If a channel published the post, the rest is sent at once, whatever the date of the post.
  const isAgain = deliveries.some(({ status }) => status === 'PUBLISHED')
  return deliveries.some(({ status, nextAttemptAt }) => {
    const dueAt = nextAttemptAt ?? (isAgain ? null : date)
    if (status === 'PUBLISHING') return !nextAttemptAt || Date.parse(nextAttemptAt) <= now
    return status === 'SCHEDULED' && (dueAt === null ? isAgain : Date.parse(dueAt) <= now)
  })
}
