import { type SQL, sql } from 'drizzle-orm'
import { type Db, sqlStateOf, type Tx } from '../../db/client.ts'
import type { DeliveryError } from '../../db/schema/ledger.ts'
import { absentError, cannotTellError, notSeenError, repeatedError } from '../delivery-errors.ts'
import type { Deps } from '../deps.ts'
import { emit } from '../ledger/events.ts'
import { json, leaseCleared, ms } from '../ledger/ledger.ts'
import { lockedPost, recordPublished } from '../ledger/settle.ts'
import { isSought } from '../ledger/under-way.ts'
import { wakeAtDue, wakeChannels, wakeLook } from '../ledger/wake-ups.ts'
import { type Publication, serverOf } from '../networks/network.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { backoff } from './backoff.ts'
import { notePublished, type SealedChannel } from './network-session.ts'

// From what a reading found to the delivery's next state.

/** An uncertain delivery that this worker looks for; only the holder of `lookToken` may say that it is absent. */
export type SoughtDelivery = SealedChannel & {
  id: string
  postId: string
  attemptNo: number
  publishKey: string
  prepared: string
  backoffStep: number
  lookToken: string
  intendedAt: Date
  isSecond: boolean // an earlier complete reading did not show it
  unclear: DeliveryError | null // an earlier one left it open
  isTooOld: boolean
  isWithPerson: boolean // it waits for a person, whatever is found but the post
}

/** What a reading found. */
export type Finding =
  | { kind: 'found'; publication: Publication }
  | { kind: 'absent' }
  | { kind: 'unclear'; error: DeliveryError } // neither: a post that is there may be this one
  | { kind: 'repeat' } // a keyed network: the same again is the same post
  | { kind: 'unreadable'; error: unknown } // may pass
  | { kind: 'unknowable'; error: DeliveryError }

/** Record what a reading found, if this worker still holds the look. */
export async function recordFinding(deps: Deps, delivery: SoughtDelivery, finding: Finding): Promise<void> {
  const { db, times, networks, log } = deps
  if (finding.kind === 'found') return recordFound(deps, delivery, finding.publication)
  if (delivery.isWithPerson) return recordForPerson(deps, delivery, finding)
  if (finding.kind === 'unknowable') return leaveToPerson(db, delivery, finding.error)
  if (finding.kind === 'repeat') return repeat(db, delivery, backoff(times, delivery.backoffStep))
  const settlesWithinMs = networks[delivery.network]?.settlesWithinMs ?? times.settlesWithinMs
  if (finding.kind === 'unclear') {
    if (delivery.isSecond || delivery.unclear) return leaveToPerson(db, delivery, finding.error)
    return lookAgain(db, delivery, settlesWithinMs, sql`error = ${json(finding.error)}`)
  }
  // What may have been it once is not proved absent by being gone.
  if (finding.kind === 'absent' && delivery.unclear) return leaveToPerson(db, delivery, delivery.unclear)
  if (finding.kind === 'absent' && delivery.isSecond)
    return sendAnew(db, delivery, backoff(times, delivery.backoffStep))
  if (finding.kind === 'absent') return lookAgain(db, delivery, settlesWithinMs, sql`absent_at = now()`)
  const kind = finding.error instanceof OutboundError ? finding.error.kind : undefined
  log.warn({ err: finding.error, kind }, 'a reading failed')
  if (delivery.isTooOld)
    return leaveToPerson(
      db,
      delivery,
      delivery.unclear ?? cannotTellError(serverOf(delivery, networks[delivery.network])),
    )
  return lookAgain(db, delivery, backoff(times, delivery.backoffStep), oneStep)
}

/** Looked for once more after its channel was connected again: not found, it stays with the person. It is never sent. */
async function recordForPerson(
  { db, times, networks }: Deps,
  delivery: SoughtDelivery,
  finding: Exclude<Finding, { kind: 'found' }>,
): Promise<void> {
  if (finding.kind === 'unreadable' && !delivery.isTooOld)
    return lookAgain(db, delivery, backoff(times, delivery.backoffStep), oneStep)
  if (finding.kind === 'absent')
    return leaveToPerson(db, delivery, notSeenError(serverOf(delivery, networks[delivery.network])))
  if (finding.kind === 'unclear' || finding.kind === 'unknowable') return leaveToPerson(db, delivery, finding.error)
  await freeChannel(db, delivery, sql`state = 'needs_review'`)
}

const oneStep = sql`backoff_step = backoff_step + 1`

async function recordFound(deps: Deps, delivery: SoughtDelivery, publication: Publication): Promise<void> {
  try {
    const lateMs = await deps.db.transaction(async (tx) => {
      const recorded = await recordPublished(tx, [{ ...delivery, publication, evidence: 'found' }])
      await wakeChannels(tx, [delivery.channelId])
      return recorded.get(delivery.id)
    })
    if (lateMs !== undefined) notePublished(deps, delivery.network, lateMs)
  } catch (error) {
    if (sqlStateOf(error) !== '23505') throw error // recorded for another delivery meanwhile: not ours, look again
    await lookAgain(deps.db, delivery, backoff(deps.times, delivery.backoffStep), oneStep)
  }
}

/** A keyed network: send the same bytes with the same key again, after those behind it. It may be out until then. */
async function repeat(db: Db, delivery: SoughtDelivery, waitMs: number): Promise<void> {
  const later = sql`next_attempt_at = now() + ${ms(waitMs)}, backoff_step = backoff_step + 1`
  await freeChannel(db, delivery, sql`state = 'scheduled', error = ${json(repeatedError)}, ${later}`)
}

/** Two complete readings did not show it: it is not out, and is prepared and sent anew. */
async function sendAnew(db: Db, delivery: SoughtDelivery, waitMs: number): Promise<void> {
  const later = sql`next_attempt_at = now() + ${ms(waitMs)}, backoff_step = backoff_step + 1`
  await freeChannel(
    db,
    delivery,
    sql`state = 'scheduled', error = ${json(absentError)}, maybe_out = false, prepared = null, ${later}`,
  )
}

async function leaveToPerson(db: Db, delivery: SoughtDelivery, error: DeliveryError): Promise<void> {
  await freeChannel(db, delivery, sql`state = 'needs_review', error = ${json(error)}`)
}

async function freeChannel(
  db: Db,
  { id, organisationId, postId, lookToken, channelId }: SoughtDelivery,
  change: SQL,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`
      with ${lockedPost(id)}
      update deliveries d set ${change}, look_at = null, look_token = null, absent_at = null, ${leaseCleared}
      from post where d.id = ${id} and d.post_id = post.id and d.look_token = ${lookToken} and ${isSought}`)
    await emit(tx, organisationId, [postId])
    await wakeAtDue(tx, [id])
    await wakeChannels(tx, [channelId])
  })
}

async function lookAgain(db: Db, delivery: SoughtDelivery, waitMs: number, change: SQL): Promise<void> {
  const { id, organisationId, postId, lookToken } = delivery
  await db.transaction(async (tx: Tx) => {
    await tx.execute(sql`
      with ${lockedPost(id)}
      update deliveries d set look_token = null, look_at = now() + ${ms(waitMs)}, ${leaseCleared}, ${change}
      from post where d.id = ${id} and d.post_id = post.id and d.look_token = ${lookToken} and ${isSought}`)
    await emit(tx, organisationId, [postId])
    await wakeLook(tx, [id])
  })
}
