import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startWeb, testSite, until } from '../../processes.ts'
import { callApi, expectProblem, faultsOf, openWeb, type Web } from '../web.ts'

let w: Web
let photo: Buffer<ArrayBuffer>
beforeAll(async () => {
  w = await openWeb()
  const place = { IFD3: { GPSLatitude: '52/1 31/1 0/1', GPSLatitudeRef: 'N' }, IFD0: { Make: 'Secret camera' } }
  photo = Buffer.from(
    await sharp({ create: { width: 640, height: 480, channels: 3, background: 'teal' } })
      .withExif(place)
      .jpeg()
      .toBuffer(),
  )
})
const temporaryFiles = () => readdir(join(w.site.dataDir, 'files/temporary')).catch(() => [])
afterEach(() => until(async () => (await temporaryFiles()).length === 0))
afterAll(() => w.end())

/** A part is a file with its name, or a field as `name=value`. */
const form = (...parts: ([string, Blob] | string)[]) => {
  const body = new FormData()
  for (const part of parts)
    if (typeof part === 'string') body.append(part.split('=')[0]!, part.slice(part.indexOf('=') + 1))
    else body.append(...part)
  return body
}
const send = (body: BodyInit, type?: string) =>
  w.call('POST', '/media', { body, headers: type ? { 'content-type': type } : {} })
const fetchFrom = (url: string, more = {}) => w.call('POST', '/media/upload-from-url', { json: { url, ...more } })

const servers: { close: () => void }[] = []
afterAll(() => servers.forEach((server) => void server.close()))

/** A server of somebody else on loopback. `seen` is every path that was asked of it. */
async function elsewhere(answer: RequestListener, host = '127.0.0.1') {
  const seen: string[] = []
  const server = createServer((req, res) => {
    seen.push(req.url ?? '')
    answer(req, res)
  }).listen(0, host)
  await once(server, 'listening')
  servers.push({ close: () => server.close() && server.closeAllConnections() })
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, seen }
}

describe('a picture', () => {
  const expectStored = async (json: Record<string, unknown>, alt: string) => {
    expect(json).toEqual({
      ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), kind: 'image', mime: 'image/jpeg', width: 640, height: 480 },
      ...{ durationMs: null, alt, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: expect.any(Number) },
      url: expect.stringMatching(new RegExp(`^${w.site.appUrl}/files/[0-9a-f]{32}\\.jpg$`)),
      thumbnailUrl: expect.stringMatching(new RegExp(`^${w.site.appUrl}/files/[0-9a-f]{32}\\.webp$`)),
      createdAt: expect.stringMatching(/Z$/),
    })
    const file = await fetch(String(json.url))
    const bytes = Buffer.from(await file.arrayBuffer())
    expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).toEqual([json.bytes, json.sha256])
    expect((await sharp(bytes).metadata()).exif).toBeUndefined()
    expect(bytes.includes('Secret camera')).toBe(false)
    return file
  }

  test('sent as a form is stored without what says where it was made, and read back by its id', async () => {
    expect(photo.includes('Secret camera')).toBe(true)
    const made = await send(form('alt=A wall, \u{1F600}', ['file', new Blob([photo], { type: 'text/html' })]))
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`${w.site.appUrl}/public/v1/media/${made.json.id}`)
    await expectStored(made.json, 'A wall, \u{1F600}')
    expect((await w.call('GET', `/media/${made.json.id}`)).json).toEqual(made.json)
  })

  test('fetched from a URL, over redirects too, is the same, and the other server learns nothing of us', async () => {
    const headers: unknown[] = []
    const { url } = await elsewhere((req, res) => {
      headers.push(req.headers)
      if (req.url === '/photo') return void res.writeHead(302, { location: '/real?x=1' }).end()
      res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(photo)
    })
    const made = await fetchFrom(`${url}/photo`, { alt: 'x' })
    expect(made.status).toBe(201)
    await expectStored(made.json, 'x')
    expect(headers).toHaveLength(2)
    for (const one of headers)
      expect(Object.keys(one as object)).not.toEqual(expect.arrayContaining(['authorization', 'cookie']))
    expect(JSON.stringify(headers)).not.toContain(w.key)
  })

  test('is served to anyone with its own type, and can run nothing on any site', async () => {
    const { json } = await send(form(['file', new Blob([photo])]))
    const file = await expectStored(json, '')
    expect(Object.fromEntries(file.headers)).toMatchObject({
      ...{ 'content-type': 'image/jpeg', 'x-content-type-options': 'nosniff' },
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': expect.stringContaining('immutable'),
    })
    expect(file.headers.get('set-cookie')).toBeNull()
    const head = await fetch(json.url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(json.bytes)])
    expect((await fetch(json.url.replace(/[0-9a-f]{8}\.jpg$/, '00000000.jpg'))).status).toBe(404)
  })
})

async function* endless() {
  yield photo
  for (;;) yield Buffer.alloc(1_000_000)
}

describe('what is no picture that we take', () => {
  const others = {
    html: '<!doctype html><script>alert(1)</script>',
    svg: '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    empty: '',
    'half a picture': Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]),
  }
  test('is refused by its bytes, with any name and header', async () => {
    for (const content of Object.values(others)) {
      const sent = await send(form(['file', new File([content], 'photo.png', { type: 'image/png' })]))
      expectProblem(sent, 422, 'media_not_accepted')
      const { url } = await elsewhere((_req, res) => res.writeHead(200, { 'content-type': 'image/png' }).end(content))
      expectProblem(await fetchFrom(`${url}/photo.png`), 422, 'media_fetch_failed')
    }
  })

  test('of more than 20 MB is cut off: 413 when sent, 422 when fetched, also when endless or without a length', async () => {
    const large = Buffer.concat([photo, Buffer.alloc(20 * 1024 * 1024)])
    expectProblem(await send(form(['file', new Blob([large])])), 413, 'body_too_large')
    const { url } = await elsewhere((req, res) => {
      res.writeHead(200, req.url === '/lies' ? { 'content-length': '100000000' } : {})
      pipeline(endless, res).catch(() => {})
    })
    for (const path of ['/endless', '/lies']) expectProblem(await fetchFrom(url + path), 422, 'media_fetch_failed')
  })
})

describe('a multipart body', () => {
  const file: [string, Blob] = ['file', new Blob(['x'])]

  test('without a file, with two, or with parts that are not asked for, is 400', async () => {
    const picture: [string, Blob] = ['picture', new Blob(['x'])]
    const forms = [form(), form('alt=x'), form('file=x'), form(picture), form(file, file), form(file, 'size=1')]
    for (const body of [
      ...forms,
      form(file, 'alt=x', 'alt=y'),
      form(file, '__proto__=x'),
      form(file, 'alt=x', picture),
    ])
      expectProblem(await send(body), 400, 'invalid_request')
    for (const alt of ['x'.repeat(1501), 'x'.repeat(20_000), '\0'])
      expect(faultsOf(await send(form(file, `alt=${alt}`)))[0]).toMatch(/^alt /)
    const latin1 = '--x\r\nContent-Disposition: form-data; name="alt"\r\n\r\ncaf\u00e9\r\n--x--\r\n'
    const refused = await send(Buffer.from(latin1, 'latin1'), 'multipart/form-data; boundary=x')
    expectProblem(refused, 400, 'invalid_request')
    expect(refused.json.detail).toBe('Send alt in UTF-8, without the character U+FFFD.')
  })

  test('that is broken is 400, and of another type 415', async () => {
    for (const type of ['application/json', 'image/png', 'multipart/mixed; boundary=x'])
      expectProblem(await send('{}', type), 415, 'unsupported_media_type')
    for (const [body, type] of [
      ['x', 'multipart/form-data; charset=x'],
      ['', 'multipart/form-data; boundary=x'],
      ['x', 'multipart/form-data; boundary=x'],
      [
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
        'multipart/form-data; boundary=x',
      ],
      [`--x\r\n${'a'.repeat(100_000)}`, 'multipart/form-data; boundary=x'],
      [`--x\r\nbroken\r\n\r\n${'a'.repeat(1_000_000)}\r\n--x--`, 'multipart/form-data; boundary=x'],
    ] as const)
      expectProblem(await send(body, type), 400, 'invalid_request')
  })

  test('that breaks off leaves nothing behind, and the site stands', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    const headers = {
      authorization: w.key,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': '1000000',
    }
    const half = request(`${w.site.appUrl}/public/v1/media`, { method: 'POST', headers }).on('error', () => {})
    half.write(head + 'x'.repeat(100_000))
    await until(async () => (await temporaryFiles()).length === 1)
    half.destroy()
    await until(async () => (await temporaryFiles()).length === 0)
    expect((await w.call('GET', '/me')).status).toBe(200)
  })
})

describe('an HEIC photo that cannot be read', () => {
  test('is one 422 of the same code and cure, sent or fetched', async () => {
    const half = (await readFile(join(import.meta.dirname, 'photo.heic'))).subarray(0, 1000)
    const { url } = await elsewhere((_req, res) => void res.end(half))
    const sent = await send(form(['file', new Blob([half])]))
    const fetched = await w.call('POST', '/media/upload-from-url', { json: { url } })
    expectProblem(sent, 422, 'media_not_accepted')
    expectProblem(fetched, 422, 'media_fetch_failed')
    for (const { json } of [sent, fetched]) expect(json.detail).toContain('Export it as JPEG')
  })
})

describe('a URL', () => {
  test('that is invalid, or that answers without a file, is one 422 that says what to fix', async () => {
    const { url } = await elsewhere((req, res) => {
      const path = req.url ?? ''
      if (path === '/reset') return void req.socket.resetAndDestroy()
      if (path === '/round') return void res.writeHead(302, { location: '/round' }).end()
      if (path === '/gzip') return void res.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
      res.writeHead(Number(path.slice(1))).end()
    })
    const bad = ['/404', '/500', '/204', '/reset', '/round', '/gzip'].map((path) => url + path)
    bad.push(
      'x',
      'ftp://example.org/x',
      'file:///etc/passwd',
      'data:image/png;base64,AAAA',
      url.replace('//', '//me:secret@'),
    )
    for (const one of bad) {
      const answer = await fetchFrom(one)
      expect([one, answer.status]).toEqual([one, 422])
      expectProblem(answer, 422, 'media_fetch_failed')
      expect(answer.json.detail).not.toMatch(/127\.0\.0\.1|ECONN|undici|secret/)
    }
    expect(faultsOf(await fetchFrom(''))).toEqual(['url required'])
  })

  test('into our own network is refused with one and the same answer, straight or over a redirect, and nothing is asked there', async () => {
    const inside = await elsewhere((_req, res) => res.end(photo))
    const outside = await elsewhere((req, res) => {
      const to = decodeURIComponent(req.url?.slice(1) ?? '')
      res.writeHead(302, { location: to }).end()
    }, '127.0.0.2')
    const site = await testSite(w.site.databaseUrl, { OUTBOUND_ALLOW: '127.0.0.2/32' })
    const web = await startWeb(site)
    const port = new URL(inside.url).port
    const hosts = [
      '127.0.0.1',
      'localhost',
      '0x7f.1',
      '2130706433',
      '017700000001',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
    ]
    const inward = [
      ...hosts.map((host) => `http://${host}:${port}/`),
      'http://169.254.169.254/latest',
      'http://10.0.0.1/',
    ]
    const details = new Set<string>()
    for (const target of inward)
      for (const url of [target, `${outside.url}/${encodeURIComponent(target)}`]) {
        const answer = await callApi(site.appUrl, 'POST', '/media/upload-from-url', { key: w.key, json: { url } })
        expect([url, answer.status]).toEqual([url, 422])
        expectProblem(answer, 422, 'media_fetch_failed')
        details.add(answer.json.detail)
      }
    expect(outside.seen).toHaveLength(inward.length)
    expect([inside.seen, details.size]).toEqual([[], 1])
    await web.stop()
    await site.end()
  })
})

test.runIf(process.platform === 'linux')('a picture whose reader goes away is closed', async () => {
  const noise = { width: 1500, height: 1500, channels: 3 } as const
  const large = await sharp(randomBytes(1500 * 1500 * 3), { raw: noise })
    .png()
    .toBuffer()
  const { json } = await send(form(['file', new Blob([new Uint8Array(large)])]))
  const open = async () => {
    const folder = `/proc/${w.web.pid}/fd`
    const links = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => ''))
    return (await Promise.all(links)).filter((path) =>
      path.includes(new URL(json.url).pathname.slice('/files/'.length)),
    )
  }
  for (let i = 0; i < 5; i++) {
    const reading = request(json.url).end()
    const [answer] = await once(reading, 'response')
    await once(answer, 'readable')
    reading.destroy()
  }
  await until(async () => (await open()).length === 0)
})
