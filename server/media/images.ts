import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { fileTypeFromBuffer } from 'file-type'
import sharp, { type Sharp } from 'sharp'
import type { Files } from '../../db/files/files.ts'
import type { Keys } from '../../jobs/sweep/media-files.ts'
import { limitPerOrganisation } from '../access/concurrency.ts'
import { mintName } from '../access/secrets.ts'
import { MediaError } from './format.ts'
import { heicSentence, isHeic, jpegOfHeic } from './heic.ts'
import { ImageBytesAtMost, ImagePixelsAtMost } from './limits.ts'

const SecondsAtMost = 60
const ThumbnailPixels = 480
const AccountPicturePixels = 256

// By the first bytes. We encode every picture again, so nothing else in the file is passed on.
const formats: Record<string, { extension: string; encode: (image: Sharp) => Sharp }> = {
  'image/jpeg': { extension: 'jpg', encode: (image) => image.jpeg({ quality: 90 }) },
  'image/png': { extension: 'png', encode: (image) => image.png() },
  'image/gif': { extension: 'gif', encode: (image) => image.gif() },
  'image/webp': { extension: 'webp', encode: (image) => image.webp({ quality: 90 }) },
  'image/avif': { extension: 'avif', encode: (image) => image.avif({ quality: 65, effort: 1 }) }, // 7 s for 48 megapixels; effort 4: 180 s
}

const unreadable = "We can't read the picture. It is damaged."
const tooLarge = 'The picture is larger than 20 MB.'

/**
 * A file that we accept, and its facts: size in pixels, upright, of one frame; `sha256` in hex, of the bytes
 * that are kept. `store` keeps them, and the thumbnail beside them, under new keys.
 */
export type Accepted = {
  facts: {
    kind: 'image' | 'video'
    mime: string
    bytes: number
    width: number
    height: number
    durationMs: number | null
    sha256: string
  }
  store: () => Promise<Keys>
}

// Nothing but these five formats is ever decoded, and nothing is kept in memory between pictures.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((format) => `VipsForeignLoad${format}`) })
sharp.cache(false)

// Of the four threads that DNS shares; a turned picture of 50 megapixels takes 300 MB meanwhile.
const inTurn = limitPerOrganisation({ atOnce: 2, waitingAtMost: 20, of: 'files' })

/**
 * Take the picture of type `mime` in the file at `path`: upright in its own format, without metadata, in sRGB, beside a
 * WebP thumbnail of at most 480 pixels. Animations stay animated; the thumbnail shows their first frame. HEIC becomes JPEG:
 * networks and most browsers don't show it.
 *
 * Throws MediaError, and `rate_limited` when too many of the organisation wait; leaves the file at `path` to the caller.
 */
export async function acceptImage(files: Files, path: string, mime: string, organisationId: string): Promise<Accepted> {
  const kept = isHeic(mime) ? 'image/jpeg' : mime
  const format = formats[kept]
  if (!format) {
    const message = 'The file must be a JPEG, PNG, GIF, WebP, AVIF or HEIC picture, or an MP4, MOV or WebM video.'
    throw new MediaError('media_type_not_supported', message)
  }
  if ((await stat(path)).size > ImageBytesAtMost) throw new MediaError('media_too_large', tooLarge)
  const input = isHeic(mime) ? await jpegOfHeic(path, organisationId) : path
  const { picture, thumbnail } = await inTurn(organisationId, async () => {
    const image = await opened(input)
    return {
      picture: await decoded(format.encode(image).toBuffer({ resolveWithObject: true })),
      thumbnail: await decoded(fitted(input, ThumbnailPixels).toBuffer()),
    }
  })
  const { width, height, pageHeight } = picture.info
  const sha256 = createHash('sha256').update(picture.data).digest('hex')
  const size = { bytes: picture.data.length, width, height: pageHeight ?? height }
  return {
    facts: { kind: 'image', mime: kept, ...size, durationMs: null, sha256 },
    async store() {
      const keys = { fileKey: newKey(format.extension), thumbnailKey: newKey('webp') }
      await files.write(keys.thumbnailKey, thumbnail)
      await files.write(keys.fileKey, picture.data)
      return keys
    },
  }
}

/**
 * Store an account's picture as WebP that fits into 256 by 256 pixels; returns its file key.
 *
 * Throws as acceptImage does.
 */
export async function fitPicture(files: Files, bytes: Uint8Array, organisationId: string): Promise<string> {
  if (bytes.length > ImageBytesAtMost) throw new MediaError('media_too_large', tooLarge)
  const mime = (await fileTypeFromBuffer(bytes))?.mime ?? ''
  if (isHeic(mime)) throw new MediaError('media_type_not_supported', heicSentence)
  if (!formats[mime])
    throw new MediaError('media_type_not_supported', 'The file must be a JPEG, PNG, GIF, WebP or AVIF picture.')
  const picture = await inTurn(organisationId, async () => {
    await opened(bytes)
    return decoded(fitted(bytes, AccountPicturePixels).toBuffer())
  })
  const key = newKey('webp')
  await files.write(key, picture)
  return key
}

// Reads only the head of the file: a picture that is too large is never decoded.
async function opened(input: string | Uint8Array): Promise<Sharp> {
  const {
    width,
    height,
    pages = 1,
  } = await decoded(sharp(input, { animated: true, limitInputPixels: false }).metadata())
  if (width * height > ImagePixelsAtMost) {
    const message = 'The picture has more than 50 megapixels, with all frames of an animation counted.'
    throw new MediaError('media_dimensions_too_large', message)
  }
  const image = decoder(input, { animated: true })
  return pages > 1 ? image : image.autoOrient() // animations cannot be turned, and cameras make none
}

function fitted(input: string | Uint8Array, pixels: number): Sharp {
  const size = { width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true } as const
  return decoder(input, { animated: false }).autoOrient().resize(size).webp({ quality: 80 })
}

function decoder(input: string | Uint8Array, { animated }: { animated: boolean }): Sharp {
  const options = { animated, limitInputPixels: ImagePixelsAtMost, failOn: 'error' } as const // warnings: many cameras' files
  return sharp(input, options).timeout({ seconds: SecondsAtMost })
}

function decoded<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause) => Promise.reject(new MediaError('media_unreadable', unreadable, { cause })))
}

/** A file key that nobody can guess: anybody who knows it can read the file. */
export function newKey(extension: string): string {
  return `${mintName()}.${extension}`
}
