import type { ChannelLimits } from '../../db/schema/channels.ts'
import { excessOf } from './text-length.ts'

// What is wrong with a text and its media on one channel. Pure: the API refuses posts by it, and the composer shows the
// same sentences while you type.

/** What we know about a file of a post. */
export type CheckedFile = { mime: string; bytes: number; alt: string; durationMs: number | null }

/** What goes out on one channel. A file that we know nothing about is null: it only counts. */
export type CheckedContent = { text: string; media: (CheckedFile | null)[] }

/** The channel, as its owner knows it. `network` is a key of jobs/networks/registry.ts. */
export type CheckedChannel = { name: string; network: string; limits: ChannelLimits }

/** One problem: of the text, of the media together, or of the file at this index. */
export type Complaint = {
  of: 'text' | 'media' | number
  code: 'content_empty' | 'content_too_long' | 'media_not_supported' | 'video_too_long'
  message: string
}

/** What the channel's limits don't allow. `emptiness` checks for empty content. */
export function check(content: CheckedContent, channel: CheckedChannel): Complaint[] {
  return [...textComplaints(content.text, channel), ...mediaComplaints(content.media, channel)]
}

/** The problem of content without text and media, which no network takes. Null if there is some. */
export function emptiness({ text, media }: { text: string; media: unknown[] }): Complaint | null {
  if (text.trim() !== '' || media.length > 0) return null
  return { of: 'text', code: 'content_empty', message: 'Write something or add media.' }
}

function textComplaints(text: string, { name, limits }: CheckedChannel): Complaint[] {
  const excess = excessOf(limits, text)
  if (!excess) return []
  const { by, unit } = excess
  const limit = unit === 'bytes' ? limits.textBytes! : limits.textLength // excessOf names bytes only where they are bounded
  const message = `${counted(by, unit)} too long for ${name}. The limit is ${counted(limit, unit)}, and this text has ${limit + by}.`
  return [{ of: 'text', code: 'content_too_long', message }]
}

function mediaComplaints(media: CheckedContent['media'], channel: CheckedChannel): Complaint[] {
  const { mediaCount, videoAlone } = channel.limits
  const on = placeOf(channel)
  const together = (message: string): Complaint => ({ of: 'media', code: 'media_not_supported', message })
  const mixes = videoAlone && media.length > 1 && media.some((file) => file && isVideo(file))
  return [
    ...(media.length > mediaCount
      ? [together(`${on} allows at most ${counted(mediaCount, 'files')}. This post has ${media.length}.`)]
      : []),
    ...(mixes
      ? [together(`${on} allows a video only without other files. This post has ${counted(media.length, 'files')}.`)]
      : []),
    ...media.flatMap((file, index) => (file ? fileComplaints(file, index, channel) : [])),
  ]
}

function fileComplaints(file: CheckedFile, of: number, channel: CheckedChannel): Complaint[] {
  const { mediaTypes, mediaBytes, videoBytes, videoSeconds, altLength } = channel.limits
  const on = placeOf(channel)
  const complaints: Complaint[] = []
  const add = (message: string, code: Complaint['code'] = 'media_not_supported') =>
    complaints.push({ of, code, message })
  const bytes = isVideo(file) ? videoBytes : mediaBytes
  if (!mediaTypes.includes(file.mime)) add(`${on} doesn't accept ${file.mime}.`)
  if (bytes !== undefined && file.bytes > bytes)
    add(
      `${on} allows ${isVideo(file) ? 'videos' : 'files'} of up to ${bytes.toLocaleString('en')} bytes. This one has ${file.bytes.toLocaleString('en')}.`,
    )
  const seconds = Math.ceil((file.durationMs ?? 0) / 1000)
  if (videoSeconds !== undefined && seconds > videoSeconds)
    add(`${on} allows videos of up to ${counted(videoSeconds, 'seconds')}. This one has ${seconds}.`, 'video_too_long')
  if (altLength !== undefined && Array.from(file.alt).length > altLength)
    add(`${on} allows alt texts of up to ${counted(altLength, 'characters')}.`)
  return complaints
}

function isVideo({ mime }: CheckedFile): boolean {
  return mime.startsWith('video/')
}

function placeOf({ name, network }: CheckedChannel): string {
  return `${name} (${network})`
}

/** `100 characters`, `1 character`. */
function counted(count: number, plural: string): string {
  return `${count} ${count === 1 ? plural.slice(0, -1) : plural}`
}
