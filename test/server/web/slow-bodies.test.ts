import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Failure } from '../../../server/errors.ts'
import { type BodyPace, readBytes } from '../../../server/http/request-body.ts'
import { readForm } from '../../../server/web/page-form.ts'
import { openWeb, type Web } from '../web.ts'

const UrlEncoded = 'application/x-www-form-urlencoded'
const Multipart = 'multipart/form-data; boundary=x'
const formHead = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'

/** Begin a request, and send `drop` every `everyMs` until it is answered. The answer, or what came of it. */
async function drip(port: number, head: string, drop: string, everyMs: number): Promise<string> {
  const socket = connect(port, 'localhost')
  let text = ''
  socket.on('data', (chunk) => (text += chunk)).on('error', () => {})
  socket.write(head)
  const drips = setInterval(() => socket.write(drop), everyMs)
  await new Promise((done) => socket.once('close', done)) // a reset after the answer is no failure
  clearInterval(drips)
  return text
}

describe('a body', () => {
  const pace: BodyPace = { graceMs: 500, bytesPerSecond: 20 * 1024, wholeMs: 3000 } // a tenth of the product's
  const bounds = { bytes: 1024 * 1024, pace, temporary: null }
  const outcome = (reading: Promise<unknown>) =>
    reading.then(
      () => 'read',
      ({ failure, detail }: Failure) => `${failure}: ${detail}`,
    )
  let port: number
  let stop: () => void
  beforeAll(async () => {
    const read = (req: IncomingMessage) => (req.url === '/form' ? readForm(req, bounds) : readBytes(req, 1e6, pace))
    const server = createServer((req, res) => {
      const began = Date.now()
      void outcome(read(req)).then((said) => {
        res.shouldKeepAlive = false
        res.end(`${said} ${Date.now() - began} ms`, () => req.socket.destroy())
      })
    }).listen(0)
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    stop = () => server.close() && server.closeAllConnections()
  })
  afterAll(() => stop())

  const head = (path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 900000\r\n\r\n`

  test.each([
    ['/form', UrlEncoded, 'a=', 'x'],
    ['/form', Multipart, formHead, 'x'],
    ['/bytes', 'application/json', '{', 'x'],
  ])('%s %s: that drips is refused after the grace', async (path, type, start, drop) => {
    const said = await drip(port, head(path, type) + start, drop, 20)
    expect(said).toMatch(/body_too_slow: The request arrived too slowly: send at least 20 KB a second/)
    const ms = Number(/(\d+) ms$/.exec(said)?.[1])
    expect(ms).toBeGreaterThan(490)
    expect(ms).toBeLessThan(2500)
  })

  test('that keeps the pace is refused when the whole takes too long', async () => {
    const said = await drip(port, `${head('/form', UrlEncoded)}a=`, 'x'.repeat(6000), 30)
    expect(said).toMatch(/body_too_slow: .*within 3 seconds/)
    expect(Number(/(\d+) ms$/.exec(said)?.[1])).toBeGreaterThan(2900)
  })
})

describe('the web process', () => {
  let w: Web
  beforeAll(async () => {
    w = await openWeb()
  })
  afterAll(() => w.end())

  test.each(['/login', '/oauth/token'])('%s answers a form that drips with 408 and a sentence', async (path) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost:${w.site.port}\r\nOrigin: ${w.site.appUrl}\r\nContent-Type: ${UrlEncoded}\r\nContent-Length: 9000\r\n\r\n`
    const began = Date.now()
    const said = await drip(w.site.port, head, 'x', 100)
    expect(said).toMatch(/^HTTP\/1.1 408 [\s\S]*The request arrived too slowly: send at least 20 KB a second/)
    expect(Date.now() - began).toBeLessThan(20_000)
  })
})
