import { createHash } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Files } from '../../db/files/files.ts'
import { limitPerOrganisation } from '../access/concurrency.ts'
import { MediaError, type VideoType } from './format.ts'
import { type Accepted, newKey } from './images.ts'
import { VideoBytesAtMost, VideoHoursAtMost, VideoPixelsASideAtMost } from './limits.ts'
import { isOfTheFile, packageDir, readApart } from './sandbox.ts'

const ProbeMs = 5000
const ProbeHeapMegabytes = 64
const PieceBytes = 256 * 1024

const Probed = z.object({ mime: z.string(), width: z.number(), height: z.number(), seconds: z.number() })
type Probed = z.infer<typeof Probed>

const Parser = packageDir('mediabunny', 2)

const inTurn = limitPerOrganisation({ atOnce: 2, waitingAtMost: 20, of: 'files' })

/**
 * Accept the video in the file at `path`, which begins like one of `type`. It is kept as it is, without a thumbnail. `store`
 * takes the file away from `path`.
 *
 * Throws MediaError, and `rate_limited` when too many of the organisation wait.
 */
export async function acceptVideo(
  files: Files,
  path: string,
  { mime, extension }: VideoType,
  organisationId: string,
): Promise<Accepted> {
  const { size: bytes } = await stat(path)
  if (bytes > VideoBytesAtMost) throw new MediaError('media_too_large', 'The video is larger than 1 GB.')
  const { width, height, seconds } = await inTurn(organisationId, () => probe(path, mime))
  requireSize(width, height)
  if (seconds > VideoHoursAtMost * 3600)
    throw new MediaError('media_too_long', `The video is longer than ${VideoHoursAtMost} hours.`)
  const durationMs = Math.max(1, Math.round(seconds * 1000))
  return {
    facts: { kind: 'video', mime, bytes, width, height, durationMs, sha256: await sha256Of(path) },
    async store() {
      const fileKey = newKey(extension)
      await files.adopt(fileKey, path)
      return { fileKey, thumbnailKey: null }
    },
  }
}

async function probe(path: string, mime: string): Promise<Probed> {
  const flags = [`--max-old-space-size=${ProbeHeapMegabytes}`]
  const bounds = { flags, timeoutMs: ProbeMs, answerBytes: 64 * 1024 }
  const answer = await readApart('probe-process', path, Parser, bounds).catch((cause) =>
    Promise.reject(isOfTheFile(cause) ? unreadable(cause) : cause),
  )
  const probed = Probed.safeParse(JSON.parse(answer.toString()))
  if (!probed.success || probed.data.mime !== mime || probed.data.seconds <= 0) throw unreadable(probed.error)
  return probed.data
}

function unreadable(cause: unknown): MediaError {
  const message =
    "We can't read the video. It is damaged, has no picture or no length, or its format differs from its first bytes."
  return new MediaError('media_unreadable', message, { cause })
}

function requireSize(width: number, height: number): void {
  const isSound = [width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= VideoPixelsASideAtMost)
  if (isSound) return
  const message = `The video has ${width} by ${height} pixels. Each side can have 1 to ${VideoPixelsASideAtMost}.`
  throw new MediaError('media_dimensions_too_large', message)
}

// Uses one buffer again and again: a gigabyte of buffers would be discarded faster than they are collected.
async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  const piece = Buffer.alloc(PieceBytes)
  await using file = await open(path)
  for (;;) {
    const { bytesRead } = await file.read(piece)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(piece.subarray(0, bytesRead))
  }
}
