import { randomUUID } from 'node:crypto'
import sharp from 'sharp'
import type { PostMedia } from '../../../jobs/networks/network.ts'

/** A text that no other post has. */
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

/** A photograph-like image that no format makes small. */
export async function aNoisyImage({ width, height }: { width: number; height: number }): Promise<PostMedia> {
  const bytes = await sharp({
    create: { width, height, channels: 3, background: 'black', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })
    .png()
    .toBuffer()
  return mediaOf(bytes, { mime: 'image/png', width, height, alt: 'Noise' })
}

function mediaOf(
  bytes: Buffer,
  { mime, width, height, alt }: { mime: string; width: number; height: number; alt: string },
): PostMedia {
  const url = `https://punctual.test/media/${randomUUID()}`
  return { mime, bytes: bytes.length, width, height, alt, url, read: async () => bytes }
}
