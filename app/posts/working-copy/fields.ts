import type { Override } from '../../../jobs/ledger/post-view.ts'
import { instantOf, isZone } from '../../../jobs/wall-clock.ts'
import { clockAt } from '../../ui/time/time-zone.ts'
import { asHeld, fileIdsOf, type Typed, type Wall } from '../composer/typed.ts'
import type { Picked } from '../composer/uploads.ts'

/** What the composer's fields hold. `files`: every file that the text has, or a channel has of its own. */
export type Fields = {
  content: string
  channelIds: string[]
  tags: string // separated by commas
  date: string
  time: string
  zone: string // of date and time
  isDateSuggested: boolean // nobody has chosen date and time
  media: Picked[]
  overrides: Override[]
  files: Picked[]
}

/**
 * The fields that a form held. Its files have the alt texts that were typed. Files that are not in `known` are gone. If
 * `untouched` suggests a date and the form held none, the fields have the suggestion. Date and time are in the zone of
 * `untouched`, at the instant that the form meant.
 */
export function fieldsOf({ alts, mediaIds, overrides, ...typed }: Typed, known: Picked[], untouched: Fields): Fields {
  const files = known.map((file) => withAlt(file, alts[file.id]))
  const isThere = (id: string) => files.some((file) => file.id === id)
  const { content, channelIds, tags } = typed
  const { date, time } = wallAt(untouched.zone, typed)
  const isDateSuggested = untouched.isDateSuggested && date === '' && time === ''
  return {
    content,
    channelIds,
    tags,
    ...(isDateSuggested ? { date: untouched.date, time: untouched.time } : { date, time }),
    zone: untouched.zone,
    isDateSuggested,
    files,
    media: mediaIds.flatMap((id) => files.filter((file) => file.id === id)),
    overrides: overrides.map((override) =>
      override.mediaIds ? { ...override, mediaIds: override.mediaIds.filter(isThere) } : override,
    ),
  }
}

/** The alt text of a file before somebody changed it in the form. */
export function altBeforeOf({ alt, altBefore }: Picked): string {
  return altBefore ?? alt
}

function withAlt(file: Picked, typed: string | undefined): Picked {
  const altBefore = altBeforeOf(file)
  return typed === undefined ? { ...file, alt: altBefore } : { ...file, alt: typed, altBefore }
}

// What is no whole date and time stays as it was typed.
function wallAt(zone: string, typed: Pick<Typed, 'date' | 'time' | 'zone'>): Wall {
  const instant = typed.zone === zone || !isZone(typed.zone) ? null : instantOf(typed.date, typed.time, typed.zone)
  return instant ? clockAt(instant, zone) : typed
}

/** The same as the form holds it: with the line breaks of a browser, and each file once. */
export function fieldsHeld(fields: Fields): Fields {
  const isFirst = ({ id }: Picked, i: number, all: Picked[]) => all.findIndex((file) => file.id === id) === i
  const held = (files: Picked[]) => files.filter(isFirst).map((file) => ({ ...file, alt: asHeld(file.alt) }))
  return {
    ...fields,
    content: asHeld(fields.content),
    media: held(fields.media),
    files: held(fields.files),
    overrides: fields.overrides.map((override) =>
      override.content === undefined ? override : { ...override, content: asHeld(override.content) },
    ),
  }
}

/** The same as the form would carry it. */
export function typedOf({ media, files, isDateSuggested, ...fields }: Fields): Typed {
  const mediaIds = media.map(({ id }) => id)
  const named = fileIdsOf({ mediaIds, overrides: fields.overrides })
  const changed = files.filter((file) => named.includes(file.id) && file.alt !== altBeforeOf(file))
  const alts = Object.fromEntries(changed.map(({ id, alt }) => [id, alt]))
  return { ...fields, ...(isDateSuggested ? { date: '', time: '' } : {}), mediaIds, alts }
}
