import { createHash, randomBytes } from 'node:crypto'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Files } from '../../../db/files/files.ts'
import { localFiles } from '../../../db/files/local.ts'
import { typeOf } from '../../../server/media/format.ts'
import { acceptImage, fitPicture } from '../../../server/media/images.ts'
import { ImageBytesAtMost } from '../../../server/media/limits.ts'

let dataDir: string
let files: Files

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'images-'))
  files = localFiles(dataDir)
})
afterEach(() => rm(dataDir, { recursive: true }))

const Place = {
  IFD0: { Make: 'Camera', Copyright: 'Somebody' },
  IFD3: { GPSLatitude: '52/1 31/1 0/1', GPSLatitudeRef: 'N' },
}

describe('a picture', () => {
  test.each(['jpeg', 'png', 'webp', 'avif'] as const)(
    '%s keeps its format and loses everything that says where it was made',
    async (format) => {
      const sent = await stripes(60, 40)
        .withExif(Place)
        .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><secret/></x:xmpmeta>')
        .withIccProfile('p3')
        .toFormat(format)
        .toBuffer()
      expect(await sharp(sent).metadata()).toMatchObject({ exif: expect.anything(), icc: expect.anything() })

      const image = await accepted(sent)

      const stored = await files.readAll(image.fileKey)
      expect(image).toMatchObject({
        mime: `image/${format}`,
        width: 60,
        height: 40,
        bytes: stored.length,
        sha256: sha256(stored),
      })
      for (const key of [image.fileKey, image.thumbnailKey]) {
        const kept = await sharp(await files.readAll(key)).metadata()
        for (const field of ['exif', 'xmp', 'icc', 'iptc'] as const) expect(kept[field]).toBeUndefined()
      }
      for (const word of ['Camera', 'Somebody', 'secret', 'Exif'])
        expect(Buffer.from(stored).includes(word)).toBe(false)
    },
  )

  test('is stored upright, as its camera meant it', async () => {
    const image = await accepted(
      await stripes(60, 40).withMetadata({ orientation: 6 }).jpeg({ quality: 100 }).toBuffer(),
    )

    expect(image).toMatchObject({ width: 40, height: 60 })
    // Red above blue in the file; turned by a quarter, red is at the right.
    const { data } = await sharp(await files.readAll(image.fileKey))
      .raw()
      .toBuffer({ resolveWithObject: true })
    expect(data[0]).toBeLessThan(60)
    expect(data[39 * 3]).toBeGreaterThan(200)
  })

  test('in another colour space comes out in sRGB with the same look', async () => {
    const image = await accepted(await stripes(20, 20).withIccProfile('p3').png().toBuffer())

    const { data } = await sharp(await files.readAll(image.fileKey))
      .raw()
      .toBuffer({ resolveWithObject: true })
    expect([...data.subarray(0, 3)].map((value) => Math.round(value / 16))).toEqual([16, 0, 0])
  })

  test.each(['gif', 'webp'] as const)('that moves keeps moving as %s, with a still thumbnail', async (format) => {
    const image = await accepted(await animation(format))

    expect(image).toMatchObject({ mime: `image/${format}`, width: 60, height: 40 })
    const stored = await sharp(await files.readAll(image.fileKey), { animated: true }).metadata()
    expect(stored).toMatchObject({ pages: 3, pageHeight: 40, delay: [100, 200, 300], loop: 2 })
    expect((await sharp(await files.readAll(image.thumbnailKey), { animated: true }).metadata()).pages ?? 1).toBe(1)
  })

  test('gets a thumbnail of at most 480 pixels, and never one larger than itself', async () => {
    const large = await accepted(await stripes(1000, 500).png().toBuffer())
    const small = await accepted(await stripes(30, 10).png().toBuffer())

    expect(await sizeOf(large.thumbnailKey)).toEqual(['webp', 480, 240])
    expect(await sizeOf(small.thumbnailKey)).toEqual(['webp', 30, 10])
  })

  test('is stored under keys that nobody can guess', async () => {
    const sent = await stripes(10, 10).jpeg().toBuffer()
    const [one, two] = [await accepted(sent), await accepted(sent)]

    expect(one.fileKey).toMatch(/^[0-9a-f]{32}\.jpg$/)
    expect(new Set([one.fileKey, one.thumbnailKey, two.fileKey, two.thumbnailKey]).size).toBe(4)
  })
})

describe('an HEIC photo', () => {
  const photo = () => readFile(join(import.meta.dirname, 'photo.heic')) // as an iPhone makes it: Display P3, with its place

  test('becomes a JPEG with the same look, without anything that says where it was made', async () => {
    const sent = await photo()
    expect([sent.includes('Camera'), sent.includes('Somebody')]).toEqual([true, true])

    const image = await accepted(sent)

    const stored = Buffer.from(await files.readAll(image.fileKey))
    expect(image).toMatchObject({ mime: 'image/jpeg', width: 64, height: 48, bytes: stored.length })
    expect(image.fileKey).toMatch(/\.jpg$/)
    for (const word of ['Camera', 'Somebody', 'Exif', 'ICC_PROFILE']) expect(stored.includes(word)).toBe(false)
    const { data } = await sharp(stored).raw().toBuffer({ resolveWithObject: true })
    expect([...data.subarray(0, 3)].map((value) => Math.round(value / 16))).toEqual([16, 0, 0]) // P3 as sRGB: 15, 3, 2
    expect(await sizeOf(image.thumbnailKey)).toEqual(['webp', 64, 48])
  })

  test('is stored upright, as its camera meant it', async () => {
    const turned = await photo()
    const property = turned.indexOf('colrprof') // no longer a profile, but a turn by 3 × 90° against the clock
    turned.write('irot\x03', property, 'latin1')

    const image = await accepted(turned)

    expect(image).toMatchObject({ width: 48, height: 64 })
    // Red above blue in the file; turned by a quarter, red is at the right.
    const { data } = await sharp(await files.readAll(image.fileKey))
      .raw()
      .toBuffer({ resolveWithObject: true })
    expect(data[0]).toBeLessThan(60)
    expect(data[47 * 3]).toBeGreaterThan(200)
  })

  test('that cannot be decoded is refused with what to do instead', async () => {
    const whole = await photo()
    const half = whole.subarray(0, whole.length - 100)
    const large = Buffer.from(whole)
    const size = large.lastIndexOf('ispe') + 8
    large.writeUInt32BE(6000, size)
    large.writeUInt32BE(6000, size + 4)
    for (const [sent, code] of [
      [half, 'media_type_not_supported'],
      [large, 'media_dimensions_too_large'],
    ] as const)
      await expect(accepted(sent)).rejects.toMatchObject({
        code,
        message: expect.stringContaining('Export it as JPEG'),
      })
    await expect(fitPicture(files, whole, 'ours')).rejects.toMatchObject({
      message: expect.stringContaining('Settings › Camera › Formats › Most Compatible'),
    })
    expect(await stored()).toEqual([])
  })
})

describe('refused', () => {
  const html = '<html><script>alert(1)</script></html>'
  test.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['HTML', html],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
    [
      'SVG with a head',
      '<?xml version="1.0"?>\n<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
    ],
    ['PDF', '%PDF-1.7\n'],
    ['a video', '\0\0\0\x18ftypisom\0\0\0\0isomiso2'],
    ['HEIC', '\0\0\0\x18ftypheic\0\0\0\0heicmif1'],
    ['TIFF', 'II*\0\x08\0\0\0'],
    ['ZIP', 'PK\x03\x04'],
  ])('%s: its type is not taken', async (_what, sent) => {
    await expect(accepted(Buffer.from(sent, 'latin1'))).rejects.toMatchObject({ code: 'media_type_not_supported' })
    await expect(fitPicture(files, Buffer.from(sent, 'latin1'), 'ours')).rejects.toMatchObject({
      code: 'media_type_not_supported',
    })
    expect(await stored()).toEqual([])
  })

  test.each([
    ['HTML behind the head of a GIF', async () => Buffer.from(`GIF89a/*${html}`)],
    ['half a JPEG', async () => (await stripes(200, 200).jpeg().toBuffer()).subarray(0, 700)],
    ['half a PNG', async () => (await noise(200).png().toBuffer()).subarray(0, 20_000)],
    ['half an AVIF', async () => (await noise(200).avif().toBuffer()).subarray(0, 2000)],
    ['half a WebP', async () => (await noise(200).webp().toBuffer()).subarray(0, 2000)],
  ])('%s cannot be read', async (_what, make) => {
    const sent = await make()
    await expect(accepted(sent)).rejects.toMatchObject({ code: 'media_unreadable' })
    await expect(fitPicture(files, sent, 'ours')).rejects.toMatchObject({ code: 'media_unreadable' })
    expect(await stored()).toEqual([])
  })

  test.each([
    ['a bomb: small as a file, 256 megapixels in memory', pngOf(16_000, 16_000)],
    ['one that claims more than there can be', pngOf(2_000_000, 2_000_000)],
    ['one a pixel high', pngOf(60_000_000, 1)],
  ])('%s, before it is decoded', async (_what, sent) => {
    const before = process.memoryUsage().rss

    const refusal = await accepted(sent).catch((error) => error)

    expect(refusal.code).toMatch(/^media_(dimensions_too_large|unreadable)$/)
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000)
    expect(await stored()).toEqual([])
  })

  test('an animation whose frames are too many together', async () => {
    const [red, blue] = await Promise.all(
      ['red', 'blue'].map((background) =>
        sharp({ create: { width: 1000, height: 1000, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    )
    const stills = Array.from({ length: 60 }, (_, index) => (index % 2 ? red! : blue!)) // equal ones would become one
    const gif = await sharp(stills, { join: { animated: true } })
      .gif()
      .toBuffer()

    await expect(accepted(gif)).rejects.toMatchObject({ code: 'media_dimensions_too_large' })
  })

  test('a file over 20 MB, unread', async () => {
    const sent = Buffer.concat([await stripes(10, 10).jpeg().toBuffer(), Buffer.alloc(ImageBytesAtMost)])

    await expect(accepted(sent)).rejects.toMatchObject({ code: 'media_too_large' })
    await expect(fitPicture(files, sent, 'ours')).rejects.toMatchObject({ code: 'media_too_large' })
  })
})

test('what is hidden in or behind a good picture is not stored', async () => {
  const html = '<html><script>alert(1)</script></html>'
  const behind = Buffer.concat([await animation('gif'), Buffer.from(html), Buffer.from('PK\x03\x04')])
  const within = await stripes(20, 20)
    .withExif({ IFD0: { ImageDescription: html } })
    .jpeg()
    .toBuffer()

  for (const sent of [behind, within]) {
    const image = await accepted(sent)
    for (const key of [image.fileKey, image.thumbnailKey])
      expect(Buffer.from(await files.readAll(key)).includes('script')).toBe(false)
  }
})

test('the file that was sent stays where it is', async () => {
  const path = await files.temporary()
  await writeFile(path, await stripes(10, 10).png().toBuffer())
  await acceptImage(files, path, await typeOf(path), 'ours')
  await access(path)
})

test('a picture of an account fits into 256 pixels, upright and without metadata', async () => {
  const sent = await stripes(800, 400).withExif(Place).withMetadata({ orientation: 6 }).jpeg().toBuffer()

  const key = await fitPicture(files, sent, 'ours')

  expect(await sizeOf(key)).toEqual(['webp', 128, 256])
  expect((await sharp(await files.readAll(key)).metadata()).exif).toBeUndefined()
})

async function accepted(sent: Uint8Array) {
  const path = await files.temporary()
  await writeFile(path, sent)
  const taken = async () => {
    const { facts, store } = await acceptImage(files, path, await typeOf(path), 'ours')
    const { fileKey, thumbnailKey } = await store()
    return { ...facts, fileKey, thumbnailKey: thumbnailKey! }
  }
  return taken().finally(() => rm(path))
}

/** Red above, blue below. */
function stripes(width: number, height: number) {
  const pixels = Buffer.alloc(width * height * 3)
  for (let at = 0; at < pixels.length; at += 3) pixels[at < pixels.length / 2 ? at : at + 2] = 255
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

async function animation(format: 'gif' | 'webp'): Promise<Buffer> {
  const stills = ['red', 'green', 'blue'].map((background) =>
    sharp({ create: { width: 60, height: 40, channels: 3, background } })
      .png()
      .toBuffer(),
  )
  const joined = sharp(await Promise.all(stills), { join: { animated: true } })
  return joined.toFormat(format, { delay: [100, 200, 300], loop: 2 }).toBuffer()
}

function noise(size: number) {
  return sharp(randomBytes(size * size * 3), { raw: { width: size, height: size, channels: 3 } })
}

/** A PNG of one black bit a pixel; of more than 300 megapixels only the head, which is what a liar sends. */
function pngOf(width: number, height: number): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 1
  const pixels = width * height < 300_000_000 ? Buffer.alloc((Math.ceil(width / 8) + 1) * height) : Buffer.alloc(1)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const length = Buffer.alloc(4)
  const check = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

async function sizeOf(key: string) {
  const { format, width, height } = await sharp(await files.readAll(key)).metadata()
  return [format, width, height]
}

/** Every file that was stored, temporary ones included. */
async function stored(): Promise<string[]> {
  const entries = await readdir(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
