import { randomBytes } from 'node:crypto'

/** A form with one file. We read the file while we send it. `open` gives exactly `file.bytes` bytes. */
export type Multipart = {
  fields: Record<string, string>
  file: { field: string; name: string; type: string; bytes: number; open: () => Promise<AsyncIterable<Uint8Array>> }
}

/**
 * `form` as multipart/form-data (RFC 7578): its headers, and its body piece by piece. We send the length, because not
 * every server accepts a body in chunks. All names and values are ours, except the values of fields.
 */
export function multipartOf({ fields, file }: Multipart) {
  const boundary = `punctual-${randomBytes(16).toString('hex')}`
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  const ofFile = `${part(`name="${file.field}"; filename="${file.name}"`)}Content-Type: ${file.type}\r\n\r\n`
  const head = Buffer.from([...texts, ofFile].join(''))
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* body() {
    yield head
    yield* await file.open()
    yield tail
  }
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(head.length + file.bytes + tail.length),
  }
  return { headers, body: body() }
}
