import type { IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { cleared } from '../../db/files/gc-stream.ts'
import { Failure } from '../errors.ts'

/** The slowest pace of any other body: `bytesPerSecond` after `graceMs`, and `wholeMs` for all of it. */
export type BodyPace = { graceMs: number; bytesPerSecond: number; wholeMs: number }

/** For forms of pages and the OAuth endpoints. */
export const FormPace: BodyPace = { graceMs: 5000, bytesPerSecond: 20 * 1024, wholeMs: 30_000 }

/** For a form with a picture, from a person who is signed in. */
export const PicturePace: BodyPace = { graceMs: 15_000, bytesPerSecond: 20 * 1024, wholeMs: 1_200_000 }

/**
 * The JSON body of a request, of at most `most` bytes.
 *
 * Throws `body_too_large`, `unsupported_media_type`, or `invalid_request` for what is not UTF-8, not JSON, has
 * more than 10,000 values, or holds characters that PostgreSQL cannot keep (NUL, halves of surrogate pairs).
 */
export async function readJson(req: IncomingMessage, most: number): Promise<{ value: unknown; bytes: Uint8Array }> {
  if (Number(req.headers['content-length'] ?? 0) > most) throw new Failure('body_too_large')
  if (!/^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? ''))
    throw new Failure('unsupported_media_type', { detail: 'Send the body as application/json.' })
  requirePlain(req)
  const bytes = await readAll(req, most)
  const value = parse(bytes)
  const bad = badTextIn(value)
  if (bad.length > 0)
    throw new Failure('invalid_request', {
      errors: bad.map((path) => ({ path, code: 'invalid', message: 'Contains characters that are not valid text.' })),
    })
  return { value, bytes }
}

/**
 * The bytes of a body, at most `most`. `see` gets each piece as it arrives; an error that it throws ends the reading.
 *
 * Throws `body_too_large`, `body_too_slow` when it falls behind `pace`, or `unsupported_media_type` when it is compressed.
 * The connection stays open for the response.
 */
export async function readBytes(
  req: IncomingMessage,
  most: number,
  pace: BodyPace,
  see: (piece: Buffer) => void = () => {},
): Promise<Buffer> {
  requirePlain(req)
  const pieces: Buffer[] = []
  const sink = new Writable({
    write(piece: Buffer, _encoding, done) {
      try {
        see(piece)
        pieces.push(piece)
        done()
      } catch (error) {
        done(error as Error)
      }
    },
  })
  await parsed(req, sink, { most, pace })
  return Buffer.concat(pieces)
}

const LingerMs = 2000

/** Read the rest of a refused body for a moment and drop it. Without this, the caller would see a reset and no response. */
export function discardRest(req: IncomingMessage): void {
  const timer = setTimeout(() => req.destroy(), LingerMs).unref()
  discard(req)
    .catch(() => {}) // the caller disconnected
    .finally(() => clearTimeout(timer))
}

async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of cleared(body));
}

/** Throws `unsupported_media_type` for a body that is compressed. */
export function requirePlain(req: IncomingMessage): void {
  if ((req.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Failure('unsupported_media_type', { detail: 'Send the body uncompressed, without a Content-Encoding.' })
}

async function readAll(req: IncomingMessage, most: number): Promise<Uint8Array> {
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
    throw new Failure('invalid_request', { detail: 'The body must be JSON in UTF-8.', cause })
  }
}

const PathLength = 200
const ValuesAtMost = 10_000 // a post for 50 channels, each with a text and 20 files of its own, has 1,300

const tooManyValues = `The body can have at most ${ValuesAtMost.toLocaleString('en')} values.`

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
      if (left.length > ValuesAtMost) throw new Failure('invalid_request', { detail: tooManyValues })
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

type Reading = { most?: number; pace?: BodyPace; broken?: (cause: Error) => Failure }

/**
 * Send a body through `parser` until it is closed. Throws a Failure, an error of the disk, or what `broken`
 * makes of the parser's. Not pipeline(): that destroys the request after a failure, and with it the connection on which
 * the answer goes.
 */
export function parsed(req: IncomingMessage, parser: Writable, reading: Reading = {}): Promise<void> {
  const { most = Number.POSITIVE_INFINITY, pace, broken = brokenParts } = reading
  const refuse = (failure: Failure) => void parser.destroy(failure)
  const forgetRate = pace ? keepRate(req, pace, refuse) : () => {}
  let bytes = 0
  const count = (piece: Buffer) => {
    bytes += piece.length
    if (bytes > most)
      refuse(new Failure('body_too_large', { detail: `The body can have at most ${Math.floor(most / 1024)} KB.` }))
  }
  return new Promise<void>((done, fail) => {
    const end = (error: Error) => {
      const isOurs = error instanceof Failure || 'syscall' in error || error === req.errored // the disk's, or they left
      fail(isOurs ? error : broken(error))
    }
    parser.on('error', end).on('close', done)
    req.on('error', (error) => parser.destroy(error)).on('data', count)
    req.pipe(parser)
  }).finally(() => {
    forgetRate()
    req.off('data', count).unpipe(parser)
  })
}

function brokenParts(cause: Error): Failure {
  return new Failure('invalid_request', { detail: 'The multipart body is broken.', cause })
}

function keepRate(req: IncomingMessage, pace: BodyPace, refuse: (failure: Failure) => void): () => void {
  const { graceMs, bytesPerSecond, wholeMs } = pace
  const began = performance.now()
  let bytes = 0
  const count = (piece: Buffer) => {
    bytes += piece.length
  }
  const check = setInterval(() => {
    const ms = performance.now() - began
    if (ms > wholeMs || bytes < ((ms - graceMs) / 1000) * bytesPerSecond)
      refuse(new Failure('body_too_slow', { detail: slowSentence(pace) }))
  }, graceMs / 5)
  req.on('data', count)
  return () => {
    clearInterval(check)
    req.off('data', count)
  }
}

function slowSentence({ bytesPerSecond, wholeMs }: BodyPace): string {
  const whole = wholeMs < 120_000 ? `${wholeMs / 1000} seconds` : `${wholeMs / 60_000} minutes`
  return `The request arrived too slowly: send at least ${bytesPerSecond / 1024} KB a second, and all of it within ${whole}.`
}
