import { type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { Failure } from './errors.ts'
import { Instant } from './forms.ts'

/** A list as callers see it: `nextCursor` null on the last page. */
export type Page<T> = { data: T[]; nextCursor: string | null }

/** Where the page before ended, as `cursorOf` wrote it: `[sort value or null, id]`. Throws `invalid_request`. */
export function positionOf(cursor: string | undefined): [string | null, string] | null {
  if (cursor === undefined) return null
  try {
    const [value, id] = Position.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return [value?.toISOString() ?? null, id]
  } catch (cause) {
    throw new Failure('invalid_request', {
      errors: [{ path: 'cursor', code: 'invalid', message: 'Must be the nextCursor of an earlier page.' }],
      cause,
    })
  }
}

const Position = z.tuple([Instant.nullable(), z.guid()])

/** A page of at most `limit`, made from one row more than that: the one that tells whether there is another page. */
export function pageOf<Row, T>(
  rows: Row[],
  limit: number,
  show: (row: Row) => T,
  position: (row: Row) => [string | null, string],
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor =
    rows.length > limit && last ? Buffer.from(JSON.stringify(position(last))).toString('base64url') : null
  return { data: shown.map(show), nextCursor }
}

/** The rows of `p` that come after `position` by (date, id), those without a date last in either order. */
export function isAfter([date, id]: [string | null, string], order: 'asc' | 'desc'): SQL {
  const beyond = order === 'asc' ? sql`>` : sql`<`
  if (date === null) return sql`(p.date is null and p.id ${beyond} ${id})`
  return sql`(p.date is null or (p.date, p.id) ${beyond} (${date}::timestamptz, ${id}::uuid))`
}
