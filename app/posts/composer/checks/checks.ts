import { useDeferredValue, useMemo } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { type CheckedFile, type Complaint, check } from '../../../../jobs/networks/check.ts'
import type { Media } from '../../../../server/media/media.ts'
import type { Fields } from '../../working-copy/fields.ts'
import { composerStrings } from '../strings.tsx'
import { ownMediaName, ownTextName } from '../typed.ts'
import type { Picked } from '../uploads.ts'

/** Problems by the name of the field that each belongs to. */
export type Problems = Record<string, string[]>

/** What a channel gets, its own or the post's, and what is wrong with it there. */
export type Verdict = { channel: Channel; text: string; media: Picked[]; complaints: Complaint[] }

const ShownAtMost = 4 // of one field: 50 channels may say the same

/** What each of `channels` gets from the fields, and its problems. Typing does not wait for the check. */
export function useVerdicts(channels: Channel[], fields: Fields): Verdict[] {
  const [theirs, typed] = useDeferredValue(useMemo(() => [channels, fields] as const, [channels, fields]))
  return useMemo(() => theirs.map((channel) => verdictOn(channel, typed)), [theirs, typed])
}

function verdictOn(channel: Channel, fields: Fields): Verdict {
  const own = fields.overrides.find(({ channelId }) => channelId === channel.id)
  const text = own?.content ?? fields.content
  const fileOf = (id: string) => fields.files.filter((file) => file.id === id)
  const media = own?.mediaIds ? own.mediaIds.flatMap(fileOf) : fields.media
  return { channel, text, media, complaints: check({ text, media: media.map(factsOf) }, channel) }
}

// Texts that an older page kept in this browser know less about their files.
function factsOf(file: Picked & Partial<Pick<Media, 'mime' | 'bytes' | 'durationMs'>>): CheckedFile | null {
  const { mime, bytes, durationMs = null, alt } = file
  return mime === undefined || bytes === undefined ? null : { mime, bytes, durationMs, alt }
}

/** The problems of all channels, each under the name of the field that causes it. */
export function problemsIn(verdicts: Verdict[], { overrides }: Fields): Problems {
  const problems: Problems = {}
  for (const { channel, media, complaints } of verdicts) {
    const own = overrides.find(({ channelId }) => channelId === channel.id)
    for (const { of, message } of complaints) {
      const ofMedia = own?.mediaIds ? ownMediaName(channel.id) : of === 'media' ? 'mediaIds' : media[Number(of)]?.id
      const field = of !== 'text' ? ofMedia : own?.content === undefined ? 'content' : ownTextName(channel.id)
      if (field) problems[field] = [...(problems[field] ?? []), message]
    }
  }
  return problems
}

/** Both together: each sentence once, and at most four for each field. */
export function together(some: Problems, others: Problems): Problems {
  const names = [...new Set([...Object.keys(some), ...Object.keys(others)])]
  return Object.fromEntries(names.map((name) => [name, few([...(some[name] ?? []), ...(others[name] ?? [])])]))
}

function few(sentences: string[]): string[] {
  const all = [...new Set(sentences)]
  if (all.length <= ShownAtMost) return all
  return [...all.slice(0, ShownAtMost - 1), composerStrings.checks.more(all.length - ShownAtMost + 1)]
}
