import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, test, vi } from 'vitest'
import { answering, busy, failure, listening, outbound, pem, until } from './loopback.ts'

test('before the deadline, the request is sent', async () => {
  const { origin } = await answering((_request, response) => response.end('in time'))
  expect((await outbound().beginningWithin(3000).get(origin)).text()).toBe('in time')
})

test('a server that does not finish its TLS handshake gets no byte of the request and a reset', async () => {
  const errors: string[] = []
  const received: Buffer[] = []
  const { port, connections } = await listening(
    createServer((socket) => {
      socket.on('data', (bytes) => received.push(bytes)).on('error', (error) => errors.push(error.message))
    }),
  )

  const error = await failure(outbound().beginningWithin(2000).post(`https://127.0.0.1:${port}/`, { body: 'secret' }))

  expect(error).toMatchObject({ kind: 'deadline', sent: false })
  await until(() => expect(connections[0]?.destroyed).toBe(true))
  expect(errors).toEqual(['read ECONNRESET'])
  expect(Buffer.concat(received)[0]).toBe(22) // the client's hello: a TLS handshake record
  expect(received).toHaveLength(1)
})

test.each([
  ['when the process freezes', () => busy(2000)],
  ['when the wall clock jumps', () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })],
  ['when monotonic time jumps', () => vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)],
])('%s while connecting, nothing of the request arrives', async (_what, stall) => {
  const received: Buffer[] = []
  const stallAtHello = () => {
    stall()
    return 'http/1.1'
  }
  const server = createTlsServer({ key: pem, cert: pem, ALPNCallback: stallAtHello }, (socket) => {
    socket.on('data', (bytes) => received.push(bytes)).on('error', () => {})
  })
  const { port, connections } = await listening(server)

  const error = await failure(outbound().beginningWithin(1500).post(`https://127.0.0.1:${port}/`, { body: 'x' }))

  expect(error).toMatchObject({ kind: 'deadline', sent: false })
  await until(() => expect(connections[0]?.destroyed).toBe(true))
  expect(received).toHaveLength(0)
})

test('the deadline counts from when it was set, not from the call', async () => {
  const { origin, connections } = await listening(createServer())
  const late = outbound().beginningWithin(1)
  busy(5)

  expect(await failure(late.get(origin))).toMatchObject({ kind: 'deadline', sent: false })
  expect(connections.every((socket) => socket.bytesRead === 0)).toBe(true)
})

test('a server that got the request in time may answer late', async () => {
  const { origin } = await answering((_request, response) => setTimeout(() => response.end('late'), 2100))
  expect((await outbound().beginningWithin(2000).get(origin)).text()).toBe('late')
})
