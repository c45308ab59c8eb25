import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Files } from '../../db/files/files.ts'
import { localFiles } from '../../db/files/local.ts'
import { typeOf } from '../../server/media/format.ts'
import { acceptImage } from '../../server/media/images.ts'
import { anOrganisation } from '../builders.ts'
import { until } from '../processes.ts'
import { expectProblem, openWeb, type Web } from '../server/web.ts'
import { aBusyVideo, aVideo } from '../video.ts'

// Files that take much memory or processor time to read.

const MiB = 1024 * 1024

let w: Web
beforeAll(async () => {
  w = await openWeb()
})
afterAll(() => w.end())

test('pictures of 48 megapixels are taken, two at a time, so that many at once do not fill the memory', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'images-'))
  const files = localFiles(dataDir)
  const raw = { raw: { width: 8000, height: 6000, channels: 3 } } as const
  const sent = await sharp(Buffer.alloc(8000 * 6000 * 3), raw)
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer() // to be turned, it is held whole
  const before = process.resourceUsage().maxRSS // the peak, in kilobytes

  const images = await Promise.all(Array.from({ length: 6 }, () => accepted(files, sent)))

  expect(images.map(({ width }) => width)).toEqual(Array(6).fill(6000))
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(900_000)
  await rm(dataDir, { recursive: true })
})

test('a separate process reads a part of an index of 200 MB, and everyone else is served meanwhile', async () => {
  const entries = Buffer.alloc(MiB, 'free')
  for (let at = 0; at < entries.length; at += 8) entries.writeUInt32BE(8, at) // boxes of 8 bytes, 25 million of them
  const head = Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomiso2', 'latin1')
  const moov = Buffer.alloc(8)
  moov.writeUInt32BE(8 + 200 * MiB)
  moov.write('moov', 4)
  const parts = [
    Buffer.from('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
    ...[head, moov, ...Array<Buffer>(200).fill(entries)],
    Buffer.from('\r\n--x--\r\n'),
  ].values()
  // A form of 200 MB, made whole, would keep this process for seconds, and who calls from it.
  const body = new ReadableStream({
    pull(sent) {
      const { done, value } = parts.next()
      if (done) sent.close()
      else sent.enqueue(value)
    },
  })
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  let slowestMs = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      const began = performance.now()
      await w.call('GET', '/me')
      slowestMs = Math.max(slowestMs, performance.now() - began)
    }
  })()
  const answer = await w.call('POST', '/media', { headers, body })
  expectProblem(answer, 422, 'media_not_accepted')
  isOver = true
  await watch
  expect(slowestMs).toBeLessThan(3000)
})

test('videos that keep the parser busy hold up nobody but the organisation that sent them', async () => {
  const busy = await aBusyVideo()
  const { key } = await anOrganisation(w.db)
  const answered: string[] = []
  const theirs = Array.from({ length: 3 }, async () => {
    expectProblem(await send(busy, key), 422, 'media_not_accepted')
    answered.push('theirs')
  })
  const path = join(w.site.dataDir, 'files/temporary')
  await until(async () => (await readdir(path).catch(() => [])).length >= 3)
  expect((await send(await aVideo('mp4', { seconds: 3 }))).status).toBe(201)
  answered.push('ours')
  await Promise.all(theirs)
  expect(answered.slice(0, 2)).toContain('ours')
})

function send(bytes: Uint8Array<ArrayBuffer>, key = w.key) {
  const body = new FormData()
  body.append('file', new File([bytes], 'a.mp4'))
  return w.call('POST', '/media', { body, key })
}

async function accepted(files: Files, sent: Uint8Array) {
  const path = await files.temporary()
  await writeFile(path, sent)
  const taken = async () => {
    const { facts, store } = await acceptImage(files, path, await typeOf(path), 'ours')
    await store()
    return facts
  }
  return taken().finally(() => rm(path))
}
