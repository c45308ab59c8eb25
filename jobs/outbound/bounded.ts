import { cleared } from '../../db/files/gc-stream.ts'

/** How many bytes a body may have: a number, or decided by its beginning (4,100 bytes, fewer only if it ends there). */
export type BytesAtMost = number | ((head: Uint8Array) => Promise<number>)

const HeadBytes = 4100 // what file-type needs

/** Pass on `source` as it comes. If it has too many bytes, throw what `tooLarge` makes of the limit. */
export async function* bounded(
  source: AsyncIterable<Uint8Array>,
  atMost: BytesAtMost,
  tooLarge: (bytes: number) => Error,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array[] | null = typeof atMost === 'number' ? null : []
  let most = typeof atMost === 'number' ? atMost : Number.POSITIVE_INFINITY // until the head is there: it is small
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
 * Called with the number of bytes so far, before the last of them are passed on, and with the announced total, if any.
 * If it throws, the reading ends.
 */
export type Reserve = (bytes: number, expected?: number) => Promise<void>

/** Pass on `source` as it comes, each piece after `reserve` has made room for all bytes so far. */
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
