import { randomBytes } from 'node:crypto'

/** A form with one file in it, which is read as it goes out. `file.bytes` is exactly what `open` gives. */
export type Multipart = {
  fields: Record<string, string>
  file: { field: string; name: string; type: string; bytes: number; open: () => Promise<AsyncIterable<Uint8Array>> }
}

/**
 * `form` as multipart/form-data (RFC 7578): its headers, and its body piece by piece. The length is told, since not every
 * server takes a body in chunks. Names and values are ours, but for the values of fields.
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
