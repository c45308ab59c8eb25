import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { shownError } from '../../jobs/delivery-errors.ts'
import { isPaused, isSuspended } from '../../jobs/ledger/pause.ts'
import { iso, type Post } from '../../jobs/ledger/post-view.ts'
import { wakeAtDue, wakeLook } from '../../jobs/ledger/wake-ups.ts'
import { type Operator, recordByOperator } from '../access/audit.ts'
import { Failure } from '../errors.ts'
import { retryPost } from '../posts/posts.ts'

// What operators look up in the ledger of any organisation, and send again.

/**
 * The `limit` most overdue deliveries that have not gone out. `isPaused`: an operator has stopped the channel, its
 * network, its organisation or everything, or a restore has; `isSuspended`: it is the organisation.
 */
export async function overdue(db: Db, limit: number) {
  const rows = await db.execute<{ dueAt: string; nextAttemptAt: string | null }>(sql`
    select d.id, d.state, d.due_at as "dueAt", d.next_attempt_at as "nextAttemptAt", d.attempt_no as attempts, ${shownError(sql`d.error`)} as error,
      extract(epoch from now() - d.due_at)::int as "lateSeconds", c.network, c.name as channel, c.status as "channelStatus",
      ${isPaused} as "isPaused", ${isSuspended} as "isSuspended", d.organisation_id as "organisationId", d.post_id as "postId"
    from deliveries d join channels c on c.id = d.channel_id
    where d.due_at < now() and d.state in ('scheduled', 'claimed', 'sending', 'uncertain', 'held', 'needs_review')
    order by d.due_at, d.id limit ${limit}`)
  return [...rows].map((row) => ({ ...row, dueAt: iso(row.dueAt), nextAttemptAt: iso(row.nextAttemptAt) }))
}

/** A delivery with its attempts, its channel and whose it is, or all of those of a post: the one id that people see on its page. Throws `not_found`. */
export async function show(db: Db, id: string) {
  type Row = { delivery: { id: string }; organisation: { suspendedAt: string | null } }
  const rows = await db.execute<Row>(sql`
    select to_jsonb(d) - 'prepared' as delivery,
      (select coalesce(jsonb_agg(to_jsonb(a) order by a.no), '[]') from attempts a where a.delivery_id = d.id) as attempts,
      (select to_jsonb(c) - 'credential' from channels c where c.id = d.channel_id) as channel,
      (select jsonb_build_object('id', o.id, 'name', o.name, 'suspendedAt', o.suspended_at)
        from organisations o where o.id = d.organisation_id) as organisation
    from deliveries d where d.id = ${id} or d.post_id = ${id} order by d.position, d.id`)
  for (const { organisation } of rows) organisation.suspendedAt = iso(organisation.suspendedAt)
  const [first] = rows
  if (!first) throw new Failure('not_found', { detail: 'Delivery or post not found.' })
  return first.delivery.id === id ? first : { deliveries: [...rows] }
}

/**
 * Wake the workers again for a delivery that is due to be sent or checked, because its wake-up was lost. Throws `not_found`,
 * and `nothing_to_wake` if it waits for something else.
 */
export async function wake(db: Db, id: string): Promise<void> {
  const [row] = await db.execute<{ state: string; isWakeable: boolean }>(sql`
    select d.state, ${isWakeable} as "isWakeable" from deliveries d join channels c on c.id = d.channel_id where d.id = ${id}`)
  if (!row) throw new Failure('not_found', { detail: 'Delivery not found.' })
  if (!row.isWakeable) throw new Failure('nothing_to_wake')
  await (row.state === 'uncertain' ? wakeLook : wakeAtDue)(db, [id])
}

/** SQL: whether the delivery `d` on the channel `c` only waits for a worker. A pause does not stop checks. */
export const isWakeable = sql`coalesce(
  (d.state = 'scheduled' and d.ready_at <= now() and (c.paused_until > now()) is not true and not ${isPaused})
    or (d.state = 'uncertain' and d.look_at <= now()), false)`

/**
 * Send a failed delivery again, now. Throws `not_found`, `nothing_to_retry`, `organisation_suspended`, or `unprocessable` where the
 * channel must be reconnected.
 */
export async function retry(db: Db, operator: Operator, id: string): Promise<Post> {
  type Row = { organisationId: string; postId: string; channelId: string; channel: string; isSuspended: boolean }
  const [row] = await db.execute<Row>(sql`
    select d.organisation_id as "organisationId", d.post_id as "postId", d.channel_id as "channelId", c.name as channel,
      ${isSuspended} as "isSuspended"
    from deliveries d join channels c on c.id = d.channel_id where d.id = ${id}`)
  if (!row) throw new Failure('not_found', { detail: 'Delivery not found.' })
  const { organisationId, postId, channelId, channel } = row
  if (row.isSuspended) throw new Failure('organisation_suspended', { detail: whileSuspended(organisationId) })
  return db.transaction(async (tx) => {
    const who = { kind: 'operator', id: operator.id ?? '', name: operator.name, organisationId } as const
    const post = await retryPost(tx, who, { id: postId, channelId })
    const subject = { id: postId, name: channel }
    await recordByOperator(tx, operator, { organisationId, action: 'post.retried', subject, detail: { delivery: id } })
    return post
  })
}

function whileSuspended(organisationId: string): string {
  return `Its organisation is suspended. Unsuspend it first: npm run admin -- unsuspend ${organisationId}.`
}
