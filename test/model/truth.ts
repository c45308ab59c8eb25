import type { Row, Rows } from './rows.ts'
import { type Stage, times } from './stage.ts'

// The truth outside the ledger: what was sent to the network, what it shows, what people were promised. The ledger
// cannot see it; the model checks the ledger against it.

/** One send. `flying`: it may still be shown; `shown`: the network has it; `lost`: the network will never have it. */
export type Flight = {
  deliveryId: string
  no: number
  bytes: string
  fate: 'flying' | 'shown' | 'lost'
  until: number
  isExcused: boolean
}

/** `asked`: by delivery, the text that a person was last promised will go out; null: cancelled. */
export type Truth = { flights: Flight[]; asked: Record<string, string | null> }

/** Thrown when an invariant is broken. */
export class Broken extends Error {}

export const rowOf = (rows: Rows, id: string): Row => rows.deliveries.find((row) => row.id === id)!
export const msOf = (instant: unknown): number => Date.parse(instant as string)

/** The network's id of the post that a flight shows. Each send has its own. */
export const remoteIdOf = ({ deliveryId, no }: Flight): string => `${deliveryId} ${no}`

export const textOf = (bytes: unknown): string => (JSON.parse(bytes as string) as { text: string }).text

/** The indexes of flights that the network shows on a channel with the text of `bytes`, and that no delivery has as
 * its proof. */
export function unrecorded({ flights }: Truth, { deliveries }: Rows, channelId: string, bytes: string): number[] {
  const recorded = new Set(deliveries.map((row) => row.remote_id))
  const isOfChannel = ({ deliveryId }: Flight) =>
    deliveries.some((row) => row.id === deliveryId && row.channel_id === channelId)
  return flights.flatMap((one, i) =>
    one.fate === 'shown' && textOf(one.bytes) === textOf(bytes) && isOfChannel(one) && !recorded.has(remoteIdOf(one))
      ? [i]
      : [],
  )
}

/** The flights of a delivery that may be out as far as the ledger can know: no answer, reading or person has said
 * otherwise. */
export function openFlights({ kind }: Stage, { flights }: Truth, deliveryId: string): Flight[] {
  // A reading can prove that a readable post is lost. For other kinds this stays unknown.
  return flights.filter(
    (one) => one.deliveryId === deliveryId && !one.isExcused && (one.fate !== 'lost' || kind !== 'readable'),
  )
}

/** Checks I2 and I3 at the moment when the first byte leaves. */
export function checkSend(stage: Stage, truth: Truth, rows: Rows, deliveryId: string, bytes: string): void {
  const { nowMs, kind } = stage
  const row = rowOf(rows, deliveryId)
  const before = openFlights(stage, truth, deliveryId)
  if (kind !== 'keyed' && before.length > 0) throw new Broken('I2: sent again while the one before may be out')
  if (before.some((one) => one.bytes !== bytes))
    throw new Broken('I2: other bytes under the same key while the first may be out')
  if (before.some((one) => one.until - times.settlesWithinMs > nowMs))
    throw new Broken('I2: sent again while the first call may be under way')
  if (msOf(row.due_at) > nowMs) throw new Broken('I3: sent before its hour')
  const text = textOf(bytes)
  const asked = truth.asked[deliveryId]
  if (before.length === 0 && text !== asked) throw new Broken(`I3: sent ${text} where the person was told ${asked}`)
}

/** Checks I5 for the delivery that was just claimed, against the rows before the claim. */
export function checkOrder(nowMs: number, rows: Rows, deliveryId: string): void {
  const claimed = rowOf(rows, deliveryId)
  const place = (row: Row) => `${new Date(msOf(row.due_at)).toISOString()} ${row.id}`
  const isReady = (row: Row) =>
    row.state === 'scheduled' && msOf(row.ready_at) <= nowMs && msOf(row.due_at) >= nowMs - times.giveUpMs
  for (const row of rows.deliveries)
    if (row.channel_id === claimed.channel_id && isReady(row) && place(row) < place(claimed))
      throw new Broken('I5: claimed before an older one of its channel')
}

/** I5: a running delivery keeps its channel; an uncertain one does so only if there are three. */
export function isTaken(rows: Rows, channelId: string): boolean {
  const states = rows.deliveries.filter((row) => row.channel_id === channelId).map(({ state }) => state)
  return (
    states.some((state) => state === 'claimed' || state === 'sending') ||
    states.filter((state) => state === 'uncertain').length >= 3
  )
}

/** The invariants of every state, and of each step to the next. */
export function checkState(stage: Stage, truth: Truth, before: Rows | null, rows: Rows): void {
  for (const channelId of stage.channelIds) checkChannel(rows, channelId)
  for (const row of rows.deliveries) {
    const id = row.id as string
    const state = row.state as string
    if (
      openFlights(stage, truth, id).length > 0 &&
      !row.maybe_out &&
      !['sending', 'uncertain', 'needs_review', 'published'].includes(state)
    )
      throw new Broken(`I6: ${state}, though it may be out`)
    const isProved = row.evidence === 'answered' || row.evidence === 'found'
    if (isProved && !truth.flights.some((one) => isProofOf(rows, one, row)))
      throw new Broken(`I6: ${row.evidence}, and the network does not have it`)
    if ((state === 'published') !== (row.evidence !== null))
      throw new Broken(`I6: ${state} with evidence ${row.evidence}`)
    if (truth.asked[id] === null && !['cancelled', 'published'].includes(state))
      throw new Broken(`I3: ${state} after it was cancelled`)
    if (before && rowOf(before, id).state === 'published' && state !== 'published')
      throw new Broken(`I6: published became ${state}`)
    checkAttempts(rows, row)
  }
}

// Its own flight. Or another delivery's with the same text, if a person wrongly said that it is not there and it was
// sent again.
function isProofOf(rows: Rows, flight: Flight, { id, remote_id }: Row): boolean {
  const isFree = flight.isExcused && rowOf(rows, flight.deliveryId).evidence !== 'person'
  return flight.fate === 'shown' && remoteIdOf(flight) === remote_id && (flight.deliveryId === id || isFree)
}

function checkChannel(rows: Rows, channelId: string): void {
  const states = rows.deliveries.filter((row) => row.channel_id === channelId).map(({ state }) => state)
  if (states.filter((state) => state === 'claimed' || state === 'sending').length > 1)
    throw new Broken('I5: two at work on one channel')
  if (states.filter((state) => state === 'uncertain').length > 3)
    throw new Broken('I5: more than three unknown outcomes on one channel')
}

function checkAttempts(rows: Rows, row: Row): void {
  const attempts = rows.attempts.filter((one) => one.delivery_id === row.id)
  const open = attempts.filter((one) => one.ended_at === null)
  if (attempts.length !== row.attempt_no) throw new Broken(`${attempts.length} attempts of ${row.attempt_no}`)
  if (attempts.some((one) => (one.ended_at === null) !== (one.outcome === null)))
    throw new Broken('an attempt ended without an outcome')
  const isAtWork = row.state === 'claimed' || row.state === 'sending'
  if (open.length !== (isAtWork ? 1 : 0) || open.some((one) => one.no !== row.attempt_no))
    throw new Broken(`${open.length} open attempts of a ${row.state} delivery`)
}
