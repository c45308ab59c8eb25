import type { Typed } from '../composer/typed.ts'
import type { Picked } from '../composer/uploads.ts'

/** What the composer's fields hold. */
export type Fields = { content: string; channelIds: string[]; date: string; time: string; media: Picked[] }

/** The fields that a form held. Its files have the alt texts that were typed. */
export function fieldsOf({ content, channelIds, date, time, alts, mediaIds }: Typed, media: Picked[]): Fields {
  const files = mediaIds.flatMap((id) => media.filter((file) => file.id === id))
  return { content, channelIds, date, time, media: files.map((file) => ({ ...file, alt: alts[file.id] ?? file.alt })) }
}

/** The same as the form would carry it. */
export function typedOf({ media, ...fields }: Fields): Typed {
  const alts = Object.fromEntries(media.map(({ id, alt }) => [id, alt]))
  return { ...fields, mediaIds: media.map(({ id }) => id), alts }
}
