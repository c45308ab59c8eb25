import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import busboy from 'busboy'
import type { Files } from '../db/files.ts'
import { cleared } from '../db/pieces.ts'
import { bounded } from '../jobs/bounded.ts'
import { Failure } from './errors.ts'
import { bytesAtMost, sizeSentence, VideoBytesAtMost } from './media-format.ts'

/** How slowly a file may come: the longest pause, and the whole of it. */
export type Pace = { pauseMs: number; wholeMs: number }

/** 1 GB within the hour takes 2.4 Mbit/s. */
export const UploadPace: Pace = { pauseMs: 15_000, wholeMs: 3_600_000 }

/**
 * The JSON body of a request, of at most `most` bytes.
 *
 * Throws `body_too_large`, `unsupported_media_type`, or `invalid_request` for what is not UTF-8, not JSON or holds
 * characters that PostgreSQL cannot keep (NUL, halves of surrogate pairs).
 */
export async function readJson(req: IncomingMessage, most: number): Promise<{ value: unknown; bytes: Uint8Array }> {
  if (Number(req.headers['content-length'] ?? 0) > most) throw new Failure('body_too_large')
  if (!/^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? ''))
    throw new Failure('unsupported_media_type', { detail: 'Send the body as application/json.' })
  demandPlain(req)
  const bytes = await readBytes(req, most)
  const value = parse(bytes)
  const bad = badTextIn(value)
  if (bad.length > 0)
    throw new Failure('invalid_request', {
      errors: bad.map((path) => ({ path, code: 'invalid', message: 'Contains characters that are not text.' })),
    })
  return { value, bytes }
}

/**
 * A multipart body with one `file` and perhaps `alt`, the file streamed to a temporary place that goes when disposed.
 *
 * Throws as readJson does: `body_too_large` as soon as a picture has more than 20 MB or a video more than 1 GB, by what
 * its first bytes say it is; `upload_too_slow` as soon as it falls behind `pace`.
 */
export async function receiveFile(
  files: Files,
  req: IncomingMessage,
  pace = UploadPace,
): Promise<AsyncDisposable & { value: unknown; digested: Uint8Array }> {
  if (!/^multipart\/form-data\s*;/i.test(req.headers['content-type'] ?? ''))
    throw new Failure('unsupported_media_type', {
      detail: 'Send the file as multipart/form-data, in a part named file.',
    })
  demandPlain(req)
  if (Number(req.headers['content-length'] ?? 0) > BodyBytesAtMost)
    throw new Failure('body_too_large', { detail: sizeSentence(VideoBytesAtMost) })
  const path = await files.temporary()
  const dispose = () => rm(path, { force: true })
  try {
    const fields = await receive(req, path, pace)
    return { value: { ...fields, path }, digested: new Uint8Array(), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/**
 * Break a body off past `most` bytes, whoever reads it: the reader gets `body_too_large`. The connection stays for the
 * answer, and what still comes is thrown away for a moment. Throws the same at once when the length was told.
 */
export function boundBody(req: IncomingMessage, most: number): void {
  const tooLarge = new Failure('body_too_large', { detail: `At most ${most} bytes.` })
  if (Number(req.headers['content-length'] ?? 0) > most) throw tooLarge
  let size = 0
  const count = (chunk: Buffer) => {
    size += chunk.length
    if (size <= most) return
    req.off('data', count).emit('error', tooLarge)
    setTimeout(() => req.destroy(), 2000).unref()
  }
  req.pause() // or the first listener would set it flowing, with nobody there yet to keep what comes
  req.on('data', count).on('error', () => {})
}

const LingerMs = 2000

/** Read what still comes of a refused body for a moment, and keep nothing: closed at once, the caller would see a reset and no answer. */
export function discardRest(req: IncomingMessage): void {
  const impatience = setTimeout(() => req.destroy(), LingerMs).unref()
  discard(req)
    .catch(() => {}) // they went away
    .finally(() => clearTimeout(impatience))
}

async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of cleared(body));
}

function demandPlain(req: IncomingMessage): void {
  if ((req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Failure('unsupported_media_type', { detail: 'Send the body as it is, without a Content-Encoding.' })
}

async function readBytes(req: IncomingMessage, most: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) throw new Failure('body_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Failure('invalid_request', { detail: 'The body is not JSON in UTF-8.', cause })
  }
}

const PathLength = 200

/** The paths of the strings in `value`, and of what holds names, that are not well-formed text. */
function badTextIn(value: unknown): string[] {
  const bad = new Set<string>()
  const isBad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const left = [{ value, path: '' }] // a list and no recursion: a body may nest deeper than the stack
  for (const { value, path } of left) {
    if (typeof value === 'string' && isBad(value)) bad.add(path)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, member] of Object.entries(value)) {
      if (isBad(name)) bad.add(path)
      else left.push({ value: member, path: under(path, Array.isArray(value) ? `[${name}]` : name) })
    }
  }
  return [...bad]
}

// Cut short: the paths of a small body that nests deep would be gigabytes.
function under(path: string, step: string): string {
  if (path.endsWith('…')) return path
  const whole = path && !step.startsWith('[') ? `${path}.${step}` : `${path}${step}`
  return whole.length > PathLength ? `${whole.slice(0, PathLength)}…` : whole
}

type Fields = Record<string, string>

const BodyBytesAtMost = VideoBytesAtMost + 100_000 // what stands around the file

async function receive(req: IncomingMessage, path: string, pace: Pace): Promise<Fields> {
  const fields: Fields = {}
  const parser = parserFor(req)
  const written: Promise<void>[] = []
  const refuse = (detail: string) => void parser.destroy(new Failure('invalid_request', { detail }))
  parser.on('file', (name, stream) => {
    stream.on('error', () => {}) // the parser's own, heard there
    if (name !== 'file' || written.length > 0) return refuse('Send exactly one file, in a part named file.')
    const writing = pipeline(stream, (source) => bounded(source, bytesAtMost, tooLarge), createWriteStream(path))
    writing.catch((error) => parser.destroy(error))
    written.push(writing)
  })
  parser.on('field', (name, value) => {
    if (name !== 'alt' || name in fields)
      refuse(`There is no part ${JSON.stringify(name.slice(0, 50))}, or it is given twice.`)
    fields[name] = value
  })
  parser.on('partsLimit', () => refuse('Too many parts.'))
  const forgetPace = keepPace(req, pace, (detail) => parser.destroy(new Failure('upload_too_slow', { detail })))
  try {
    await parsed(req, parser)
  } finally {
    forgetPace()
    await Promise.allSettled(written) // or the file would come to be after it was removed
  }
  if (written.length === 0) throw new Failure('invalid_request', { detail: 'Send the file in a part named file.' })
  return fields
}

function tooLarge(most: number): Failure {
  return new Failure('body_too_large', { detail: sizeSentence(most) })
}

function keepPace(req: IncomingMessage, { pauseMs, wholeMs }: Pace, fail: (detail: string) => void): () => void {
  const pause = setTimeout(fail, pauseMs, `Nothing came for ${pauseMs / 1000} seconds.`)
  const whole = setTimeout(fail, wholeMs, `It took more than ${wholeMs / 60_000} minutes.`)
  const hear = () => void pause.refresh()
  req.on('data', hear)
  return () => {
    req.off('data', hear)
    clearTimeout(pause)
    clearTimeout(whole)
  }
}

// Not pipeline(): that destroys the request after a failure, and with it the connection on which the answer goes.
function parsed(req: IncomingMessage, parser: Writable): Promise<void> {
  return new Promise((done, fail) => {
    const end = (error: Error) => {
      req.unpipe(parser)
      const isOurs = error instanceof Failure || 'syscall' in error // the disk's
      fail(isOurs ? error : new Failure('invalid_request', { detail: 'The multipart body is broken.', cause: error }))
    }
    parser.on('error', end).on('close', done)
    req.on('error', (error) => parser.destroy(error)).pipe(parser)
  })
}

function parserFor(req: IncomingMessage) {
  try {
    return busboy({
      headers: req.headers,
      limits: { files: 2, parts: 5, fieldSize: 16_384 },
    })
  } catch (cause) {
    throw new Failure('invalid_request', { detail: 'The multipart body has no boundary.', cause })
  }
}
