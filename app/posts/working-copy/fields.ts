import type { Override } from '../../../jobs/ledger/post-view.ts'
import { asHeld, fileIdsOf, type Typed } from '../composer/typed.ts'
import type { Picked } from '../composer/uploads.ts'

/** What the composer's fields hold. `files`: every file that the text has, or a channel has of its own. */
export type Fields = {
  content: string
  channelIds: string[]
  tags: string // separated by commas
  date: string
  time: string
  isDateSuggested: boolean // nobody has chosen date and time
  media: Picked[]
  overrides: Override[]
  files: Picked[]
}

/**
 * The fields that a form held. Its files have the alt texts that were typed. Files that are not in `known` are gone. If
 * `untouched` suggests a date and the form held none, the fields have the suggestion.
 */
export function fieldsOf({ alts, mediaIds, overrides, ...typed }: Typed, known: Picked[], untouched: Fields): Fields {
  const files = known.map((file) => ({ ...file, alt: alts[file.id] ?? file.alt }))
  const isThere = (id: string) => files.some((file) => file.id === id)
  const { content, channelIds, tags, date, time } = typed
  const isDateSuggested = untouched.isDateSuggested && date === '' && time === ''
  return {
    content,
    channelIds,
    tags,
    ...(isDateSuggested ? { date: untouched.date, time: untouched.time } : { date, time }),
    isDateSuggested,
    files,
    media: mediaIds.flatMap((id) => files.filter((file) => file.id === id)),
    overrides: overrides.map((override) =>
      override.mediaIds ? { ...override, mediaIds: override.mediaIds.filter(isThere) } : override,
    ),
  }
}

/** The same texts as the form holds them: with the line breaks of a browser. */
export function fieldsHeld(fields: Fields): Fields {
  const fileHeld = (file: Picked) => ({ ...file, alt: asHeld(file.alt) })
  return {
    ...fields,
    content: asHeld(fields.content),
    media: fields.media.map(fileHeld),
    files: fields.files.map(fileHeld),
    overrides: fields.overrides.map((override) =>
      override.content === undefined ? override : { ...override, content: asHeld(override.content) },
    ),
  }
}

/** The same as the form would carry it. */
export function typedOf({ media, files, isDateSuggested, ...fields }: Fields): Typed {
  const mediaIds = media.map(({ id }) => id)
  const named = fileIdsOf({ mediaIds, overrides: fields.overrides })
  const alts = Object.fromEntries(files.filter(({ id }) => named.includes(id)).map(({ id, alt }) => [id, alt]))
  return { ...fields, ...(isDateSuggested ? { date: '', time: '' } : {}), mediaIds, alts }
}
