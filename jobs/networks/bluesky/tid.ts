import { randomInt } from 'node:crypto'

const Alphabet = '234567abcdefghijklmnopqrstuvwxyz' // in sort order
let lastMicroseconds = 0

/** A timestamp identifier for a Bluesky record key: 53 bits of µs, 10 random bits. https://atproto.com/specs/tid */
export function mintTid(): string {
  // The part below a millisecond is random too, or two processes in one millisecond would differ only by 10 bits.
  lastMicroseconds = Math.max(lastMicroseconds + 1, Date.now() * 1000 + randomInt(1000))
  let rest = (BigInt(lastMicroseconds) << 10n) | BigInt(randomInt(1024))
  let tid = ''
  for (let place = 0; place < 13; place++) {
    tid = Alphabet[Number(rest & 31n)] + tid
    rest >>= 5n
  }
  return tid
}
