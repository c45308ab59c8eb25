import { sql } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { activity as activityTable } from '../../db/schema/api.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { Paged } from '../forms.ts'
import type { Actor } from './credentials.ts'
import { type Page, pageOf, positionOf } from './cursor.ts'
import { owner, router } from './trpc.ts'

/** An entry of the audit log of `organisationId`. `detail` holds names and ids, never a secret. */
export type AuditEvent = {
  organisationId: string
  action: string
  by: { kind: 'member' | 'api_key' | 'app' | 'operator'; id: string | null; name: string }
  address: string | null
  subject: { id: string | null; name: string }
  detail?: Record<string, unknown>
}

/** Who did it, and from where. */
export type AuditAuthor = Pick<AuditEvent, 'by' | 'address'>

/** Add to the audit log, in the same transaction as the change itself if there is one. */
export async function record(
  tx: Tx,
  { organisationId, action, by, address, subject, detail = {} }: AuditEvent,
): Promise<void> {
  await tx.insert(activityTable).values({
    organisationId,
    action,
    address,
    outcome: 'ok',
    detail,
    at: sql`clock_timestamp()`, // not when the transaction began: two that wait for one lock keep their order
    actorKind: by.kind,
    actorId: by.id,
    actorName: by.name,
    subjectId: subject.id,
    subjectName: subject.name,
  })
}

/** Who calls a procedure, as an audit event names them. */
export function byCaller({ actor: { kind, id, name }, address }: AuditSource): AuditAuthor {
  return { by: { kind, id, name }, address }
}

/** Add what the actor of a procedure did, in the actor's organisation unless the event names another. */
export function recordBy(tx: Tx, source: AuditSource, event: OwnEvent): Promise<void> {
  return record(tx, { organisationId: source.actor.organisationId, ...byCaller(source), ...event })
}

/** An operator of the installation: an account, or anybody with its command line. */
export type Operator = { id: string | null; name: string }

/** A person who runs the commands of server/run/admin.ts. We do not know who that is. */
export const atCommandLine = { kind: 'operator', id: null, name: 'at the command line' } as const
export const byCommandLine: AuditAuthor = { by: atCommandLine, address: null }

/** Add what an operator did to an organisation to its audit log. The operator's address is not recorded. */
export function recordByOperator(
  tx: Tx,
  { id, name }: Operator,
  event: Omit<AuditEvent, 'by' | 'address'>,
): Promise<void> {
  return record(tx, { by: { kind: 'operator', id, name }, address: null, ...event })
}

/** The actor of an audit event, and the address that they call from. */
export type AuditSource = { actor: Actor; address: string }
type OwnEvent = Omit<AuditEvent, 'by' | 'address' | 'organisationId'> & { organisationId?: string }

export const activity = router({
  /** The organisation's audit log, newest first. */
  list: owner
    .input(Paged)
    .query(async ({ ctx: { db, organisationId }, input: { limit, cursor } }): Promise<Page<ActivityEntry>> => {
      const after = positionOf(cursor)
      const rows = await db.execute<ActivityEntry>(sql`
      select id, at, action, actor_kind as "actorKind", actor_id as "actorId", actor_name as "actorName", address,
        subject_id as "subjectId", subject_name as "subjectName", outcome, detail
      from activity where organisation_id = ${organisationId}
        ${after ? sql`and (at, id) < (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
      order by at desc, id desc limit ${limit + 1}`)
      return pageOf(
        [...rows],
        limit,
        (row) => ({ ...row, at: iso(row.at) }),
        ({ at, id }) => [iso(at), id],
      )
    }),
})

type ActivityEntry = {
  id: string
  at: string
  action: string
  actorKind: string
  actorId: string | null
  actorName: string
  address: string | null
  subjectId: string | null
  subjectName: string
  outcome: string
  detail: Record<string, unknown>
}
