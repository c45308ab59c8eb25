import { rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import busboy from 'busboy'
import { bounded } from '../../jobs/outbound/bounded.ts'
import { Failure } from '../errors.ts'
import { type BodyPace, discardRest, parsed, readBytes } from '../http/request-body.ts'

/** The limits of a form. `temporary` makes a path for its file. Null: files are dropped. */
export type FormBounds = { bytes: number; pace: BodyPace; temporary: (() => Promise<string>) | null }

/** A form, read and bounded. A file is at `path`, and its name in the field `name`; disposing removes it. */
type Form = AsyncDisposable & { fields: FormData; file: { name: string; path: string } | null }

/** The same for an action: `fields` throws what was wrong with the form. */
export type PageForm = Omit<Form, 'fields'> & { fields: () => FormData }

const FieldsAtMost = 500
const NameLength = 100

/** Like readForm, but a refused form throws when the action reads it, so that the action shows it on its page. */
export async function formForPage(req: IncomingMessage, bounds: FormBounds): Promise<PageForm> {
  try {
    const form = await readForm(req, bounds)
    return { ...form, fields: () => form.fields }
  } catch (failure) {
    if (!(failure instanceof Failure) && !req.errored) throw failure
    if (!req.complete) discardRest(req)
    const fields = () => {
      throw failure
    }
    return { fields, file: null, [Symbol.asyncDispose]: async () => {} }
  }
}

/**
 * Read the form of a page, urlencoded or multipart, before any route sees it.
 *
 * Forms cost more than their size: Conform obeys fields of its own (`__intent__`), makes lists as long as an index in a
 * name says, and joins repeated names in quadratic time. So fields are few, and names are like those of our pages.
 * Throws `invalid_request`, `body_too_large` or `body_too_slow`.
 */
export async function readForm(req: IncomingMessage, bounds: FormBounds): Promise<Form> {
  const type = req.headers['content-type'] ?? ''
  if (Number(req.headers['content-length'] ?? 0) > bounds.bytes) throw tooLarge(bounds.bytes)
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) return readUrlEncoded(req, bounds)
  if (/^multipart\/form-data\s*;/i.test(type)) return readMultipart(req, bounds)
  throw broken()
}

async function readUrlEncoded(req: IncomingMessage, { bytes, pace }: FormBounds): Promise<Form> {
  let separators = 0
  const bytesRead = await readBytes(req, bytes, pace, (chunk) => {
    for (let at = chunk.indexOf('&'); at >= 0 && separators < FieldsAtMost; at = chunk.indexOf('&', at + 1))
      separators++
    if (separators >= FieldsAtMost) throw tooMany()
  })
  const fields = new FormData()
  for (const [name, value] of pairsIn(bytesRead)) {
    requireOurName(name)
    fields.append(name, typed(value))
  }
  return { fields, file: null, [Symbol.asyncDispose]: async () => {} }
}

// Forms send each line break as CRLF (HTML §4.10.21.8), whatever the person typed or the field held.
function typed(value: string): string {
  return value.replaceAll('\r\n', '\n')
}

const [Ampersand, Equals, Plus, Percent, Space] = [0x26, 0x3d, 0x2b, 0x25, 0x20] as const

// As URLSearchParams does (URL §5.1), but in place: that takes 0.2 µs for each `+`, a quarter of a second for a long text.
function* pairsIn(bytes: Buffer): Generator<[string, string]> {
  let [start, value, written] = [0, -1, 0] // of this pair: where it begins, where its value does, up to where it is decoded
  for (let at = 0; at <= bytes.length; at++) {
    const byte = bytes[at] ?? Ampersand
    if (byte === Ampersand) {
      const name = bytes.toString('utf8', start, value < 0 ? written : value)
      if (written > start || value >= 0) yield [name, value < 0 ? '' : bytes.toString('utf8', value, written)]
      start = written = at + 1
      value = -1
    } else if (byte === Equals && value < 0) value = written
    else {
      const code = byte === Percent ? hexAt(bytes, at + 1) : -1
      bytes[written++] = code >= 0 ? code : byte === Plus ? Space : byte
      if (code >= 0) at += 2
    }
  }
}

function hexAt(bytes: Buffer, at: number): number {
  const [high, low] = [digitOf(bytes[at]), digitOf(bytes[at + 1])]
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function digitOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20 // in lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

async function readMultipart(req: IncomingMessage, { bytes, pace, temporary }: FormBounds): Promise<Form> {
  const path = temporary && (await temporary())
  const dispose = async () => void (path && (await rm(path, { force: true })))
  const fields = new FormData()
  let count = 0
  const parser = parserFor(req, bytes)
  const written: { name: string; writing: Promise<void> }[] = []
  const refuse = (error: unknown) => void parser.destroy(error as Error)
  const add = (name: string, value: string) => {
    try {
      if (++count > FieldsAtMost) throw tooMany()
      requireOurName(name)
    } catch (error) {
      return refuse(error)
    }
    fields.append(name, typed(value))
  }
  // No text if the part names an unknown charset.
  parser.on('field', (name: string | undefined, value?: string) =>
    value === undefined ? refuse(broken()) : add(name ?? '', value),
  )
  parser.on('file', (name: string | undefined, stream, { filename }: { filename?: string }) => {
    stream.on('error', () => {}) // the parser's own, heard there
    if (!path || !filename || written.length > 0) return void stream.resume()
    add(name ?? '', filename)
    const writing = writeFile(path, bounded(stream, bytes, tooLarge))
    writing.catch(refuse)
    written.push({ name: name ?? '', writing })
  })
  parser.on('partsLimit', () => refuse(tooMany()))
  try {
    await parsed(req, parser, { most: bytes, pace, broken })
    for (const { writing } of written) await writing
    if (count === 0) throw broken()
    return { fields, file: path && written[0] ? { name: written[0].name, path } : null, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await Promise.allSettled(written.map(({ writing }) => writing)) // or the file would come to be after it was removed
    await dispose()
    throw error
  }
}

function parserFor(req: IncomingMessage, bytes: number): busboy.Busboy {
  const limits = { parts: FieldsAtMost + 1, fieldNameSize: NameLength + 1, fieldSize: bytes }
  try {
    return busboy({ headers: req.headers, defParamCharset: 'utf8', limits })
  } catch {
    throw broken()
  }
}

// `content`, or `alt.` and an id: one dot at most, no index, no name that JavaScript's own objects have.
function requireOurName(name: string): void {
  const isShaped = name.length <= NameLength && /^[a-z][\w-]*(\.[a-z\d][\w-]*)?$/i.test(name)
  if (isShaped && !name.split('.').some((step) => step in Object.prototype)) return
  throw new Failure('invalid_request', {
    detail: "We don't know one of this form's fields. Nothing was saved. Reload the page and try again.",
  })
}

function tooMany(): Failure {
  return new Failure('invalid_request', {
    detail: `A form can have at most ${FieldsAtMost} fields. Nothing was saved. Go back and remove some.`,
  })
}

function tooLarge(bytes: number): Failure {
  const most = bytes < 1024 * 1024 ? `${Math.floor(bytes / 1024)} KB` : `${+(bytes / 1024 / 1024).toFixed(2)} MB`
  return new Failure('body_too_large', { detail: `This form can have at most ${most}.` })
}

function broken(): Failure {
  return new Failure('invalid_request', { detail: "We couldn't read this form. Reload the page and try again." })
}
