import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { open, realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Files } from '../../db/files/files.ts'
import { limitPerOrganisation } from '../access/concurrency.ts'
import { MediaError, type VideoType } from './format.ts'
import { type Accepted, newKey } from './images.ts'
import { VideoBytesAtMost, VideoHoursAtMost, VideoPixelsASideAtMost } from './limits.ts'

const ProbeMs = 5000
const ProbeHeapMegabytes = 64
const PieceBytes = 256 * 1024

const Probed = z.object({ mime: z.string(), width: z.number(), height: z.number(), seconds: z.number() })
type Probed = z.infer<typeof Probed>

const Program = join(import.meta.dirname, `probe-process${extname(import.meta.filename)}`) // beside this one, from source and from build/ alike
const Parser = join(dirname(createRequire(import.meta.url).resolve('mediabunny')), '../..')

const inTurn = limitPerOrganisation(2, 20)

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

// We trust neither the file nor its parser. The parser runs in a process without our secrets, which may read this one file and
// its own code, write nothing, start nothing, hold little memory, and has five seconds.
async function probe(path: string, mime: string): Promise<Probed> {
  const file = await realpath(path)
  const readable = [file, Program, join(dirname(Program), '../../package.json'), `${await realpath(Parser)}/*`]
  const bounds = ['--permission', ...readable.map((one) => `--allow-fs-read=${one}`)]
  const way = {
    env: { NODE_ENV: 'production' },
    timeout: ProbeMs,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024,
  } as const
  const args = [`--max-old-space-size=${ProbeHeapMegabytes}`, ...bounds, Program, file]
  const answer = await promisify(execFile)(process.execPath, args, way).catch((cause) =>
    Promise.reject(isOfTheFile(cause) ? unreadable(cause) : cause),
  )
  const probed = Probed.safeParse(JSON.parse(answer.stdout))
  if (!probed.success || probed.data.mime !== mime || probed.data.seconds <= 0) throw unreadable(probed.error)
  return probed.data
}

// The process refused the file, ran out of time or out of memory. Any other error, such as too many open files, is ours.
function isOfTheFile({ code, killed, signal }: { code?: unknown; killed?: boolean; signal?: string | null }): boolean {
  return code === 1 || killed === true || signal === 'SIGABRT'
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
