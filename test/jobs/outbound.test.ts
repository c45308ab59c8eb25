import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createOutbound, OutboundError, type OutboundFault, type OutboundOptions } from '../../jobs/outbound.ts'

const pem = readFileSync(new URL('./tls.pem', import.meta.url), 'utf8') // key and certificate of name.test and 127.0.0.1
const Loopback = ['127.0.0.0/8']
const ends: (() => unknown)[] = []
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbound-'))
})
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => rm(folder, { recursive: true }))

describe('addresses', () => {
  // Every spelling of this machine, of private networks and of clouds' metadata.
  const spellings = [
    ...[
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '127.1',
      '127.0.0.1.',
      '１２７.０.０.１',
      '127。0。0。1',
    ],
    ...['0', '0.0.0.0', '[::1]', '[::]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:0:7f00:1]'],
    ...['[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:4136:e378:8000:63bf:80ff:fffe]'],
    ...[
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '100.100.100.200',
      '198.18.0.1',
      '224.0.0.1',
      '240.0.0.1',
    ],
    ...[
      '255.255.255.255',
      '169.254.169.254',
      '0xa9fea9fe',
      '[::ffff:a9fe:a9fe]',
      '[64:ff9b::a9fe:a9fe]',
      '192.0.0.192',
    ],
    ...[
      '168.63.129.16',
      '[fd00:ec2::254]',
      '[fe80::1]',
      '[fec0::1]',
      '[fc00::1]',
      '[ff02::1]',
      '[2001:db8::1]',
      '[3fff::1]',
    ],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ｌocalhost'],
  ]
  test.each(spellings)('%s is refused with the one message, and nothing goes there', async (host) => {
    const { port, connections } = await listening(createServer())

    const error = await failure(outbound({ allow: [] }).get(`http://${host}:${port}/`))

    expect(error).toMatchObject({ kind: 'address', sent: false, message: 'No public server has this address.' })
    expect(connections).toHaveLength(0)
  })

  test.each([
    ['8.8.8.8', true],
    ['2606:4700::1', true],
    ['64:ff9b::808:808', true],
    ['::ffff:8.8.8.8', true],
    ['10.1.2.3', true],
    ['10.2.2.3', false],
    ['fd12::1', true],
    ['fe80::1%eth0', false],
    ['nonsense', false],
  ])('the rule says of %s: %s', async (address, accepted) => {
    const { addressRule } = await import('../../jobs/address.ts')
    expect(addressRule(['10.1.0.0/16', 'fd12::/16'])(address)).toBe(accepted)
  })

  test.each([
    'ftp://127.0.0.1',
    'file:///etc/passwd',
    'http://me:secret@127.0.0.1',
    'http://me@127.0.0.1',
    '//x',
    'nothing',
  ])('%s is no address to call', async (url) => {
    expect(await failure(outbound().get(url))).toMatchObject({ kind: 'url', sent: false })
  })

  test('a name is refused when any of its addresses is private', async () => {
    const { port, connections } = await listening(createServer())

    const mixed = outbound({ allow: [], lookup: async () => ['8.8.8.8', '127.0.0.1'] })

    expect(await failure(mixed.get(`http://mixed.test:${port}/`))).toMatchObject({ kind: 'address' })
    expect(connections).toHaveLength(0)
  })

  test('a name that changes its address between look-up and connection is called where it was checked', async () => {
    const good = await answering((_request, response) => response.end('good'))
    const evil = await listening(createServer(), '127.0.0.2', good.port)
    const answers = [['127.0.0.1'], ['127.0.0.2']]

    const answer = await outbound({
      allow: ['127.0.0.1/32'],
      lookup: async () => answers.shift() ?? ['127.0.0.2'],
    }).get(`http://rebinding.test:${good.port}/`)

    expect(answer.text()).toBe('good')
    expect(evil.connections).toHaveLength(0)
  })

  test('the next address of a name is tried when the first does not answer', async () => {
    const { port } = await answering((_request, response) => response.end('second'))
    const twoAddresses = outbound({ lookup: async () => ['127.0.0.2', '127.0.0.1'] })

    expect((await twoAddresses.get(`http://two.test:${port}/`)).text()).toBe('second')
  })

  test('a name without an address, or that DNS does not know, is not told apart from a private one', async () => {
    const none = await failure(outbound({ lookup: async () => [] }).get('http://none.test/'))
    const unknown = await failure(
      outbound({ lookup: () => Promise.reject(new Error('ENOTFOUND')) }).get('http://x.test/'),
    )

    expect(none).toMatchObject({ kind: 'address', sent: false, message: unknown.message })
    expect(unknown).toMatchObject({ kind: 'dns', sent: false })
  })

  test('localhost is this machine where the operator allows it, whatever DNS says', async () => {
    const { port } = await answering((_request, response) => response.end('here'))
    const allowed = outbound({ lookup: async () => ['8.8.8.8'] })

    expect((await allowed.get(`http://pds.localhost:${port}/`)).text()).toBe('here')
  })
})

describe('requests', () => {
  test('json, form, multipart and bytes arrive as what they are, with the answer as it was given', async () => {
    const { origin } = await answering(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString()
      response
        .writeHead(201, { 'X-Two': ['a', 'b'] })
        .end(JSON.stringify({ url: request.url, head: request.headers, body }))
    })
    const multipart = new FormData()
    multipart.set('file', new File(['picture'], 'a.png', { type: 'image/png' }))

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

  test('a redirect is an answer like another, and what it points at is not called', async () => {
    const target = await listening(createServer())
    const { origin } = await answering((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` }).end(),
    )

    expect(await outbound().get(origin)).toMatchObject({ status: 302, ok: false })
    expect(target.connections).toHaveLength(0)
  })

  test('an answer that is no JSON says so when it is read as such', async () => {
    const { origin } = await answering((_request, response) => response.end('<html>'))
    const answer = await outbound().get(origin)
    expect(() => answer.json()).toThrow(SyntaxError)
  })

  test('https is spoken with whom a certificate names, and with nobody else', async () => {
    setDefaultCACertificates([...getCACertificates(), pem])
    const { port } = await answering((_request, response) => response.end('secure'), true)
    const called = outbound({ lookup: async () => ['127.0.0.1'] })

    expect((await called.get(`https://name.test:${port}/`)).text()).toBe('secure')
    expect((await called.get(`https://127.0.0.1:${port}/`)).text()).toBe('secure')
    expect(await failure(called.get(`https://other.example:${port}/`))).toMatchObject({ kind: 'tls', sent: false })
  })

  test('a refused connection was not sent', async () => {
    const server = await listening(createServer())
    await server.stop()

    expect(await failure(outbound().get(server.origin))).toMatchObject({ kind: 'connect', sent: false })
  })

  test('a header that HTTP forbids was not sent', async () => {
    const { origin, connections } = await listening(createServer())

    const error = await failure(outbound().get(origin, { headers: { authorization: 'Bearer a\r\nx: y' } }))

    expect(error).toMatchObject({ kind: 'request', sent: false })
    expect(connections).toHaveLength(0)
  })

  test.each<[string, OutboundFault, (socket: Socket) => unknown]>([
    ['a reset', 'reset', (socket) => socket.resetAndDestroy()],
    ['a close without an answer', 'reset', (socket) => socket.end()],
    ['something else than HTTP', 'reset', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
    ['half of an answer', 'reset', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')],
    ['silence', 'timeout', () => {}],
    ['a header that never ends', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ', 'a')],
    ['a body that drips', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n', 'a')],
    ['a body without a length that drips', 'timeout', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a')],
    ['an endless body', 'too_large', (socket) => pour(socket, 'HTTP/1.1 200 OK\r\n\r\n')],
    ['endless headers', 'reset', (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nx: ')],
    ['a compressed body', 'encoding', (socket) => socket.end(compressed())],
  ])('%s: once, as %s, and perhaps sent', async (_what, kind, answer) => {
    const { origin, connections } = await listening(
      createServer((socket) => void socket.on('error', () => {}).once('data', () => answer(socket))),
    )

    const error = await failure(outbound().post(origin, { json: {}, timeoutMs: kind === 'timeout' ? 500 : 15_000 }))

    expect(error).toMatchObject({ kind, sent: true })
    expect(connections).toHaveLength(1)
    await until(() => expect(connections.every((socket) => socket.destroyed)).toBe(true))
  })

  test('a secure connection is dropped like any other when its time is over', async () => {
    setDefaultCACertificates([...getCACertificates(), pem])
    const errors: string[] = []
    const server = createTlsServer({ key: pem, cert: pem }, (socket) => {
      socket.on('error', (error) => errors.push(error.message)).resume()
    })
    const { port, connections } = await listening(server)

    const call = outbound().post(`https://127.0.0.1:${port}/`, { body: 'x', timeoutMs: 700 })

    expect(await failure(call)).toMatchObject({ kind: 'timeout', sent: true })
    await until(() => expect(connections[0]?.destroyed).toBe(true))
    expect(errors).toEqual(['read ECONNRESET'])
  })

  test('a call that its caller ends is reset at once, so that nothing more of it is delivered', async () => {
    const broken: string[] = []
    const { origin, connections } = await listening(
      createServer(
        (socket) =>
          void socket.pause().on('error', (error) => broken.push((error as NodeJS.ErrnoException).code ?? '')),
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

  test('a name server that does not answer ends with the call', async () => {
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

  test('closing ends what is under way and lets nothing more out', async () => {
    const { origin, connections } = await listening(createServer())
    const closing = outbound()
    const call = failure(closing.get(origin))
    await until(() => expect(connections).toHaveLength(1))

    await closing.close()

    expect(await call).toMatchObject({ kind: 'aborted' })
    expect(await failure(closing.beginningWithin(1000).get(origin))).toMatchObject({ kind: 'aborted', sent: false })
    expect(connections).toHaveLength(1)
  })
})

describe('a deadline for the first byte', () => {
  test('in time, the request is sent', async () => {
    const { origin } = await answering((_request, response) => response.end('in time'))
    expect((await outbound().beginningWithin(3000).get(origin)).text()).toBe('in time')
  })

  test('a server that does not end its TLS handshake gets no byte of the request and a reset', async () => {
    const errors: string[] = []
    const received: Buffer[] = []
    const { port, connections } = await listening(
      createServer((socket) => {
        socket.on('data', (bytes) => received.push(bytes)).on('error', (error) => errors.push(error.message))
      }),
    )

    const error = await failure(outbound().beginningWithin(500).post(`https://127.0.0.1:${port}/`, { body: 'secret' }))

    expect(error).toMatchObject({ kind: 'deadline', sent: false })
    await until(() => expect(connections[0]?.destroyed).toBe(true))
    expect(errors).toEqual(['read ECONNRESET'])
    expect(Buffer.concat(received)[0]).toBe(22) // the client's hello, a TLS handshake record
    expect(received).toHaveLength(1)
  })

  test.each([
    ['the process stood still', () => busy(300)],
    ['the wall clock went on', () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })],
    ['the monotonic clock went on', () => vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)],
  ])('%s while connecting: nothing of the request arrives', async (_what, stall) => {
    setDefaultCACertificates([...getCACertificates(), pem])
    const received: Buffer[] = []
    const stallAtHello = () => {
      stall()
      return 'http/1.1'
    }
    const server = createTlsServer({ key: pem, cert: pem, ALPNCallback: stallAtHello }, (socket) => {
      socket.on('data', (bytes) => received.push(bytes)).on('error', () => {})
    })
    const { port, connections } = await listening(server)

    const error = await failure(outbound().beginningWithin(250).post(`https://127.0.0.1:${port}/`, { body: 'x' }))

    vi.restoreAllMocks()
    expect(error).toMatchObject({ kind: 'deadline', sent: false })
    await until(() => expect(connections[0]?.destroyed).toBe(true))
    expect(received).toHaveLength(0)
  })

  test('the deadline is that of the moment it was set, not of the call', async () => {
    const { origin, connections } = await listening(createServer())
    const late = outbound().beginningWithin(1)
    busy(5)

    expect(await failure(late.get(origin))).toMatchObject({ kind: 'deadline', sent: false })
    expect(connections.every((socket) => socket.bytesRead === 0)).toBe(true)
  })

  test('a server that answers late was sent to in time', async () => {
    const { origin } = await answering((_request, response) => setTimeout(() => response.end('late'), 550))
    expect((await outbound().beginningWithin(500).get(origin)).text()).toBe('late')
  })
})

describe('downloads', () => {
  test('three redirects are followed, a fourth is not', async () => {
    const { origin } = await answering((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) response.end('here')
      else response.writeHead(302, { location: `/${left - 1}` }).end('elsewhere')
    })
    const to = target()

    expect(await outbound().download(`${origin}/3`, { to, maxBytes: 4 })).toEqual({ bytes: 4 })
    expect(await readFile(to, 'utf8')).toBe('here')
    expect(await failedDownload(`${origin}/4`)).toMatchObject({ kind: 'redirects' })
  })

  test.each<[string, OutboundFault]>([
    ['http://127.0.0.2:PORT/', 'address'],
    ['http://0x7f.0.0.2:PORT/', 'address'],
    ['http://[::1]:PORT/', 'address'],
    ['http://169.254.169.254/', 'address'],
    ['http://private.test:PORT/', 'address'],
    ['ftp://127.0.0.1/', 'url'],
    ['http://me:secret@127.0.0.1/', 'url'],
  ])('a redirect to %s is refused, and nothing goes there', async (location, kind) => {
    const secret = await listening(createServer(), '127.0.0.2')
    const { origin } = await answering((_request, response) =>
      response.writeHead(302, { location: location.replace('PORT', String(secret.port)) }).end(),
    )
    const options = { allow: ['127.0.0.1/32'], lookup: async () => ['127.0.0.2'] }

    expect(await failedDownload(origin, options)).toMatchObject({ kind })
    expect(secret.connections).toHaveLength(0)
  })

  test.each<[string, OutboundFault, RequestListener]>([
    ['more than it may be', 'too_large', (_request, response) => response.end(Buffer.alloc(1001))],
    [
      'more than its length says',
      'reset',
      (request) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
    ],
    ['a body without end', 'too_large', (request) => pour(request.socket, 'HTTP/1.1 200 OK\r\n\r\n')],
    ['nothing', 'timeout', () => {}],
    ['a pause in the body', 'timeout', (_request, response) => void response.writeHead(200).write('half')],
    ['a drip of bytes', 'timeout', (request) => drip(request.socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a')],
    ['compressed bytes', 'encoding', (request) => request.socket.end(compressed())],
    ['an error page', 'status', (_request, response) => response.writeHead(404).end('gone')],
    ['a part', 'status', (_request, response) => response.writeHead(206).end('half')],
  ])('a server that answers with %s leaves no file', async (_what, kind, listener) => {
    const { origin } = await answering(listener)
    const limits = kind === 'timeout' ? { betweenBytesMs: 400, downloadMs: 1500 } : {}

    expect(await failedDownload(origin, { allow: Loopback, limits })).toMatchObject({ kind })
  })

  test('a file that is there already is not written over', async () => {
    const { origin } = await answering((_request, response) => response.end('new'))
    const to = target()
    await outbound().download(origin, { to, maxBytes: 10 })

    await expect(outbound().download(origin, { to, maxBytes: 10 })).rejects.toMatchObject({ code: 'EEXIST' })
    expect(existsSync(to)).toBe(true)
  })
})

function outbound(options: Partial<OutboundOptions> = {}) {
  const made = createOutbound({ allow: Loopback, ...options })
  ends.push(made.close)
  return made
}

async function failure(call: Promise<unknown>): Promise<OutboundError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return error
}

async function failedDownload(url: string, options?: Partial<OutboundOptions>): Promise<OutboundError> {
  const to = target()
  const error = await failure(outbound(options).download(url, { to, maxBytes: 1000 }))
  expect(existsSync(to)).toBe(false)
  return error
}

let targets = 0
function target(): string {
  return join(folder, String(targets++))
}

async function listening(server: Server, host = '127.0.0.1', port = 0) {
  const connections: Socket[] = []
  server.on('connection', (socket: Socket) => connections.push(socket.on('error', () => {})))
  server.listen(port, host)
  await once(server, 'listening')
  const stop = () => {
    for (const socket of connections) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  }
  ends.push(stop)
  const own = (server.address() as AddressInfo).port
  return { port: own, origin: `http://${host}:${own}`, connections, stop }
}

function answering(listener: RequestListener, secure = false) {
  return listening(secure ? createHttpsServer({ key: pem, cert: pem }, listener) : createHttpServer(listener))
}

function drip(socket: Socket, head: string, byte: string) {
  socket.on('error', () => {}).write(head)
  const timer = setInterval(() => socket.write(byte), 20)
  socket.on('close', () => clearInterval(timer))
}

function pour(socket: Socket, head: string) {
  const chunk = Buffer.alloc(65_536, 'a')
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('error', () => {}).on('drain', more)
  socket.write(head)
  more()
}

function compressed(): Buffer {
  const body = gzipSync('a bomb')
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])
}

function until(check: () => void) {
  return vi.waitFor(check, { timeout: 20_000 })
}

function busy(ms: number) {
  const end = performance.now() + ms
  while (performance.now() < end);
}
