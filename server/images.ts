import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type'
import sharp, { type Sharp } from 'sharp'
import type { Files } from '../db/files.ts'
import { mintName } from './secrets.ts'
import { turns } from './turns.ts'

/** The largest picture that is taken, as it is sent: API.md §5. */
export const ImageBytesAtMost = 20 * 1024 * 1024
const PixelsAtMost = 50_000_000 // all frames of an animation together
const SecondsAtMost = 60
const ThumbnailPixels = 480
const AccountPicturePixels = 256

// By what the bytes say. Whatever is written here is written anew, so nothing else that a file held is passed on.
const formats: Record<string, { extension: string; encode: (image: Sharp) => Sharp }> = {
  'image/jpeg': { extension: 'jpg', encode: (image) => image.jpeg({ quality: 90 }) },
  'image/png': { extension: 'png', encode: (image) => image.png() },
  'image/gif': { extension: 'gif', encode: (image) => image.gif() },
  'image/webp': { extension: 'webp', encode: (image) => image.webp({ quality: 90 }) },
  'image/avif': { extension: 'avif', encode: (image) => image.avif({ quality: 65, effort: 1 }) }, // 7 s for 48 megapixels; effort 4: 180 s
}

const sentences = {
  media_type_not_supported: 'The file is not a JPEG, PNG, GIF, WebP or AVIF picture.',
  media_too_large: 'The picture is larger than 20 MB.',
  media_dimensions_too_large: 'The picture has more than 50 megapixels, all frames of an animation together.',
  media_unreadable: 'The picture is damaged and cannot be read.',
}

/** A picture that is not taken. The message may be shown to whoever sent it. */
export class ImageError extends Error {
  readonly code: keyof typeof sentences
  constructor(code: keyof typeof sentences, { cause }: { cause?: unknown } = {}) {
    super(sentences[code], { cause })
    this.code = code
  }
}

/** A picture as it was stored. `width` and `height` in pixels, upright, of one frame; `sha256` in hex, of the stored bytes. */
export type AcceptedImage = {
  mime: string
  bytes: number
  width: number
  height: number
  sha256: string
  fileKey: string
  thumbnailKey: string
}

// Nothing but these five formats is ever decoded, and nothing is kept in memory between pictures.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((format) => `VipsForeignLoad${format}`) })
sharp.cache(false)

// Of the four threads that DNS shares; a turned picture of 50 megapixels takes 300 MB meanwhile.
const inTurn = turns(2)

/**
 * Take the picture in the file at `path`: stored upright in its own format, without metadata, in sRGB, beside a WebP
 * thumbnail of at most 480 pixels. Animations stay animated; the thumbnail shows their first frame.
 *
 * Throws ImageError, and leaves the file at `path` to the caller.
 */
export async function acceptImage(files: Files, path: string): Promise<AcceptedImage> {
  if ((await stat(path)).size > ImageBytesAtMost) throw new ImageError('media_too_large')
  const type = await fileTypeFromFile(path)
  const mime = type?.mime ?? ''
  const format = formatOf(mime)
  const { picture, thumbnail } = await inTurn(async () => {
    const image = await opened(path)
    return {
      picture: await decoded(format.encode(image).toBuffer({ resolveWithObject: true })),
      thumbnail: await decoded(fitted(path, ThumbnailPixels).toBuffer()),
    }
  })
  const { width, height, pageHeight } = picture.info
  const fileKey = newKey(format.extension)
  const thumbnailKey = newKey('webp')
  await files.write(thumbnailKey, thumbnail)
  await files.write(fileKey, picture.data)
  const sha256 = createHash('sha256').update(picture.data).digest('hex')
  return { mime, bytes: picture.data.length, width, height: pageHeight ?? height, sha256, fileKey, thumbnailKey }
}

/**
 * Store an account's picture as WebP that fits into 256 by 256 pixels; returns its file key.
 *
 * Throws ImageError.
 */
export async function fitPicture(files: Files, bytes: Uint8Array): Promise<string> {
  if (bytes.length > ImageBytesAtMost) throw new ImageError('media_too_large')
  formatOf((await fileTypeFromBuffer(bytes))?.mime ?? '')
  const picture = await inTurn(async () => {
    await opened(bytes)
    return decoded(fitted(bytes, AccountPicturePixels).toBuffer())
  })
  const key = newKey('webp')
  await files.write(key, picture)
  return key
}

function formatOf(mime: string) {
  const format = formats[mime]
  if (!format) throw new ImageError('media_type_not_supported')
  return format
}

// Reads the head of the file only: what is too large is never decoded.
async function opened(input: string | Uint8Array): Promise<Sharp> {
  const {
    width,
    height,
    pages = 1,
  } = await decoded(sharp(input, { animated: true, limitInputPixels: false }).metadata())
  if (width * height > PixelsAtMost) throw new ImageError('media_dimensions_too_large')
  const image = decoder(input, { animated: true })
  return pages > 1 ? image : image.autoOrient() // animations cannot be turned, and cameras make none
}

function fitted(input: string | Uint8Array, pixels: number): Sharp {
  const size = { width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true } as const
  return decoder(input, { animated: false }).autoOrient().resize(size).webp({ quality: 80 })
}

function decoder(input: string | Uint8Array, { animated }: { animated: boolean }): Sharp {
  const options = { animated, limitInputPixels: PixelsAtMost, failOn: 'error' } as const // warnings: many cameras' files
  return sharp(input, options).timeout({ seconds: SecondsAtMost })
}

function decoded<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => Promise.reject(new ImageError('media_unreadable', { cause })))
}

function newKey(extension: string): string {
  return `${mintName()}.${extension}`
}
