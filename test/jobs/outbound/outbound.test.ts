import { createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { expect, test } from 'vitest'
import type { OutboundFault } from '../../../jobs/outbound/outbound.ts'
import { answering, compressed, drip, failure, listening, outbound, pem, pour, until } from './loopback.ts'

test('json, form, multipart and bytes arrive with their types, and the answer comes back unchanged', async () => {
  const { origin } = await answering(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    response
      .writeHead(201, { 'X-Two': ['a', 'b'] })
      .end(JSON.stringify({ url: request.url, head: request.headers, body }))
  })
  const open = async () => Readable.from([Buffer.from('pict'), Buffer.from('ure')])
  const file = { field: 'file', name: 'a.png', type: 'image/png', bytes: 7, open }
  const multipart = { fields: { description: 'Zeilen\r\nümlaut' }, file }

  const json = await outbound().post(`${origin}/a?b=c#d`, {
    json: { a: 'ü' },
    headers: { Authorization: 'Bearer x' },
  })
  const form = await outbound().post(origin, { form: new URLSearchParams({ a: 'b c' }) })
  const parts = await outbound().post(origin, { multipart })
  const bytes = await outbound().request('PUT', origin, {
    body: Buffer.from('raw'),
    headers: { 'Content-Type': 'image/png' },
  })

  expect(json).toMatchObject({ status: 201, ok: true, headers: { 'x-two': 'a, b' } })
  const got = json.json() as { head: Record<string, string> }
  expect(got).toMatchObject({ url: '/a?b=c', body: '{"a":"ü"}' })
  expect(got.head).toMatchObject({
    authorization: 'Bearer x',
    'content-type': 'application/json',
    connection: 'close',
  })
  expect(got.head).toMatchObject({ 'user-agent': 'Punctual', 'accept-encoding': 'identity' })
  expect(got.head).not.toHaveProperty('cookie')
  expect(form.json()).toMatchObject({
    body: 'a=b+c',
    head: { 'content-type': /^application\/x-www-form-urlencoded/ },
  })
  expect(parts.text()).toContain('filename=\\"a.png\\"')
  expect(bytes.json()).toMatchObject({ body: 'raw', head: { 'content-type': 'image/png', 'content-length': '3' } })
})

test('a file is uploaded as fast as the server reads it, and is never in memory as a whole', async () => {
  const MiB = 1024 * 1024
  const read = { bytes: 0 }
  const gate = Promise.withResolvers<void>()
  const { origin } = await answering(async (request, response) => {
    await gate.promise
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.end(JSON.stringify({ bytes, told: Number(request.headers['content-length']) }))
  })
  const open = async () =>
    Readable.from(
      (function* () {
        for (let i = 0; i < 100; i++) {
          read.bytes += MiB
          yield Buffer.alloc(MiB)
        }
      })(),
    )
  const file = { field: 'file', name: 'a.mp4', type: 'video/mp4', bytes: 100 * MiB, open }
  const sending = outbound().post(origin, { multipart: { fields: {}, file } })
  await until(() => expect(read.bytes).toBeGreaterThan(0))
  await new Promise((done) => setTimeout(done, 500)) // enough time to read ahead
  expect(read.bytes).toBeLessThan(40 * MiB)
  gate.resolve()
  const { bytes, told } = (await sending).json() as { bytes: number; told: number }
  expect([bytes === told, bytes > 100 * MiB, read.bytes]).toEqual([true, true, 100 * MiB])
})

test('a redirect is a normal answer, and its target is not called', async () => {
  const target = await listening(createServer())
  const { origin } = await answering((_request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` }).end(),
  )

  expect(await outbound().get(origin)).toMatchObject({ status: 302, ok: false })
  expect(target.connections).toHaveLength(0)
})

test('reading an answer that is not JSON as JSON throws', async () => {
  const { origin } = await answering((_request, response) => response.end('<html>'))
  const answer = await outbound().get(origin)
  expect(() => answer.json()).toThrow(SyntaxError)
})

test('https works only with a server that the certificate names', async () => {
  const { port } = await answering((_request, response) => response.end('secure'), true)
  const called = outbound({ lookup: async () => ['127.0.0.1'] })

  expect((await called.get(`https://name.test:${port}/`)).text()).toBe('secure')
  expect((await called.get(`https://127.0.0.1:${port}/`)).text()).toBe('secure')
  expect(await failure(called.get(`https://other.example:${port}/`))).toMatchObject({ kind: 'tls', sent: false })
})

test('a refused connection counts as not sent', async () => {
  const server = await listening(createServer())
  await server.stop()

  expect(await failure(outbound().get(server.origin))).toMatchObject({ kind: 'connect', sent: false })
})

test('a request with a forbidden header counts as not sent', async () => {
  const { origin, connections } = await listening(createServer())

  const error = await failure(outbound().get(origin, { headers: { authorization: 'Bearer a\r\nx: y' } }))

  expect(error).toMatchObject({ kind: 'request', sent: false })
  expect(connections).toHaveLength(0)
})

test.each<[string, OutboundFault, (socket: Socket) => unknown]>([
  ['a reset', 'reset', (socket) => socket.resetAndDestroy()],
  ['a close without an answer', 'reset', (socket) => socket.end()],
  ['something other than HTTP', 'reset', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
  ['half an answer', 'reset', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')],
  ['silence', 'timeout', () => {}],
  ['a header that never ends', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ', 'a')],
  ['a body that drips', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n', 'a')],
  ['a body without a length that drips', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a')],
  ['an endless body', 'too_large', (socket) => pour(socket, 'HTTP/1.1 200 OK\r\n\r\n')],
  ['endless headers', 'reset', (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nx: ')],
  ['a compressed body', 'encoding', (socket) => socket.end(compressed())],
])('%s: fails once, with %s, and counts as perhaps sent', async (_what, kind, answer) => {
  const { origin, connections } = await listening(
    createServer((socket) => void socket.on('error', () => {}).once('data', () => answer(socket))),
  )

  const error = await failure(outbound().post(origin, { json: {}, timeoutMs: kind === 'timeout' ? 3000 : 15_000 }))

  expect(error).toMatchObject({ kind, sent: true })
  expect(connections).toHaveLength(1)
  await until(() => expect(connections.every((socket) => socket.destroyed)).toBe(true))
})

test('a TLS connection is dropped at its time limit like any other', async () => {
  const errors: string[] = []
  const server = createTlsServer({ key: pem, cert: pem }, (socket) => {
    socket.on('error', (error) => errors.push(error.message)).resume()
  })
  const { port, connections } = await listening(server)

  const call = outbound().post(`https://127.0.0.1:${port}/`, { body: 'x', timeoutMs: 3000 })

  expect(await failure(call)).toMatchObject({ kind: 'timeout', sent: true })
  await until(() => expect(connections[0]?.destroyed).toBe(true))
  expect(errors).toEqual(['read ECONNRESET'])
})

test('a call that its caller aborts is reset at once, so that no more of it is delivered', async () => {
  const broken: string[] = []
  const { origin, connections } = await listening(
    createServer(
      (socket) => void socket.pause().on('error', (error) => broken.push((error as NodeJS.ErrnoException).code ?? '')),
    ),
  )
  const stop = new AbortController()

  const call = failure(outbound().post(origin, { body: Buffer.alloc(20_000_000), signal: stop.signal }))
  await until(() => expect(connections).toHaveLength(1))
  await until(() => expect(connections[0]?.readableLength ?? 0).toBeGreaterThan(0))
  stop.abort()
  connections[0]?.resume()

  expect(await call).toMatchObject({ kind: 'aborted', sent: true })
  await until(() => expect(broken).toEqual(['ECONNRESET']))
})

test('a DNS look-up that hangs ends with the call', async () => {
  const silent = outbound({ lookup: () => new Promise(() => {}) })

  expect(await failure(silent.get('http://slow.test/', { timeoutMs: 50 }))).toMatchObject({
    kind: 'timeout',
    sent: false,
  })
  expect(await failure(silent.get('http://slow.test/', { signal: AbortSignal.timeout(50) }))).toMatchObject({
    kind: 'aborted',
    sent: false,
  })
})

test('closing ends all running calls and allows no new ones', async () => {
  const { origin, connections } = await listening(createServer())
  const closing = outbound()
  const call = failure(closing.get(origin))
  await until(() => expect(connections).toHaveLength(1))

  await closing.close()

  expect(await call).toMatchObject({ kind: 'aborted' })
  expect(await failure(closing.beginningWithin(1000).get(origin))).toMatchObject({ kind: 'aborted', sent: false })
  expect(connections).toHaveLength(1)
})
