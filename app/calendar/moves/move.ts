import { DateTime } from 'luxon'
import { validate as isUuid } from 'uuid'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { instantOf } from '../../../jobs/wall-clock.ts'
import type { Api } from '../../../server/router.ts'
import { problemOf } from '../../api.ts'
import { clockAt } from '../../ui/time/time-zone.ts'
import { calendarStrings } from '../strings.tsx'

/** A post before it was moved, and the version that it has since: what Undo needs. */
export type Before = { id: string; version: number; at: string; queueId: string | null }

/**
 * The outcome of a move. `at`: where the post is now, an instant. `how`: `later` because the clocks skip the time that was
 * asked for, `back` by Undo, `same` if nothing was changed. `queueId`: the queue that it was in, and `isQueued`: whether it still is, or is again.
 */
export type Moved = {
  how: 'there' | 'later' | 'back' | 'same'
  by: 'drag' | 'form'
  at: string
  queueId: string | null
  isQueued: boolean
  before: Before | null
}

/** Why a post was not moved, with what was asked for. */
export type Refused = { refused: string; id: string; date: string; time: string }

type Outcome = { moved: Moved } | (Refused & { status: number })

/** Move the post of the form to its date and time in `zone`, if it still has the form's version. */
export async function movePost(api: Api, form: FormData, zone: string): Promise<Outcome> {
  const { id, date, time, from, queueId, version } = fieldsOf(form)
  // The fields have no seconds, and of an hour that comes twice they mean the first: what nobody touched stays.
  const before = isInstant(from) ? clockAt(from, zone) : null
  const isUntouched = before?.date === date && before.time === time
  const at = isUntouched ? new Date(from) : instantOf(date, time, zone)
  if (!at) return { refused: calendarStrings.move.incomplete, id, date, time, status: 400 }
  return outcomeOf({ id, date, time }, async () => {
    const by = form.get('by') === 'drag' ? 'drag' : 'form'
    if (isUntouched) return { ...placeOf(await api.posts.get({ id }), queueId), how: 'same', by, before: null }
    const post = await api.posts.update({ id, date: at.toISOString(), ifVersions: [version] })
    const how = clockAt(at, zone).time === time ? 'there' : 'later'
    const undo = isInstant(from) ? { id, version: post.version, at: from, queueId } : null
    return { ...placeOf(post, queueId), how, by, before: undo }
  })
}

/** Undo a move: put the post of the form back to where it was. */
export async function undoMove(api: Api, form: FormData): Promise<Outcome> {
  const { id, from, queueId, version } = fieldsOf(form)
  return outcomeOf({ id, date: '', time: '' }, async () => {
    const post = await api.calendar.moveTo({ id, date: from, queueId, ifVersions: [version] })
    return { ...placeOf(post, queueId), how: 'back', by: 'form', before: null }
  })
}

function fieldsOf(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '')
  const [id, date, time, from] = [text('id'), text('date'), text('time'), text('from')]
  const queue = text('queue') // goes into a cookie, so it has to be an id
  return { id, date, time, from, queueId: isUuid(queue) ? queue : null, version: Number(text('version')) }
}

function placeOf(post: Post, queueId: string | null) {
  return { at: post.date ?? '', queueId, isQueued: queueId !== null && post.queueId === queueId }
}

async function outcomeOf(asked: Omit<Refused, 'refused'>, move: () => Promise<Moved>): Promise<Outcome> {
  try {
    return { moved: await move() }
  } catch (error) {
    const { status, detail, errors } = problemOf(error)
    const sentences = new Set(errors.map(({ message }) => message))
    return { refused: [...sentences].join(' ') || detail, ...asked, status }
  }
}

function isInstant(written: string): boolean {
  return DateTime.fromISO(written).isValid
}
