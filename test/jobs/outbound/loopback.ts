import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, vi } from 'vitest'
import { createOutbound, OutboundError, type OutboundOptions } from '../../../jobs/outbound/outbound.ts'

// Servers on loopback that misbehave as a test wants, and an outbound that calls them. All end with their test.

/** The key and certificate of name.test and 127.0.0.1, which this process trusts. */
export const pem = readFileSync(new URL('./tls.pem', import.meta.url), 'utf8')
setDefaultCACertificates([...getCACertificates(), pem])

export function outbound(options: Partial<OutboundOptions> = {}) {
  const made = createOutbound({ allow: ['127.0.0.0/8'], ...options })
  onTestFinished(made.close)
  return made
}

export async function failure(call: Promise<unknown>): Promise<OutboundError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return error
}

/** Have `server` listen until the test ends. */
export async function listening(server: Server, host = '127.0.0.1', port = 0) {
  const listens = await listen(server, host, port)
  onTestFinished(listens.stop)
  return listens
}

/** Have `server` listen until `stop`, also outside a test. */
export async function listen(server: Server, host = '127.0.0.1', port = 0) {
  const connections: Socket[] = []
  server.on('connection', (socket: Socket) => connections.push(socket.on('error', () => {})))
  server.listen(port, host)
  await once(server, 'listening')
  const stop = () => {
    for (const socket of connections) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  const own = (server.address() as AddressInfo).port
  return { port: own, origin: `http://${host}:${own}`, connections, stop }
}

export function answering(listener: RequestListener, secure = false) {
  return listening(secure ? createHttpsServer({ key: pem, cert: pem }, listener) : createHttpServer(listener))
}

export function drip(socket: Socket, head: string, byte: string) {
  socket.on('error', () => {}).write(head)
  const timer = setInterval(() => socket.write(byte), 20)
  socket.on('close', () => clearInterval(timer))
}

export function pour(socket: Socket, head: string) {
  const chunk = Buffer.alloc(65_536, 'a')
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('error', () => {}).on('drain', more)
  socket.write(head)
  more()
}

export function compressed(): Buffer {
  const body = gzipSync('a bomb')
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])
}

export function until(check: () => void) {
  return vi.waitFor(check, { timeout: 20_000 })
}

export function busy(ms: number) {
  const end = performance.now() + ms
  while (performance.now() < end);
}
