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
import { backoff } from '../timeouts-and-delays.ts'
import { notePublished, type SealedChannel } from './network-session.ts'

// Turns the result of a look into the delivery's next state.

/** An uncertain delivery that this worker looks for. Only the holder of `lookToken` may record that it is absent. */
export type SoughtDelivery = SealedChannel & {
  id: string
  postId: string
  attemptNo: number
  publishKey: string
  prepared: string
  backoffStep: number
  lookToken: string
  intendedAt: Date
  isSecond: boolean // an earlier complete look did not find it
  unclear: DeliveryError | null // an earlier look had no clear result
  isTooOld: boolean
  isWithPerson: boolean // it needs review, unless we find the post
}

/** The result of a look. */
export type Finding =
  | { kind: 'found'; publication: Publication }
  | { kind: 'absent' }
  | { kind: 'unclear'; error: DeliveryError } // neither: an existing post may be this one
  | { kind: 'repeat' } // a keyed network: sending the same again gives the same post
  | { kind: 'unreadable'; error: unknown } // may pass
  | { kind: 'unknowable'; error: DeliveryError }

/** Record the result of a look, if this worker still holds the look. */
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
  // An earlier look saw a post that may be this one. That it is gone now does not prove that ours was absent.
  if (finding.kind === 'absent' && delivery.unclear) return leaveToPerson(db, delivery, delivery.unclear)
  if (finding.kind === 'absent' && delivery.isSecond)
    return sendAnew(db, delivery, backoff(times, delivery.backoffStep))
  if (finding.kind === 'absent') return lookAgain(db, delivery, settlesWithinMs, sql`absent_at = now()`)
  const kind = finding.error instanceof OutboundError ? finding.error.kind : undefined
  log.warn({ err: finding.error, kind }, 'a look failed')
  if (delivery.isTooOld)
    return leaveToPerson(
      db,
      delivery,
      delivery.unclear ?? cannotTellError(serverOf(delivery, networks[delivery.network])),
    )
  return lookAgain(db, delivery, backoff(times, delivery.backoffStep), oneStep)
}

/** We looked once more after its channel was connected again. If not found, it still needs review. We never send it. */
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
    if (sqlStateOf(error) !== '23505') throw error // recorded for another delivery: not ours, look again
    await lookAgain(deps.db, delivery, backoff(deps.times, delivery.backoffStep), oneStep)
  }
}

/**
 * On a keyed network: send the same bytes with the same key again, after the next ones. The post may be out already.
 */
async function repeat(db: Db, delivery: SoughtDelivery, waitMs: number): Promise<void> {
  const later = sql`next_attempt_at = now() + ${ms(waitMs)}, backoff_step = backoff_step + 1`
  await freeChannel(db, delivery, sql`state = 'scheduled', error = ${json(repeatedError)}, ${later}`)
}

/** Two complete looks did not find it: it is not out. We prepare and send it again. */
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
