import { fileTypeFromFile } from 'file-type'

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
