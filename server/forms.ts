import { z } from 'zod'
import { isZone } from '../jobs/wall-clock.ts'

// What the inputs of procedures are made of. Each noun's inputs are in its own forms.ts, which pages share: they import
// nothing but zod and each other.

z.config({ customError: sentenceOf })

// In place of zod's own sentences. A schema that names its own comes first.
function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'Required.'
        : `Must be ${types[issue.expected] ?? `of type ${issue.expected}`}.`
    case 'invalid_value':
      return mustBeOneOf(issue.values)
    case 'invalid_union':
      return Array.isArray(issue.options) ? mustBeOneOf(issue.options) : 'Must have one of the documented forms.'
    case 'too_big':
      return boundOf('At most', issue.maximum, issue.origin)
    case 'too_small':
      return boundOf('At least', issue.minimum, issue.origin)
    case 'invalid_format':
      return issue.format === 'url' ? 'Must be a URL that starts with https:// or http://.' : 'Has the wrong format.'
    case 'unrecognized_keys':
      return 'Unknown field. Check its spelling.'
    default:
      return undefined
  }
}

const types: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

function mustBeOneOf(values: readonly unknown[]): string {
  return values.length === 1 ? `Must be ${values[0]}.` : `Must be one of ${values.join(', ')}.`
}

const units: Record<string, [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
}

function boundOf(bound: 'At most' | 'At least', value: number | bigint, origin: string): string {
  const number = value.toLocaleString('en')
  const [one, many] = units[origin] ?? []
  return one ? `${bound} ${number} ${Number(value) === 1 ? one : many}.` : `Must be ${bound.toLowerCase()} ${number}.`
}

/** Text that PostgreSQL keeps as it came: no NUL, no half of a surrogate pair. `most` in UTF-16 units. */
export const text = (most: number) =>
  z
    .string()
    .max(most, `At most ${most.toLocaleString('en')} characters.`)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), {
      error: 'Contains characters that are not valid text.',
      abort: true,
    })

/** A name that others read, on the consent page among other places. */
export const line = (most: number) =>
  text(most)
    .trim()
    .min(1, { error: 'Required.', abort: true })
    .refine(isVisibleLine, 'Must be one line of visible text.')

// No control characters or line breaks, and nothing that turns the direction of what stands beside it (UAX #9). Letters
// and symbols that show nothing, the fillers of Hangul and of Braille, do not count.
function isVisibleLine(value: string): boolean {
  const breaksOut = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(value)
  return !breaksOut && /(?![\u115f\u1160\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]/u.test(value)
}

/** What a malformed id becomes. */
export const NoSuchId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const Uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id, opaque to callers. A malformed one matches nothing. */
export const Id = z.string().transform((value) => (Uuid.test(value) ? value.toLowerCase() : NoSuchId))
export const ById = z.strictObject({ id: Id })

/** Of a procedure that the public API calls with nothing. Without an input it would not refuse a parameter. */
export const Nothing = z.strictObject({}).default({})

/** An ISO 8601 instant in UTC, fraction of 1 to 3 digits optional. */
export const Instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/, {
    error: 'Must be a time in UTC, such as 2026-12-24T18:00:00.000Z.',
    abort: true,
  })
  .refine(isOnTheCalendar, "This date or time doesn't exist.")
  .meta({ description: 'A time in UTC, such as 2026-12-24T18:00:00.000Z.' })
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

/** The name of a time zone in the IANA database. */
export const TimeZone = z.string().refine(isZone, 'Must be a time zone such as Europe/Berlin.')
