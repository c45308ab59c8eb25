import sharp from 'sharp'
import { z } from 'zod'
import { limitPerOrganisation } from '../access/concurrency.ts'
import { MediaError } from './format.ts'
import { isOfTheFile, packageDir, readApart } from './sandbox.ts'

const DecodeMs = 30_000
const WasmPages = 8192 // 512 MB
const AnswerBytes = 3 * 25_000_000 + 100_000

const exportIt = 'Export it as JPEG, then upload that. On iPhone: Settings › Camera › Formats › Most Compatible.'
const tooMany = `The HEIC photo has more than 25 megapixels. ${exportIt}`

/** The sentence for an HEIC photo that we don't accept. */
export const heicSentence = `This is an HEIC photo, and we can't read it. ${exportIt}`

// A photo of 24 megapixels takes 350 MB and five seconds.
const inTurn = limitPerOrganisation({ atOnce: 1, waitingAtMost: 20, of: 'files' })

/** Whether files of this type are HEIC photos. */
export function isHeic(mime: string): boolean {
  return /^image\/hei[cf]$/.test(mime)
}

/**
 * The HEIC photo in the file at `path` as a JPEG: upright, with its colour profile and without other metadata.
 *
 * Throws MediaError, and `rate_limited` when too many of the organisation wait.
 */
export async function jpegOfHeic(path: string, organisationId: string): Promise<Buffer> {
  return inTurn(organisationId, async () => {
    const answer = await decode(path)
    const end = answer.indexOf('\n')
    const { width, height, profile } = Decoded.parse(JSON.parse(answer.toString('utf8', 0, end)))
    const pixels = answer.subarray(end + 1)
    if (pixels.length === 0) throw new MediaError('media_dimensions_too_large', tooMany)
    const raw = sharp(pixels, { raw: { width, height, channels: 3 } })
    const jpeg = await raw.jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer()
    return withProfile(jpeg, Buffer.from(profile, 'base64'))
  })
}

const Decoded = z.object({ width: z.int().min(1), height: z.int().min(1), profile: z.string() })

async function decode(path: string): Promise<Buffer> {
  const flags = [`--wasm-max-mem-pages=${WasmPages}`]
  const bounds = { flags, timeoutMs: DecodeMs, answerBytes: AnswerBytes }
  return readApart('heic-process', path, packageDir('libheif-js/wasm-bundle.js', 0), bounds).catch((cause) =>
    Promise.reject(isOfTheFile(cause) ? new MediaError('media_type_not_supported', heicSentence, { cause }) : cause),
  )
}

// As the first APP2 segment of a JPEG (ICC.1:2022 §B.4): sharp cannot say in which colours raw pixels are.
function withProfile(jpeg: Buffer, profile: Buffer): Buffer {
  if (profile.length === 0) return jpeg
  const head = Buffer.from('\xff\xe2\0\0ICC_PROFILE\0\x01\x01', 'latin1')
  head.writeUInt16BE(head.length - 2 + profile.length, 2)
  return Buffer.concat([jpeg.subarray(0, 2), head, profile, jpeg.subarray(2)])
}
