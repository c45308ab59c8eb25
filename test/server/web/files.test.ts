import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../processes.ts'
import { type S3, startS3 } from '../../stand-ins/s3.ts'
import { openWeb, type Web } from '../web.ts'

describe.each(['a local folder', 'an S3 bucket'])('files in %s', (place) => {
  let w: Web
  let s3: S3
  let url: string
  let whole: Buffer
  beforeAll(async () => {
    s3 = await startS3()
    w = await openWeb(place === 'an S3 bucket' ? s3.variables : {})
    const noise = { type: 'gaussian', mean: 128, sigma: 50 } as const // 700 KB: more than sockets and streams hold
    const photo = await sharp({ create: { width: 480, height: 480, channels: 3, background: 'teal', noise } })
      .png()
      .toBuffer()
    const body = new FormData()
    body.append('file', new Blob([new Uint8Array(photo)]))
    const { json } = await w.call('POST', '/media', { body })
    url = json.url
    whole = Buffer.from(await (await fetch(url)).arrayBuffer())
    expect(whole.length).toBe(json.bytes)
  })
  afterAll(async () => {
    await w.end()
    await s3.end()
  })

  const ask = async (headers: Record<string, string>, method = 'GET') => {
    const answer = await fetch(url, { method, headers })
    return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  test('are served as what they are, able to do nothing', async () => {
    const { answer } = await ask({})
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ 'content-type': 'image/png', 'x-content-type-options': 'nosniff', 'accept-ranges': 'bytes' },
      ...{ 'content-security-policy': "default-src 'none'; sandbox", 'content-length': String(whole.length) },
    })
  })

  test.each([
    ['bytes=0-9', 0, 10],
    ['bytes=10-', 10, undefined],
    ['bytes=-7', -7, undefined],
    ['bytes=3-999999999', 3, undefined],
    ['bytes=-999999999', 0, undefined],
  ])('are served in part: %s', async (range, start, end) => {
    const { answer, bytes } = await ask({ range })
    const part = whole.subarray(start, end)
    const first = whole.length - whole.subarray(start).length
    expect(answer.status).toBe(206)
    expect(answer.headers.get('content-range')).toBe(`bytes ${first}-${first + part.length - 1}/${whole.length}`)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(bytes.equals(part)).toBe(true)
  })

  test.each(['bytes=99999999-', 'bytes=99999999-999999999', 'bytes=-0'])(
    '%s is outside: 416 with the size',
    async (range) => {
      const { answer } = await ask({ range })
      expect([answer.status, answer.headers.get('content-range')]).toEqual([416, `bytes */${whole.length}`])
    },
  )

  test.each(['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-', 'bytes=a-b'])('%s is passed over', async (range) => {
    const { answer, bytes } = await ask({ range })
    expect([answer.status, bytes.length]).toEqual([200, whole.length])
  })

  test('HEAD tells of the whole, and what is not there is 404', async () => {
    const { answer } = await ask({ range: 'bytes=0-1' }, 'HEAD')
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(whole.length)])
    expect((await fetch(url.replace(/[0-9a-f]{8}\.png$/, '00000000.png'))).status).toBe(404)
  })

  test.each(['.__proto__', '.constructor', '.txt', '', '.png/', '.png/x'])(
    'are served under their own names only: %s is 404',
    async (ending) => {
      expect((await fetch(url.replace(/\.png$/, ending))).status).toBe(404)
    },
  )

  const descriptors = async () => (await readdir(`/proc/${w.web.pid}/fd`)).length
  /** Ask `times` in one go on one connection, and reset it after `ms`. */
  const askAndLeave = async (ms: number, times: number) => {
    const { hostname, port, pathname } = new URL(url)
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`.repeat(times))
    await new Promise((done) => setTimeout(done, ms)) // whoever leaves does so at any moment
    socket.resetAndDestroy()
  }

  test.runIf(process.platform === 'linux').each([1, 20])(
    'are closed again when their readers leave (%i requests a connection), and nobody is to blame',
    async (times) => {
      await Promise.all(Array.from({ length: 60 }, () => fetch(url).then((answer) => answer.arrayBuffer())))
      const before = await descriptors()
      for (let round = 0; round < 10; round++)
        await Promise.all(Array.from({ length: 15 }, (_, ms) => askAndLeave(ms, times)))
      await until(async () => (await descriptors()) <= before + 10, 20_000)
      expect((await ask({})).bytes.equals(whole)).toBe(true)
      expect(w.web.log().match(/"level":[56]0.{0,300}/)).toBeNull()
    },
  )
})
