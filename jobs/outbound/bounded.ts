import { cleared } from '../../db/files/gc-stream.ts'

/** How many bytes a body may have: always the same, or as its beginning (of up to 4,100 bytes, shorter only if it ends) tells. */
export type BytesAtMost = number | ((head: Uint8Array) => Promise<number>)

const HeadBytes = 4100 // what file-type asks for

/** `source` as it comes, until it has more bytes than it may: then what `tooLarge` makes of the bound is thrown. */
export async function* bounded(
  source: AsyncIterable<Uint8Array>,
  atMost: BytesAtMost,
  tooLarge: (bytes: number) => Error,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array[] | null = typeof atMost === 'number' ? null : []
  let most = typeof atMost === 'number' ? atMost : Number.POSITIVE_INFINITY // for the moment: a head is small
  let bytes = 0
  for await (const chunk of cleared(source)) {
    bytes += chunk.length
    head?.push(chunk)
    if (head && bytes >= HeadBytes && typeof atMost === 'function') {
      most = await atMost(Buffer.concat(head).subarray(0, HeadBytes))
      head = null
    }
    if (bytes > most) throw tooLarge(most)
    yield chunk
  }
}

/**
 * Told how many bytes there are by now, before the last of them go on, and how many there will be if somebody said so.
 * What it throws ends the reading.
 */
export type Reserve = (bytes: number, expected?: number) => Promise<void>

/** `source` as it comes, each piece after room was made for all so far. */
export async function* reserved(
  source: AsyncIterable<Uint8Array>,
  reserve: Reserve = async () => {},
  expected?: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    await reserve(bytes, expected)
    yield chunk
  }
}
