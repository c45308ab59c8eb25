import { z } from 'zod'

// What the inputs of procedures are made of. Each noun's inputs are in its own forms.ts, which pages share: they import
// nothing but zod and each other.

z.config({
  customError: (issue) => (issue.code === 'invalid_type' && issue.input === undefined ? 'Required.' : undefined),
})

/** Text that PostgreSQL keeps as it came: no NUL, no half of a surrogate pair. `most` in UTF-16 units. */
export const text = (most: number) =>
  z
    .string()
    .max(most, `At most ${most.toLocaleString('en')} characters.`)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), {
      error: 'Contains characters that are not text.',
      abort: true,
    })

/** A name that others read, on the consent page among other places. */
export const line = (most: number) =>
  text(most)
    .trim()
    .min(1, { error: 'Required.', abort: true })
    .refine(isVisibleLine, 'Must be one line of text that can be seen.')

// No control characters or line breaks, and nothing that turns the direction of what stands beside it (UAX #9). Letters
// and symbols that show nothing, the fillers of Hangul and of Braille, do not count.
function isVisibleLine(value: string): boolean {
  const breaksOut = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(value)
  return !breaksOut && /(?![\u115f\u1160\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]/u.test(value)
}

const NoSuchId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const Uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id, opaque to callers: a malformed one is simply that of nothing. */
export const Id = z.string().transform((value) => (Uuid.test(value) ? value.toLowerCase() : NoSuchId))
export const ById = z.strictObject({ id: Id })

/** Of a procedure that the public API calls with nothing. Without an input it would not refuse a parameter. */
export const Nothing = z.strictObject({}).default({})

/** An ISO 8601 instant in UTC, fraction of 1 to 3 digits optional. */
export const Instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/, {
    error: 'Must be an instant in UTC such as 2026-12-24T18:00:00.000Z.',
    abort: true,
  })
  .refine(isOnTheCalendar, 'There is no such day or time.')
  .meta({ description: 'An instant in UTC, such as 2026-12-24T18:00:00.000Z.' })
  .transform((value) => new Date(value))

function isOnTheCalendar(value: string): boolean {
  const date = new Date(value)
  const isTheSame = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === value.slice(0, 19)
  return isTheSame && date.getUTCFullYear() > 0 // PostgreSQL has no year 0
}

export const limit = z.number().int().min(1).max(100).default(50)
export const cursor = z.string().max(500).optional()
/** Which page of a list, where there are no filters. */
export const Paged = z.strictObject({ limit, cursor })
