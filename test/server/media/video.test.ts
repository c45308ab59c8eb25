import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listening } from '../../jobs/outbound/loopback.ts'
import { until } from '../../processes.ts'
import { aVideo, free, type VideoFormat } from '../../video.ts'
import { type Answer, expectProblem, openWeb, type Web } from '../web.ts'

const MiB = 1024 * 1024

let w: Web
beforeAll(async () => {
  w = await openWeb()
})
afterAll(() => w.end())

const send = (bytes: Uint8Array<ArrayBuffer>, name = 'a.png', key = w.key) => {
  const body = new FormData()
  body.append('file', new File([bytes], name, { type: 'image/png' })) // neither is believed
  return w.call('POST', '/media', { body, key })
}
const files = async () =>
  (await readdir(join(w.site.dataDir, 'files'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
const types = { mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime' } as const

describe.each(Object.keys(types) as VideoFormat[])('a video as %s', (format) => {
  const expectKept = async ({ status, json }: Answer, sent: Buffer) => {
    expect(status).toBe(201)
    expect(json).toMatchObject({
      ...{ kind: 'video', mime: types[format], bytes: sent.length, width: 64, height: 48, durationMs: 2000 },
      ...{ thumbnailUrl: null, sha256: createHash('sha256').update(sent).digest('hex') },
      url: expect.stringMatching(new RegExp(`/files/[0-9a-f]{32}\\.${format}$`)),
    })
    const file = await fetch(json.url)
    expect(Object.fromEntries(file.headers)).toMatchObject({
      ...{ 'content-type': types[format], 'x-content-type-options': 'nosniff', 'accept-ranges': 'bytes' },
      'content-security-policy': "default-src 'none'; sandbox",
    })
    expect(Buffer.from(await file.arrayBuffer()).equals(sent)).toBe(true)
  }

  test('is stored byte for byte with its own metadata, sent or fetched', async () => {
    const sent = await aVideo(format)
    const made = await send(sent)
    await expectKept(made, sent)
    const { origin } = await listening(createServer((_req, res) => res.end(sent)))
    const fetched = await w.call('POST', '/media/upload-from-url', { json: { url: `${origin}/x`, alt: 'A lake' } })
    await expectKept(fetched, sent)
    expect(fetched.json).toMatchObject({ url: made.json.url, alt: 'A lake' }) // the same bytes are stored once
  })

  test('may be larger than a picture', async () => {
    const parts = [await aVideo(format), ...free(21 * MiB)]
    if (format === 'webm') parts.splice(1, 1, Buffer.from([0xec, 0x08, 0x14, 0xff, 0xff, 0xf8])) // Matroska has a Void for that
    const { status, json } = await send(Buffer.concat(parts))
    expect([status, json.code, json.bytes > 20 * MiB]).toEqual([201, undefined, true])
  })
})

/** `bytes` with the four bytes `at` behind each box named `name` replaced by `value`. */
function patched(bytes: Buffer<ArrayBuffer>, name: string, at: number, value: number): Buffer<ArrayBuffer> {
  const copy = Buffer.from(bytes)
  for (let found = copy.indexOf(name); found >= 0; found = copy.indexOf(name, found + 1))
    copy.writeUInt32BE(value, found + 4 + at)
  return copy
}

describe('what only begins like a video', () => {
  const head = Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomiso2', 'latin1')
  const ebml = Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581', 'hex')
  test.each<[string, string, () => Promise<Buffer<ArrayBuffer>> | Buffer<ArrayBuffer>]>([
    ['the head of an MP4', 'media_unreadable', () => head],
    [
      'the head of an MP4 and HTML',
      'media_unreadable',
      () => Buffer.concat([head, Buffer.from('<script>alert(1)</script>')]),
    ],
    ['the head of a WebM', 'media_unreadable', () => ebml],
    ['an MP4 that is cut off', 'media_unreadable', async () => (await aVideo('mp4')).subarray(0, 300)],
    ['a WebM that is cut off', 'media_unreadable', async () => (await aVideo('webm')).subarray(0, 90)],
    [
      'a WebM behind the head of an MP4',
      'media_unreadable',
      async () => {
        const video = await aVideo('webm')
        return Buffer.concat([head, video])
      },
    ],
    ['one without a picture', 'media_unreadable', async () => patched(await aVideo('mp4'), 'hdlr', 8, 0x736f756e)],
    ['one without frames', 'media_unreadable', () => aVideo('mp4', { seconds: 0 })],
    ['one with 9,000 pixels a side', 'media_dimensions_too_large', () => aVideo('mp4', { size: [9000, 9000] })],
    [
      'one that claims a box of 4 GB',
      'media_unreadable',
      async () => {
        const video = Buffer.from(await aVideo('mp4'))
        video.writeUInt32BE(0xffffffff, video.indexOf('moov') - 4)
        return video.subarray(0, 400)
      },
    ],
    [
      'one that claims 4,000 million frames',
      'media_unreadable',
      async () => patched(await aVideo('mp4'), 'stts', 4, 0xffffffff),
    ],
  ])('%s: refused with the reason, and nothing stays', async (_what, code, make) => {
    const before = await files()
    const answer = await send(await make())
    expectProblem(answer, 422, 'media_not_accepted')
    expect(answer.json.errors).toEqual([{ path: 'file', code, message: answer.json.detail }])
    await until(async () => (await files()).length === before.length)
  })
})

test('a video with a page hidden in it is served as a video that can do nothing', async () => {
  const page = '<html><script>alert(1)</script></html>'
  const box = [...free(8 + page.length)]
  const { json } = await send(Buffer.concat([await aVideo('mp4'), box[0]!, Buffer.from(page)]))
  const { headers } = await fetch(json.url)
  expect(Object.fromEntries(headers)).toMatchObject({
    ...{ 'content-type': 'video/mp4', 'x-content-type-options': 'nosniff' },
    'content-security-policy': "default-src 'none'; sandbox",
  })
})
