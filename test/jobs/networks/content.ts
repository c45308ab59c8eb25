import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import type { PostMedia } from '../../../jobs/networks/network.ts'
import { aVideo } from '../../video.ts'

/** A text that is different for each post. */
export function aText(): string {
  return `Ünïcode 🎉 and a link https://example.com/${randomUUID()} #tag`
}

/** A small PNG with an alternative text. */
export async function anImage({ width = 30, height = 20, alt = 'A red field' } = {}): Promise<PostMedia> {
  const bytes = await sharp({ create: { width, height, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  return mediaOf(bytes, { mime: 'image/png', width, height, alt })
}

/** A photograph-like image that no format compresses well. */
export async function aNoisyImage({ width, height }: { width: number; height: number }): Promise<PostMedia> {
  const bytes = await sharp({
    create: { width, height, channels: 3, background: 'black', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })
    .png()
    .toBuffer()
  return mediaOf(bytes, { mime: 'image/png', width, height, alt: 'Noise' })
}

/** A video of 2 seconds. */
export async function someVideo(): Promise<PostMedia> {
  return mediaOf(await aVideo('mp4'), { mime: 'video/mp4', width: 64, height: 48, alt: 'A field' })
}

function mediaOf(
  bytes: Buffer,
  { mime, width, height, alt }: { mime: string; width: number; height: number; alt: string },
): PostMedia {
  const url = `https://punctual.test/media/${randomUUID()}`
  const facts = {
    mime,
    bytes: bytes.length,
    width,
    height,
    durationMs: mime.startsWith('video/') ? 2000 : null,
    alt,
    url,
  }
  return { ...facts, read: async () => bytes, stream: async () => Readable.from([bytes]) }
}
