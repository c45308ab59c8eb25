import { UnclearCode } from '../../jobs/delivery-errors.ts'
import type { Row } from './rows.ts'
import { type Stage, times, Unit } from './stage.ts'
import { isSought, type Look, type Mind, type State, type Work } from './steps.ts'
import { type Flight, msOf, openFlights, remoteIdOf, rowOf, textOf } from './truth.ts'

/**
 * The part of a state that decides everything that can follow, as text: without ids, tokens and times, and the same
 * whichever of two workers comes first.
 */
export function formOf(stage: Stage, state: State): string {
  const there = formFrom(stage, state, state.minds)
  if (state.minds.length !== 2) return there
  return [there, formFrom(stage, state, state.minds.toReversed())].sort()[0]!
}

function formFrom(stage: Stage, state: State, minds: Mind[]): string {
  const { rows, deaths, deeds } = state
  const who = (owner: unknown) => {
    const w = minds.findIndex((mind) => mind.owner === owner)
    return owner === null ? null : w < 0 ? 'gone' : w
  }
  const deliveries = stage.deliveryIds.map((id) => rowOf(rows, id))
  const byHour = deliveries.filter((row) => !isOver(row)).toSorted((a, b) => msOf(a.due_at) - msOf(b.due_at))
  return JSON.stringify([
    ...[deaths, deeds],
    byHour.map(({ id }) => stage.deliveryIds.indexOf(id as string)),
    deliveries.map((row) => deliveryForm(stage, state, row, who)),
    flightForms(stage, state, minds),
    rows.channels.map((row) => [
      ...[row.status, ahead(stage, row.paused_until), row.paused_at !== null, row.credential !== null],
    ]),
    rows.workers.map(({ owner, gone_at }) => `${who(owner)} ${gone_at !== null}`).sort(),
    minds.map(({ isAlive, work, look }) => [
      isAlive,
      work && workForm(stage, state, work),
      look && lookForm(stage, state, look),
    ]),
  ])
}

function deliveryForm(stage: Stage, { rows, truth }: State, row: Row, who: (owner: unknown) => unknown): unknown[] {
  if (isOver(row)) return [row.state]
  const isLeased = row.lease_until !== null
  return [
    ...[row.state, row.maybe_out, row.crash_count, row.look_token !== null, row.absent_at !== null, isUnclear(row)],
    ...[row.due_at, row.next_attempt_at, row.look_at].map((instant) => ahead(stage, instant)),
    ...[who(row.lease_owner), isLeased && Math.max(away(stage, row.lease_until), -1)],
    wasTried(rows.attempts, row),
    sinceIntent(stage, rows.attempts, row),
    truth.asked[row.id as string] === null || (stage.kind === 'readable' && truth.asked[row.id as string]),
  ]
}

// It decides what it means when a look finds nothing.
function isUnclear({ state, error }: Row): boolean {
  return state === 'uncertain' && (error as { code?: string } | null)?.code === UnclearCode
}

function flightForms(stage: Stage, state: State, minds: Mind[]): string[] {
  const forms = state.truth.flights.flatMap((flight, i) => {
    const form = flightForm(stage, state, flight)
    return form ? [JSON.stringify([...form, minds.map(({ look }) => look?.wasShown.includes(i) ?? false)])] : []
  })
  return (stage.kind === 'readable' ? forms : [...new Set(forms)]).sort()
}

function flightForm(stage: Stage, { rows, truth }: State, flight: Flight): unknown[] | null {
  const { deliveryId, bytes, fate, until, isExcused } = flight
  const row = rowOf(rows, deliveryId)
  // A readable post may be taken for another delivery's, whatever happened to its own delivery.
  const canBeRead = stage.kind === 'readable' && fate !== 'lost' && row.remote_id !== remoteIdOf(flight)
  const isOpen = !isOver(row) && (fate !== 'lost' || openFlights(stage, truth, deliveryId).includes(flight))
  if (!canBeRead && !isOpen) return null
  const untilIn = fate === 'flying' ? (until - stage.nowMs) / Unit : 0
  const about = [stage.deliveryIds.indexOf(deliveryId), fate, isExcused, row.prepared === bytes, untilIn]
  if (!canBeRead) return about
  return [...about, textOf(bytes), rows.deliveries.findIndex((one) => one.remote_id === remoteIdOf(flight))]
}

// A claim without its lease changes nothing any more, unless one of its sends can still begin or be proved.
function workForm(stage: Stage, { rows, truth }: State, { claimed, phase, bytes, canBegin, flight }: Work): unknown {
  const { id, leaseToken, channelId, credentialVersion } = claimed
  const hasLease = rowOf(rows, id).lease_token === leaseToken
  const fate = phase === 'sent' ? truth.flights[flight]!.fate : null
  if (!hasLease && !canBegin && (fate === null || fate === 'lost')) return 'idle'
  const isCurrent = rows.channels.find((row) => row.id === channelId)!.credential_version === credentialVersion
  const text = textOf(bytes)
  const about = [stage.deliveryIds.indexOf(id), phase, fate, hasLease, canBegin]
  return hasLease ? [...about, isCurrent, text === truth.asked[id]] : about
}

function lookForm(stage: Stage, { rows }: State, { looking }: Look): unknown {
  const hasToken = rowOf(rows, looking.id).look_token === looking.lookToken
  return [
    stage.deliveryIds.indexOf(looking.id),
    hasToken,
    hasToken && [looking.isSecond, looking.isTooOld, looking.unclear !== null, looking.isWithPerson],
  ]
}

// In units from now. Everything more than a day ago counts as -1000.
function away({ nowMs }: Stage, instant: unknown): number {
  const units = (msOf(instant) - nowMs) / Unit
  return units < -times.giveUpMs / Unit ? -1000 : units
}

// For a time that only means "not before": all past times are the same.
function ahead(stage: Stage, instant: unknown): number | null {
  if (instant === null) return null
  const units = away(stage, instant)
  return units === -1000 ? units : Math.max(units, 0)
}

function sinceIntent(stage: Stage, attempts: Row[], row: Row): number | null {
  const { id, attempt_no, state } = row
  if (state !== 'sending' && !isSought(row)) return null
  const last = attempts.find((one) => one.delivery_id === id && one.no === attempt_no)!
  const units = away(stage, last.intended_at)
  if (state !== 'sending') return units === -1000 ? units : 0
  return stage.kind === 'blind' ? 0 : Math.max(units, -(times.sendMs + times.firstLookMs) / Unit)
}

// Decides whether it fails or needs review when it is too late.
function wasTried(attempts: Row[], { id, due_at }: Row): boolean {
  return attempts.some((one) => one.delivery_id === id && msOf(one.started_at) >= msOf(due_at))
}

const isOver = ({ state }: Row) => state === 'published' || state === 'cancelled'
