import { z } from 'zod'
import { Failure } from '../errors.ts'
import { Instant } from '../forms.ts'

/** A list as callers see it: `nextCursor` null on the last page. */
export type Page<T> = { data: T[]; nextCursor: string | null }

/**
 * Where the previous page ended, as `pageOf` wrote it: `[sort value or null, id]`. `sort` is what the list is sorted by, if callers
 * choose that. Throws `invalid_request`, also for a cursor of another sort.
 */
export function positionOf(cursor: string | undefined, sort = DateSort): [string | null, string] | null {
  if (cursor === undefined) return null
  const [value, id, by = DateSort] = readCursor(cursor)
  if (by !== sort) throw refused('This cursor belongs to a list with another `sort`. Start again without a cursor.')
  return [value?.toISOString() ?? null, id]
}

function readCursor(cursor: string): z.output<typeof Position> {
  try {
    return Position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch (cause) {
    throw refused('Must be the nextCursor of an earlier page.', cause)
  }
}

function refused(message: string, cause?: unknown): Failure {
  return new Failure('invalid_request', { errors: [{ path: 'cursor', code: 'invalid', message }], cause })
}

const DateSort = 'date' // the sort of a list that names no other
const Position = z.union([z.tuple([Instant.nullable(), z.guid()]), z.tuple([Instant.nullable(), z.guid(), z.string()])])

/** A page of at most `limit` rows. `rows` has one more if there is another page. */
export function pageOf<Row, T>(
  rows: Row[],
  limit: number,
  show: (row: Row) => T,
  position: (row: Row) => [string | null, string],
  sort = DateSort,
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const cursor = last && [...position(last), ...(sort === DateSort ? [] : [sort])]
  const nextCursor = rows.length > limit ? Buffer.from(JSON.stringify(cursor)).toString('base64url') : null
  return { data: shown.map(show), nextCursor }
}
