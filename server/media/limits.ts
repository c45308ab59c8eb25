import { fileTypeFromBuffer } from 'file-type'
import { videoTypeOf } from './format.ts'

const MiB = 1024 * 1024

// Of the files that we accept (docs/api/limits.md, Sizes)
export const ImageBytesAtMost = 20 * MiB
export const ImagePixelsAtMost = 50_000_000 // all frames of an animation together
export const VideoBytesAtMost = 1024 * MiB
export const VideoPixelsASideAtMost = 8192
export const VideoHoursAtMost = 12

/** How large a file that begins with `head` may be. */
export async function bytesAtMost(head: Uint8Array): Promise<number> {
  const mime = (await fileTypeFromBuffer(head))?.mime ?? ''
  return videoTypeOf(mime) ? VideoBytesAtMost : ImageBytesAtMost
}

/** The sentence for a file of more than `bytes`. */
export function sizeSentence(bytes: number): string {
  return bytes === VideoBytesAtMost
    ? 'A video can have at most 1 GB.'
    : 'A file other than an MP4, MOV or WebM video can have at most 20 MB.'
}

const units = [
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
  ['KB', 1024],
] as const

/** A number of bytes as a person reads it: `9.8 GB`. */
export function sizeOf(bytes: number): string {
  const [unit, of] = units.find(([, of]) => bytes >= of) ?? units.at(-1)!
  return `${Number((bytes / of).toFixed(1))} ${unit}`
}
