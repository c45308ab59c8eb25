/** What a person typed into the composer, as its form carries it. */
export type Typed = {
  content: string
  channelIds: string[]
  mediaIds: string[]
  alts: Record<string, string> // by media id
  date: string // yyyy-mm-dd, or empty
  time: string // hh:mm, or empty
}

const MoreThanAnyList = 51 // the procedure refuses what is too long

/** Read the composer's form. */
export function typedIn(form: FormData): Typed {
  const text = (name: string) => String(form.get(name) ?? '').replaceAll('\r\n', '\n') // forms send CRLF
  const all = (name: string) => form.getAll(name).slice(0, MoreThanAnyList).map(String)
  const mediaIds = all('mediaIds')
  return {
    content: text('content'),
    channelIds: all('channelIds'),
    mediaIds,
    alts: Object.fromEntries(mediaIds.map((id) => [id, text(`alt.${id}`)])),
    date: text('date'),
    time: text('time'),
  }
}

/** Whether both forms say the same. Channels are in any order. */
export function isSame(one: Typed, other: Typed): boolean {
  const plain = ({ channelIds, ...rest }: Typed) => JSON.stringify([channelIds.toSorted(), ...parts(rest)])
  return plain(one) === plain(other)
}

function parts({ content, mediaIds, alts, date, time }: Omit<Typed, 'channelIds'>) {
  return [content, mediaIds, mediaIds.map((id) => alts[id] ?? ''), date, time]
}
