import type { PostStatus } from '../../jobs/ledger/post-view.ts'

/** The statuses that a filter by one status finds. A partly published post is published, and it failed. */
export function statusesOf(status: PostStatus): PostStatus[] {
  return status === 'PUBLISHED' || status === 'FAILED' ? [status, 'PARTIALLY_PUBLISHED'] : [status]
}
