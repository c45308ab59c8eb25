import { once } from 'node:events'
import fs, { type PathLike } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { sql } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { localFiles } from '../../../db/files/local.ts'
import type { Failure } from '../../../server/errors.ts'
import { receiveFile } from '../../../server/media/receive-file.ts'
import { until } from '../../processes.ts'
import { aVideo } from '../../video.ts'
import { aBrowser } from '../browser.ts'
import { openWeb, type Web } from '../web.ts'

const MiB = 1024 * 1024
const partHead = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
const openNow = fs.open as (...asked: [PathLike, string, number, (...given: unknown[]) => void]) => void
const type = { 'content-type': 'multipart/form-data; boundary=x' }

describe('a multipart body', () => {
  let dataDir: string
  let port: number
  let stop: () => void
  let place: Promise<string> | null = null
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'upload '))
    const local = localFiles(dataDir)
    const files = { ...local, temporary: () => place ?? local.temporary() }
    const server = createServer(async (req, res) => {
      const outcome = await receiveFile(files, req, { pauseMs: 2000, wholeMs: 6000 }).then(
        async (file) => {
          await file[Symbol.asyncDispose]()
          return 'taken'
        },
        ({ failure, code, detail }: Failure) => `${failure ?? code}: ${detail}`,
      )
      req.resume() // or the rest would be a reset to who sends it
      res.end(outcome)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    stop = () => server.close() && server.closeAllConnections()
  })
  afterAll(async () => {
    stop()
    await rm(dataDir, { recursive: true })
  })

  const temporary = () => readdir(join(dataDir, 'files/temporary')).catch(() => [])
  /** What becomes of the body that `write` sends; nothing of it may stay. */
  async function outcomeOf(
    headers: Record<string, string>,
    write: (send: (chunk: string | Buffer) => Promise<boolean>) => Promise<unknown>,
  ) {
    const sending = request({ port, method: 'POST', headers: { ...type, ...headers } }).on('error', () => {})
    sending.flushHeaders()
    const answered = once(sending, 'response').then(([response]) => text(response as IncomingMessage))
    let isOver = false
    const over = answered.then(() => {
      isOver = true
    })
    await write(async (chunk) => {
      if (!isOver && !sending.write(chunk)) await Promise.race([over, once(sending, 'drain')])
      return !isOver
    })
    const outcome = await answered
    sending.destroy()
    await until(async () => (await temporary()).length === 0)
    return outcome
  }
  const soon = () => new Promise((done) => setTimeout(done, 50)) // a drip is made of pauses

  test('that pauses is cut off', async () => {
    expect(await outcomeOf({}, (send) => send(`${partHead}half`))).toMatch(/^upload_too_slow: No data arrived/)
    expect(await outcomeOf({}, async () => {})).toMatch(/^upload_too_slow: No data arrived/)
  })

  test('that drips is cut off', async () => {
    const outcome = await outcomeOf({}, async (send) => {
      await send(partHead)
      while (await send('x')) await soon()
    })
    expect(outcome).toMatch(/^upload_too_slow: The upload took more than/)
  })

  test('without an end is cut off at 20 MB', async () => {
    let sent = 0
    const outcome = await outcomeOf({}, async (send) => {
      await send(partHead)
      while (await send(Buffer.alloc(MiB))) sent += MiB
    })
    expect(outcome).toMatch(/^body_too_large: .*20 MB/)
    expect(sent).toBeLessThan(60 * MiB) // what the sockets hold comes on top
  })

  test('that tells of more than 1 GB is refused before it is read', async () => {
    const outcome = await outcomeOf({ 'content-length': '1100000000' }, (send) => send(partHead))
    expect(outcome).toMatch(/^body_too_large: .*1 GB/)
  })

  test('that is compressed is refused', async () => {
    const body = gzipSync(`${partHead}${'x'.repeat(1000)}\r\n--x--`)
    const outcome = await outcomeOf({ 'content-encoding': 'gzip', 'content-length': String(body.length) }, (send) =>
      send(body),
    )
    expect(outcome).toMatch(/^unsupported_media_type: .*Content-Encoding/)
  })

  test('that ends before its form does is refused', async () => {
    const body = `${partHead}half`
    const outcome = await outcomeOf({ 'content-length': String(body.length) }, (send) => send(body))
    expect(outcome).toMatch(/^invalid_request/)
  })

  test.runIf(process.platform === 'linux')('whose file cannot be written is not taken, however small', async () => {
    const full = join(dataDir, 'full')
    await symlink('/dev/full', full)
    place = Promise.resolve(full)
    onTestFinished(() => {
      place = null
    })
    const body = `${partHead}all\r\n--x--\r\n`
    const outcome = await outcomeOf({ 'content-length': String(body.length) }, (send) => send(body))
    expect(outcome).toMatch(/^ENOSPC/)
  })

  // createWriteStream() opens its file after pipeline() has given it up.
  test('that ends before its file was opened leaves none behind', async () => {
    const opened: Promise<void>[] = []
    const late = (...[path, flags, mode, done]: Parameters<typeof openNow>) => {
      const opening = new Promise<void>((over) =>
        setTimeout(() => openNow(path, flags, mode, (...given) => over(done(...given))), 300),
      )
      opened.push(opening)
    }
    const opens = vi.spyOn(fs, 'open').mockImplementation(late as typeof fs.open)
    onTestFinished(() => opens.mockRestore())
    const body = `${partHead}half`
    await outcomeOf({ 'content-length': String(body.length) }, (send) => send(body))
    await Promise.all(opened)
    expect(await temporary()).toEqual([])
  })
})

describe('the composer', () => {
  let w: Web
  let browser: ReturnType<typeof aBrowser>
  beforeAll(async () => {
    w = await openWeb({ AUTH_RATE_LIMIT: '0' })
    browser = aBrowser(w.site.appUrl)
    const ada = { name: 'Ada', email: 'ada@example.org', password: 'a good password', organisation: 'Works' }
    expect((await browser.post('/signup', ada)).status).toBe(302)
  })
  afterAll(() => w.end())

  const send = async (file: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
    const body = new FormData()
    body.append('file', new Blob([file]))
    const own = { origin: w.site.appUrl, cookie: browser.jar.cookie }
    const answer = await fetch(`${w.site.appUrl}/media`, { method: 'POST', body, headers: { ...own, ...headers } })
    return {
      status: answer.status,
      ...((await answer.json().catch(() => ({}))) as { media?: object; problem?: string }),
    }
  }

  test('sends pictures and videos', async () => {
    const photo = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
      .png()
      .toBuffer()
    expect(await send(Buffer.from(photo))).toMatchObject({ status: 200, media: { kind: 'image', alt: '' } })
    expect(await send(await aVideo('mp4'))).toMatchObject({ status: 200, media: { kind: 'video', mime: 'video/mp4' } })
  })

  test('sends HEIC photos, which become JPEG, or is refused with what to do instead', async () => {
    const photo = Buffer.from(await readFile(join(import.meta.dirname, 'photo.heic')))
    expect(await send(photo)).toMatchObject({ status: 200, media: { kind: 'image', mime: 'image/jpeg', width: 64 } })
    expect(await send(photo.subarray(0, 1000))).toMatchObject({
      status: 422,
      problem: expect.stringContaining('Settings › Camera › Formats › Most Compatible'),
    })
  })

  test('that goes away once the whole file has arrived leaves nothing behind', async () => {
    const ids = async () => (await w.db.execute(sql`select id from media order by id`)).map(({ id }) => id)
    const temporary = () => readdir(join(w.site.dataDir, 'files/temporary')).catch(() => [])
    const before = await ids()
    const photo = sharp({ create: { width: 7000, height: 6000, channels: 3, background: 'teal' } }) // takes a second
    const body = Buffer.concat([Buffer.from(partHead), await photo.jpeg().toBuffer(), Buffer.from('\r\n--x--\r\n')])
    const headers = { ...type, origin: w.site.appUrl, cookie: browser.jar.cookie, 'content-length': body.length }
    const sending = request(`${w.site.appUrl}/media`, { method: 'POST', headers }).on('error', () => {})
    sending.end(body)
    await until(async () => {
      const [path] = await temporary()
      return path && (await stat(join(w.site.dataDir, 'files/temporary', path))).size > body.length - 200
    })
    sending.destroy()
    await until(async () => (await temporary()).length === 0)
    expect(await ids()).toEqual(before)
  })

  test('gets a sentence that says why a file is refused', async () => {
    expect(await send(Buffer.from('text'))).toMatchObject({
      status: 422,
      problem: expect.stringContaining('The file must be a JPEG'),
    })
    expect(await send(Buffer.alloc(21 * MiB))).toMatchObject({ status: 413, problem: expect.stringContaining('20 MB') })
    expect(await send(Buffer.from('x'), { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
  })

  test('sends for who is signed in, from our own page, and for nobody else', async () => {
    expect(await send(Buffer.from('x'), { cookie: '' })).toMatchObject({
      status: 401,
      problem: expect.stringContaining('signed out'),
    })
    expect((await send(Buffer.from('x'), { origin: 'https://evil.example' })).status).toBe(403)
  })
})
