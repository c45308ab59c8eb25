import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type'

const MiB = 1024 * 1024

/** The largest picture and the largest video that we accept (docs/api/limits.md, Sizes). */
export const ImageBytesAtMost = 20 * MiB
export const VideoBytesAtMost = 1024 * MiB

/** The type of a video by its first bytes, and the extension of its file. */
const videos: Record<string, { mime: string; extension: string }> = {
  'video/mp4': { mime: 'video/mp4', extension: 'mp4' },
  'video/x-m4v': { mime: 'video/mp4', extension: 'mp4' }, // the same under another brand
  'video/webm': { mime: 'video/webm', extension: 'webm' },
  'video/quicktime': { mime: 'video/quicktime', extension: 'mov' },
}

export type VideoType = (typeof videos)[string]

type Code =
  | 'media_type_not_supported'
  | 'media_too_large'
  | 'media_dimensions_too_large'
  | 'media_too_long'
  | 'media_unreadable'

/** A file that we do not accept. Its sender may see the message. */
export class MediaError extends Error {
  readonly code: Code
  constructor(code: Code, message: string, { cause }: { cause?: unknown } = {}) {
    super(message, { cause })
    this.code = code
  }
}

/** The type of the file at `path` by what its bytes say; empty when they say nothing. */
export async function typeOf(path: string): Promise<string> {
  return (await fileTypeFromFile(path))?.mime ?? ''
}

/** The kind of video for a type; null for a type that we do not accept. */
export function videoTypeOf(mime: string): VideoType | null {
  return videos[mime] ?? null
}

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
