import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { type Post, type PostRow, postColumns, postView, showPost } from '../../jobs/ledger/post-view.ts'
import { findQueue } from '../../jobs/queues/queue.ts'
import { readWaiting } from '../../jobs/queues/waiting.ts'
import { reachesPost, type Viewer } from '../access/visibility.ts'
import { Failure } from '../errors.ts'

const ShownAtMost = 200

/** Posts that wait in a queue, in their order. */
export type Waiting = Pick<Post, 'id' | 'content' | 'date' | 'channelIds' | 'mediaIds' | 'overrides' | 'status'>

/** The first posts that wait in a queue, of those that `who` may see; for a paused queue its drafts. Throws `not_found`. */
export async function waitingIn(tx: Tx, who: Viewer, id: string): Promise<Waiting[]> {
  const { organisationId } = who
  const queue = await findQueue(tx, organisationId, id)
  if (!queue) throw new Failure('not_found')
  const waiting = await readWaiting(tx, { organisationId, queueId: id }, queue.isPaused ? 'draft' : 'scheduled')
  const postIds = waiting.slice(0, ShownAtMost).map(({ postId }) => postId)
  const rows = await tx.execute<PostRow>(sql`
    select ${postColumns} from posts p, ${postView}
    where p.organisation_id = ${organisationId} and p.id = any(${sql.param(postIds)}::uuid[]) and ${reachesPost(who)}
    order by p.date, p.id`)
  return [...rows].map(showPost)
}
