import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { errorOf, suspendedMaybeOutError } from '../delivery-errors.ts'
import { putBeforePerson } from './before-person.ts'
import { ms } from './ledger.ts'
import { wakeDue } from './pause.ts'

// An operator stops one organisation. Claim and intend check its row (jobs/ledger/pause.ts). Running sends still
// finish.

const ShortMs = 60_000 // a shorter suspension was a mistake: posts are hardly late, and no person needs to decide

/** Send nothing of an organisation. If it is suspended already, it keeps its suspension time. */
export async function suspend(tx: Tx, organisationId: string): Promise<void> {
  await tx.execute(sql`
    update organisations set suspended_at = coalesce(suspended_at, now()) where id = ${organisationId}`)
}

/**
 * Send again what becomes due from now on. Deliveries that already wait need review, because nobody wants all of them
 * to go out at once. But after less than a minute they just go out. Returns how many deliveries need review. The
 * caller has locked the organisation.
 */
export async function unsuspend(tx: Tx, organisationId: string): Promise<number> {
  const needsReview = await putBeforePerson(tx, organisationId, {
    which: isPutAside,
    posts: postsOf(organisationId),
    error: errorOf('organisation_suspended'),
    maybeOut: suspendedMaybeOutError,
    message: 'The organisation was suspended.',
  })
  await tx.execute(sql`update organisations set suspended_at = null where id = ${organisationId}`)
  await wakeDue(tx, sql`c.organisation_id = ${organisationId}`)
  return needsReview
}

// This checks the due time, not the time of the next try: a delivery that waits for its next try would go out by itself
// as well, and so would a held one when its channel is reconnected. A claimed delivery loses its claim.
const isPutAside = sql`(d.state in ('scheduled', 'claimed', 'held') and d.due_at <= now() and exists (
  select from organisations o where o.id = d.organisation_id and o.suspended_at < now() - ${ms(ShortMs)}))`

// Scheduled deliveries are read channel by channel, in the order of their index. The others have small separate
// indexes.
function postsOf(organisationId: string): SQL {
  return sql`
    select d.post_id from channels c join deliveries d on d.channel_id = c.id
    where c.organisation_id = ${organisationId} and d.state = 'scheduled' and d.due_at <= now() and ${isPutAside}
    union select d.post_id from deliveries d
    where d.organisation_id = ${organisationId} and d.state in ('claimed', 'sending') and ${isPutAside}
    union select d.post_id from deliveries d
    where d.organisation_id = ${organisationId} and d.state = 'held' and ${isPutAside}`
}
