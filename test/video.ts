import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from 'mediabunny'

const formats = {
  mp4: () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
  mov: () => new MovOutputFormat({ fastStart: 'in-memory' }),
  webm: () => new WebMOutputFormat(),
}

export type VideoFormat = keyof typeof formats

/** A video of 64 by 48 pixels with meaningless frames. Every part that a parser reads is valid. */
export async function aVideo(format: VideoFormat, { seconds = 2, size = [64, 48] } = {}): Promise<Buffer<ArrayBuffer>> {
  const target = new BufferTarget()
  const output = new Output({ format: formats[format](), target })
  const source = new EncodedVideoPacketSource('vp9')
  output.addVideoTrack(source, { frameRate: 10 })
  await output.start()
  const [codedWidth, codedHeight] = size as [number, number]
  for (let frame = 0; frame < seconds * 10; frame++) {
    const packet = new EncodedPacket(new Uint8Array(200), frame === 0 ? 'key' : 'delta', frame / 10, 0.1)
    await source.add(packet, { decoderConfig: { codec: 'vp09.00.10.08', codedWidth, codedHeight } })
  }
  await output.finalize()
  return Buffer.from(target.buffer!)
}

/** An MP4 of 5 KB whose chunks claim 4,000 million frames each: a parser would need minutes for them. */
export async function aBusyVideo(): Promise<Buffer<ArrayBuffer>> {
  const video = await aVideo('mp4')
  video.writeUInt32BE(0xffffffff, video.indexOf('stsc') + 16) // samples-per-chunk of the first entry (ISO 14496-12 §8.7.4)
  return video
}

/** A box of an MP4 or MOV that players ignore, of `bytes` with its header, as chunks. It makes a video as large as we
 * want. */
export function* free(bytes: number): Generator<Buffer> {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(bytes)
  head.write('free', 4)
  yield head
  const chunk = Buffer.alloc(256 * 1024)
  for (let left = bytes - 8; left > 0; left -= chunk.length) yield left < chunk.length ? chunk.subarray(0, left) : chunk
}
