import { sql } from 'drizzle-orm'
import type { Tx } from '../db/client.ts'
import { putBeforePerson } from './before-person.ts'
import { suspendedError } from './ledger.ts'

// An operator stops one organisation. Claim and intend look at its row (jobs/pause.ts); what is being sent still ends.

/** Send nothing of an organisation; one that is suspended already stays so since then. */
export async function suspend(tx: Tx, organisationId: string): Promise<void> {
  await tx.execute(sql`
    update organisations set suspended_at = coalesce(suspended_at, now()) where id = ${organisationId}`)
}

/** Send again what becomes due from now on. What was past due is put before a person: nobody wants all of it at once. Returns how many. */
export async function unsuspend(tx: Tx, organisationId: string): Promise<number> {
  const needsReview = await putBeforePerson(tx, organisationId, {
    which: sql`(d.state in ('scheduled', 'claimed') and d.due_at <= now())`,
    error: suspendedError,
    message: 'The organisation was suspended.',
  })
  await tx.execute(sql`update organisations set suspended_at = null where id = ${organisationId}`)
  return needsReview
}
