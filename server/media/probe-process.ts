import { open } from 'node:fs/promises'
import { CustomSource, Input, type InputVideoTrack, MP4, QTFF, WEBM } from 'mediabunny'

// A separate process that reads one video (video.ts). It can read nothing else, and exits after its answer.

const BytesReadAtMost = 64 * 1024 * 1024 // the index of an hour has 5 MB; more is an attack
const CacheBytes = 8 * 1024 * 1024

export type Probed = { mime: string; width: number; height: number; seconds: number }

async function main(path: string): Promise<void> {
  const file = await open(path)
  const { size } = await file.stat()
  let left = BytesReadAtMost
  const read = async (start: number, end: number) => {
    left -= end - start
    if (left < 0) throw new Error('The video has too much of an index.')
    const { buffer, bytesRead } = await file.read(new Uint8Array(end - start), 0, end - start, start)
    return buffer.subarray(0, bytesRead)
  }
  const source = new CustomSource({ getSize: () => size, read, maxCacheSize: CacheBytes })
  const input = new Input({ source, formats: [MP4, QTFF, WEBM] })
  const { mimeType } = await input.getFormat()
  const video = await input.getPrimaryVideoTrack()
  if (!video) throw new Error('There is no picture in it.')
  process.stdout.write(JSON.stringify({ mime: mimeType, ...(await sizeOf(video)), seconds: await secondsOf(input) }))
  process.exit(0)
}

async function sizeOf(video: InputVideoTrack): Promise<Pick<Probed, 'width' | 'height'>> {
  return { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() }
}

// Some recorders do not write the length: then we look for the end of the last frame.
async function secondsOf(input: Input): Promise<number> {
  return (await input.getDurationFromMetadata()) || (await input.computeDuration())
}

main(process.argv[2]!).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
})
