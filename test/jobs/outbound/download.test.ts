import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OutboundError, OutboundFault, OutboundOptions } from '../../../jobs/outbound/outbound.ts'
import { answering, compressed, drip, failure, listening, outbound, pour } from './loopback.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outbound-'))
})
afterAll(() => rm(folder, { recursive: true }))

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
])('a redirect to %s is refused, and nothing connects there', async (location, kind) => {
  const secret = await listening(createServer(), '127.0.0.2')
  const { origin } = await answering((_request, response) =>
    response.writeHead(302, { location: location.replace('PORT', String(secret.port)) }).end(),
  )
  const options = { allow: ['127.0.0.1/32'], lookup: async () => ['127.0.0.2'] }

  expect(await failedDownload(origin, options)).toMatchObject({ kind })
  expect(secret.connections).toHaveLength(0)
})

test.each<[string, OutboundFault, RequestListener]>([
  ['more bytes than allowed', 'too_large', (_request, response) => response.end(Buffer.alloc(1001))],
  [
    'fewer bytes than its content-length',
    'reset',
    (request) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'),
  ],
  ['a body without end', 'too_large', (request) => pour(request.socket, 'HTTP/1.1 200 OK\r\n\r\n')],
  ['nothing', 'timeout', () => {}],
  ['a pause in the body', 'timeout', (_request, response) => void response.writeHead(200).write('half')],
  ['a drip of bytes', 'timeout', (request) => drip(request.socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a')],
  ['compressed bytes', 'encoding', (request) => request.socket.end(compressed())],
  ['an error page', 'status', (_request, response) => response.writeHead(404).end('gone')],
  ['a partial response', 'status', (_request, response) => response.writeHead(206).end('half')],
])('a server that answers with %s leaves no file', async (_what, kind, listener) => {
  const { origin } = await answering(listener)
  const limits = kind === 'timeout' ? { betweenBytesMs: 400, downloadMs: 1500 } : {}

  expect(await failedDownload(origin, { limits })).toMatchObject({ kind })
})

test('an existing file is not overwritten', async () => {
  const { origin } = await answering((_request, response) => response.end('new'))
  const to = target()
  await outbound().download(origin, { to, maxBytes: 10 })

  await expect(outbound().download(origin, { to, maxBytes: 10 })).rejects.toMatchObject({ code: 'EEXIST' })
  expect(existsSync(to)).toBe(true)
})

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
