import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { type Post, type PostRow, postColumns, postView, showPost } from '../../jobs/ledger/post-view.ts'
import type { Stage } from './stage.ts'
import { Broken } from './truth.ts'

/** Plans what `readShown` reads, once for the whole stage. */
export async function openShown(tx: Tx): Promise<void> {
  await tx.execute(sql`prepare read_shown as select ${postColumns} from posts p, ${postView} order by p.id`)
}

/** The posts as API callers see them, by id. */
export async function readShown({ tx }: Stage): Promise<Post[]> {
  const rows = await tx.execute<PostRow>(sql`execute read_shown`)
  return [...rows].map(showPost)
}

/** A caller that asks for changes since a time sees every change: updatedAt moves with everything that we show. */
export function checkUpdated({ nowMs }: Stage, before: Post[], after: Post[]): void {
  for (const post of after) {
    const was = before.find(({ id }) => id === post.id)
    if (!was || timeless(was) === timeless(post)) continue
    if (Math.abs(Date.parse(post.updatedAt) - nowMs) > 1)
      throw new Broken(`updatedAt stayed ${post.updatedAt} as this came to be: ${timeless(was)} ${timeless(post)}`)
  }
}

// All times move back as time passes.
function timeless(post: Post): string {
  return JSON.stringify(post, (_, value) => (typeof value === 'string' && /^\d{4}-.*Z$/.test(value) ? 'then' : value))
}
