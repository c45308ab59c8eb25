import { useState } from 'react'
import type { Media } from '../../../server/media/media.ts'
import { altBeforeOf, type Fields } from '../working-copy/fields.ts'
import { withOwnFile } from './channels/overrides.ts'
import type { Wall } from './typed.ts'
import { type Picked, useUploads } from './uploads.ts'

type Change = Partial<Omit<Fields, 'media' | 'files' | 'isDateSuggested'>>

/** What changes the files of the post. */
export type MediaChanges = ReturnType<typeof useFields>['media']

/** The composer's fields, what changes them, and the uploads that add files to them. */
export function useFields(first: Fields) {
  const [fields, setFields] = useState(first)
  const uploads = useUploads(fields.channelIds, (file, channelId) =>
    setFields((before) => withFile(before, file, channelId)),
  )
  const set = (change: Change) => setFields((before) => changed(before, change))
  const setMedia = (change: (media: Picked[]) => Picked[]) =>
    setFields((before) => ({ ...before, media: change(before.media) }))
  const media = {
    remove: (id: string) => setMedia((files) => files.filter((file) => file.id !== id)),
    move: (id: string, to: number) => setMedia((files) => moved(files, id, to)),
    /** Give a file its alt text, also if only a channel has it. */
    describe: (id: string, alt: string) => setFields((before) => withAlt(before, id, alt)),
  }
  /** Another suggestion for date and time, unless somebody has chosen them. */
  const suggest = (wall: Wall) => setFields((before) => suggested(before, wall))
  /** Once the form was sent with the fields `sent`: what the post has `now` as its date, if it was not changed since. */
  const takeSaved = (sent: Fields, now: Fields) => setFields((before) => described(dated(before, sent, now), now))
  return { fields, set, suggest, media, uploads, takeSaved, replace: setFields }
}

function changed(before: Fields, change: Change): Fields {
  const isChosen = change.date !== undefined || change.time !== undefined
  return { ...before, ...change, isDateSuggested: before.isDateSuggested && !isChosen }
}

function suggested(before: Fields, { date, time }: Wall): Fields {
  const isNew = before.date !== date || before.time !== time
  return before.isDateSuggested && isNew ? { ...before, date, time } : before
}

// The post may have got another date than the form had: the queue's. And what was a suggestion is its date now.
function dated(before: Fields, sent: Fields, { date, time, zone, isDateSuggested }: Fields): Fields {
  const isSent = before.date === sent.date && before.time === sent.time && before.zone === sent.zone
  return isSent ? { ...before, date, time, zone, isDateSuggested } : before
}

// What was typed and saved is no change any more.
function described(before: Fields, { files: now }: Fields): Fields {
  const saved = (file: Picked) => now.find(({ id }) => id === file.id)?.alt ?? file.altBefore
  const files = (all: Picked[]) =>
    all.map((file) => (file.altBefore === undefined ? file : { ...file, altBefore: saved(file) }))
  return { ...before, media: files(before.media), files: files(before.files) }
}

function withFile(before: Fields, file: Media, channelId: string | null): Fields {
  const files = [...before.files, file]
  if (channelId === null) return { ...before, files, media: [...before.media, file] }
  return { ...before, files, overrides: withOwnFile(before.overrides, channelId, file.id) }
}

function withAlt(before: Fields, id: string, alt: string): Fields {
  const change = (files: Picked[]) =>
    files.map((file) => (file.id === id ? { ...file, alt, altBefore: altBeforeOf(file) } : file))
  return { ...before, media: change(before.media), files: change(before.files) }
}

function moved(media: Picked[], id: string, to: number): Picked[] {
  const one = media.find((file) => file.id === id)
  if (!one) return media
  return media.filter((file) => file !== one).toSpliced(to, 0, one)
}
