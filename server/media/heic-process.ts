import { readFile } from 'node:fs/promises'
import libheif from 'libheif-js/wasm-bundle.js'

// A separate process that decodes one HEIC photo (heic.ts). It can read nothing else, and exits after its answer: a line of
// JSON, then three bytes a pixel.

const PixelsAtMost = 25_000_000 // most phones take 24 megapixels; decoding takes 12 bytes each
const ProfileBytesAtMost = 60_000

export type Decoded = { width: number; height: number; profile: string } // base64, of its colours; empty without one

async function main(path: string): Promise<void> {
  const file = await readFile(path)
  const images = new libheif.HeifDecoder().decode(file)
  const image = images.find((one) => one.is_primary()) ?? images[0]
  if (!image) throw new Error('There is no picture in it.')
  const [width, height] = [image.get_width(), image.get_height()]
  if (width * height > PixelsAtMost) return answer({ width, height, profile: '' }, new Uint8ClampedArray())
  const data = new Uint8ClampedArray(width * height * 4)
  await new Promise<void>((done, fail) => {
    image.display({ data, width, height }, (shown) => (shown ? done() : fail(new Error('It cannot be decoded.'))))
  })
  answer({ width, height, profile: profileOf(file).toString('base64') }, withoutAlpha(data))
}

function answer(decoded: Decoded, pixels: Uint8ClampedArray): void {
  process.stdout.write(`${JSON.stringify(decoded)}\n`)
  process.stdout.write(new Uint8Array(pixels.buffer, pixels.byteOffset, pixels.length), () => process.exit(0))
}

// In place: there is no memory for a second copy.
function withoutAlpha(data: Uint8ClampedArray): Uint8ClampedArray {
  const pixels = data.length / 4
  for (let at = 0; at < pixels; at++) {
    data[at * 3] = data[at * 4]!
    data[at * 3 + 1] = data[at * 4 + 1]!
    data[at * 3 + 2] = data[at * 4 + 2]!
  }
  return data.subarray(0, pixels * 3)
}

// The decoder does not give the ICC profile: it is what the box `colr` of the type `prof` holds (ISO/IEC 14496-12 §12.1.5).
function profileOf(file: Buffer): Buffer {
  const at = file.indexOf('colrprof')
  if (at < 4) return Buffer.alloc(0)
  const profile = file.subarray(at + 8, at - 4 + file.readUInt32BE(at - 4))
  return profile.length > ProfileBytesAtMost ? Buffer.alloc(0) : profile
}

main(process.argv[2]!).catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
})
