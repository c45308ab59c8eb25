import type { PostStatus } from '../../../jobs/ledger/post-view.ts'

const unsent: PostStatus[] = ['DRAFT', 'SCHEDULED', 'HELD']

/** Whether pages offer to move a post. The procedure refuses a post that is already being sent. */
export function isMovable({ status }: { status: PostStatus }): boolean {
  return unsent.includes(status)
}
