import { type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { errorOf, suspendedMaybeOutError } from '../delivery-errors.ts'
import { putBeforePerson } from './before-person.ts'
import { ms } from './ledger.ts'
import { wakeDue } from './pause.ts'

// An operator stops one organisation. Claim and intend look at its row (jobs/ledger/pause.ts); what is being sent still ends.

const ShortMs = 60_000 // such a suspension was a mistake: what waited is hardly late, and nobody needs to be asked

/** Send nothing of an organisation; one that is suspended already stays so since then. */
export async function suspend(tx: Tx, organisationId: string): Promise<void> {
  await tx.execute(sql`
    update organisations set suspended_at = coalesce(suspended_at, now()) where id = ${organisationId}`)
}

/**
 * Send again what becomes due from now on. What waits already is put before a person, for nobody wants all of it at once; after
 * less than a minute it goes out. Returns how many deliveries need a person. The organisation is locked.
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

// By the hour that was asked for: what waits for its next try would go out by itself as well, and what is held once its channel is
// reconnected. A claim is taken away.
const isPutAside = sql`(d.state in ('scheduled', 'claimed', 'held') and d.due_at <= now() and exists (
  select from organisations o where o.id = d.organisation_id and o.suspended_at < now() - ${ms(ShortMs)}))`

// Channel by channel, as the index of what is scheduled goes; the others are in small indexes of their own.
function postsOf(organisationId: string): SQL {
  return sql`
    select d.post_id from channels c join deliveries d on d.channel_id = c.id
    where c.organisation_id = ${organisationId} and d.state = 'scheduled' and d.due_at <= now() and ${isPutAside}
    union select d.post_id from deliveries d
    where d.organisation_id = ${organisationId} and d.state in ('claimed', 'sending') and ${isPutAside}
    union select d.post_id from deliveries d
    where d.organisation_id = ${organisationId} and d.state = 'held' and ${isPutAside}`
}
