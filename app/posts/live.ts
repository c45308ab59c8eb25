import type { Post } from '../../jobs/ledger/post-view.ts'
import { useRereading } from '../ui/live.ts'

type LivePost = Pick<Post, 'date'> & { deliveries: Pick<Post['deliveries'][number], 'status' | 'nextAttemptAt'>[] }

/** Reload the page's data every 2 s while one of `posts` is due or being sent, and the tab is visible. */
export function useLivePosts(posts: LivePost[]): void {
  useRereading(() => posts.some((post) => isChanging(post, Date.now())))
}

function isChanging({ date, deliveries }: LivePost, nowMs: number): boolean {
  return deliveries.some(({ status, nextAttemptAt }) => {
    const dueAt = nextAttemptAt ?? date
    if (status === 'PUBLISHING') return !nextAttemptAt || Date.parse(nextAttemptAt) <= nowMs
    return status === 'SCHEDULED' && dueAt !== null && Date.parse(dueAt) <= nowMs
  })
}
