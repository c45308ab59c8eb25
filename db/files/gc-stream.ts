import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CollectEveryBytes = 8 * 1024 * 1024

/**
 * Yields the pieces of `source` unchanged and frees the memory of earlier pieces.
 *
 * Each piece is 64 KB outside V8's heap, behind an object of a few bytes in the heap. V8 alone collects them only when
 * there are 64 to 90 MB. A collection of young objects takes a millisecond.
 */
export async function* cleared(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes >= CollectEveryBytes) {
      bytes = 0
      collectYoung()
    }
    yield piece
  }
}

const collectYoung = youngCollector()

function youngCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void
  setFlagsFromString('--no-expose-gc')
  return () => collect({ type: 'minor' })
}
