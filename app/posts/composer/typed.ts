import type { Override } from '../../../jobs/ledger/post-view.ts'
import { instantOf, isZone } from '../../../jobs/wall-clock.ts'
import { comparable, ownMediaIds, readOverride, withOwn } from './channels/overrides.ts'

/** What a person typed into the composer, as its form carries it. */
export type Typed = {
  content: string
  channelIds: string[]
  mediaIds: string[]
  alts: Record<string, string> // that were changed, by media id
  overrides: Override[] // also of channels that are not chosen now
  tags: string // separated by commas
  date: string // yyyy-mm-dd, or empty: also while the form shows a suggestion that nobody has touched
  time: string // hh:mm, or empty
  zone: string // of date and time. Empty: not known
}

const MoreThanAnyList = 51 // the procedure refuses what is too long

/** Read the composer's form. */
export function typedIn(form: FormData): Typed {
  const text = (name: string) => asHeld(String(form.get(name) ?? ''))
  const all = (name: string) => form.getAll(name).slice(0, MoreThanAnyList).map(String)
  const mediaIds = all('mediaIds')
  const overrides = all('overrides').flatMap(readOverride)
  const ownTexts = overrides.map(({ channelId }) => channelId).filter((id) => form.has(ownTextName(id)))
  const before = readAlts(form.get(altsBeforeName))
  const isChanged = (id: string) => form.has(altName(id)) && text(altName(id)) !== before.get(id)
  const described = fileIdsOf({ mediaIds, overrides }).filter(isChanged)
  const wall = wallIn(form)
  return {
    content: text('content'),
    channelIds: all('channelIds'),
    mediaIds,
    alts: Object.fromEntries(described.map((id) => [id, text(altName(id))])),
    overrides: ownTexts.reduce((all, id) => withOwn(all, id, { content: text(ownTextName(id)) }), overrides),
    tags: text('tags'),
    ...(form.get('suggested') === suggestedValue(wall) ? { date: '', time: '' } : wall),
    zone: text('zone'),
  }
}

/** `text` as a field holds it: browsers end a line with `\n` there, and callers of the API with `\r\n` or `\r` too. */
export function asHeld(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

/** What the fields Date and Time hold. */
export type Wall = { date: string; time: string }

/** What the form's fields Date and Time show, also if it is only a suggestion. */
export function wallIn(form: FormData): Wall {
  return { date: String(form.get('date') ?? ''), time: String(form.get('time') ?? '') }
}

/** The value of the form's field `suggested`: while Date and Time say the same, nobody has chosen them. */
export function suggestedValue({ date, time }: Wall): string {
  return `${date} ${time}`
}

/** The name of the field with the alt text of a file. */
export function altName(fileId: string): string {
  return `alt.${fileId}`
}

/** The hidden field with the alt texts that the form began with, by media id: somebody else may change them meanwhile. */
export const altsBeforeName = 'altsBefore'

function readAlts(field: FormDataEntryValue | null): Map<string, unknown> {
  try {
    return new Map(Object.entries(JSON.parse(String(field)) ?? {}))
  } catch {
    return new Map() // pages of the last version send none
  }
}

/** The name of the field with the text that a channel has of its own. */
export function ownTextName(channelId: string): string {
  return `own.${channelId}`
}

/** The name under which the problems of a channel's own media are. */
export function ownMediaName(channelId: string): string {
  return `own-media.${channelId}`
}

/** The ids of all files that a form names. */
export function fileIdsOf({ mediaIds, overrides }: Pick<Typed, 'mediaIds' | 'overrides'>): string[] {
  return [...new Set([...mediaIds, ...ownMediaIds(overrides)])]
}

/** Whether both forms say the same. Channels are in any order. */
export function isSame(one: Typed, other: Typed): boolean {
  const plain = ({ channelIds, ...rest }: Typed) => JSON.stringify([channelIds.toSorted(), ...parts(rest)])
  return plain(one) === plain(other)
}

function parts({ alts, ...rest }: Omit<Typed, 'channelIds'>) {
  const { content, mediaIds, overrides, tags, date, time } = rest
  const when = (isZone(rest.zone) && instantOf(date, time, rest.zone)) || [date, time]
  const described = fileIdsOf(rest).toSorted()
  return [content, mediaIds, described.map((id) => alts[id] ?? null), comparable(overrides), tags, when]
}
