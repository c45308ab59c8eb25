import { rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import busboy from 'busboy'
import type { Files } from '../../db/files/files.ts'
import { bounded, type Reserve, reserved } from '../../jobs/outbound/bounded.ts'
import { Failure } from '../errors.ts'
import { parsed, requirePlain } from '../http/request-body.ts'
import { bytesAtMost, sizeSentence, VideoBytesAtMost } from './limits.ts'

/** The slowest pace of an upload: the longest pause, and the time for all of it. */
export type Pace = { pauseMs: number; wholeMs: number }

/** 1 GB in an hour needs 2.4 Mbit/s. */
export const UploadPace: Pace = { pauseMs: 15_000, wholeMs: 3_600_000 }

const AroundFileBytes = 100_000
const BodyBytesAtMost = VideoBytesAtMost + AroundFileBytes

/**
 * A multipart body with one `file` and perhaps `alt`, the file streamed to a temporary place that goes when disposed.
 *
 * Throws as readJson does: `body_too_large` as soon as a picture has more than 20 MB or a video more than 1 GB, by what
 * its first bytes say it is; `upload_too_slow` as soon as it falls behind `pace`; and what `reserve` throws, which is told
 * how large the file is at least before it is read and while it comes.
 */
export async function receiveFile(
  files: Files,
  req: IncomingMessage,
  pace = UploadPace,
  reserve: Reserve = async () => {},
): Promise<AsyncDisposable & { value: unknown; digested: Uint8Array }> {
  if (!/^multipart\/form-data\s*;/i.test(req.headers['content-type'] ?? ''))
    throw new Failure('unsupported_media_type', {
      detail: 'Send the file as multipart/form-data, in a part named file.',
    })
  requirePlain(req)
  const expected = Number(req.headers['content-length'] ?? 0)
  if (expected > BodyBytesAtMost) throw new Failure('body_too_large', { detail: sizeSentence(VideoBytesAtMost) })
  await reserve(Math.max(1, expected - AroundFileBytes), expected || undefined)
  const path = await files.temporary()
  const dispose = () => rm(path, { force: true })
  try {
    const fields = await receive(req, path, pace, reserve)
    return { value: { ...fields, path }, digested: new Uint8Array(), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

type Fields = Record<string, string>

async function receive(req: IncomingMessage, path: string, pace: Pace, reserve: Reserve): Promise<Fields> {
  const fields: Fields = {}
  const parser = parserFor(req)
  const written: Promise<void>[] = []
  const refuse = (detail: string) => void parser.destroy(new Failure('invalid_request', { detail }))
  parser.on('file', (name, stream) => {
    stream.on('error', () => {}) // the parser's own, heard there
    if (name !== 'file' || written.length > 0) return refuse('Send exactly one file, in a part named file.')
    const writing = writeFile(path, reserved(bounded(stream, bytesAtMost, tooLarge), reserve))
    writing.catch((error) => parser.destroy(error))
    written.push(writing)
  })
  parser.on('field', (name, value: string | undefined, { valueTruncated }) => {
    if (name !== 'alt' || name in fields)
      refuse(`The part ${JSON.stringify(name.slice(0, 50))} is unknown, or sent twice. Send file, and alt if you like.`)
    if (value === undefined) refuse("We don't know the charset of the text. Send UTF-8.")
    else if (value.includes('\ufffd') && !valueTruncated) refuse('Send alt in UTF-8, without the character U+FFFD.') // what can't be read becomes U+FFFD
    fields[name] = value ?? ''
  })
  parser.on('partsLimit', () => refuse('Too many parts.'))
  const forgetPace = keepPace(req, pace, (detail) => parser.destroy(new Failure('upload_too_slow', { detail })))
  try {
    await parsed(req, parser)
    await Promise.all(written) // the end of it may not be on the disk yet
  } finally {
    forgetPace()
    await Promise.allSettled(written) // the file is closed: one that is opened after we removed it would stay
  }
  if (written.length === 0) throw new Failure('invalid_request', { detail: 'Send the file in a part named file.' })
  return fields
}

function tooLarge(most: number): Failure {
  return new Failure('body_too_large', { detail: sizeSentence(most) })
}

function keepPace(req: IncomingMessage, { pauseMs, wholeMs }: Pace, fail: (detail: string) => void): () => void {
  const pause = setTimeout(fail, pauseMs, `No data arrived for ${pauseMs / 1000} seconds.`)
  const whole = setTimeout(fail, wholeMs, `The upload took more than ${wholeMs / 60_000} minutes.`)
  const restartPause = () => void pause.refresh()
  req.on('data', restartPause)
  return () => {
    req.off('data', restartPause)
    clearTimeout(pause)
    clearTimeout(whole)
  }
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
