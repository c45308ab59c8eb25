import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { suspend, unsuspend } from '../../jobs/ledger/suspension.ts'
import { type Operator, recordByOperator } from '../access/audit.ts'
import { Failure } from '../errors.ts'

type Organisation = { id: string; name: string; suspendedAt: string | null }

/** Suspend an organisation: none of its posts are sent, and no new post or file is accepted. Throws `not_found`. */
export function suspendOrganisation(db: Db, operator: Operator, id: string): Promise<Organisation> {
  return db.transaction(async (tx) => {
    const before = await locked(tx, id)
    await suspend(tx, before.id)
    if (!before.suspendedAt)
      await recordByOperator(tx, operator, { ...about(before), action: 'organisation.suspended' })
    return locked(tx, id)
  })
}

/** `needsReview`: how many deliveries now need a decision. */
export type Unsuspended = Organisation & { needsReview: number }

/** End a suspension. Deliveries that were due meanwhile need a decision. Does nothing if not suspended. Throws `not_found`. */
export function unsuspendOrganisation(db: Db, operator: Operator, id: string): Promise<Unsuspended> {
  return db.transaction(async (tx) => {
    const before = await locked(tx, id)
    if (!before.suspendedAt) return { ...before, needsReview: 0 }
    const needsReview = await unsuspend(tx, before.id)
    await recordByOperator(tx, operator, {
      ...about(before),
      action: 'organisation.unsuspended',
      detail: { needsReview },
    })
    return { ...(await locked(tx, id)), needsReview }
  })
}

async function locked(tx: Tx, id: string): Promise<Organisation> {
  const [row] = await tx.execute<Organisation>(sql`
    select id, name, suspended_at as "suspendedAt" from organisations where id::text = ${id.toLowerCase()} for no key update`)
  if (!row) throw new Failure('not_found', { detail: 'Organisation not found.' })
  return { ...row, suspendedAt: row.suspendedAt && iso(row.suspendedAt) }
}

const about = ({ id, name }: Organisation) => ({ organisationId: id, subject: { id, name } })
