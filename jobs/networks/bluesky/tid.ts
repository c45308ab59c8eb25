import { randomInt } from 'node:crypto'

const Alphabet = '234567abcdefghijklmnopqrstuvwxyz' // sorts as it counts
let lastMicroseconds = 0

/** A timestamp identifier, which a Bluesky record key has to be. https://atproto.com/specs/tid: 53 bits µs, 10 bits at random. */
export function mintTid(): string {
  // The sub-millisecond part is at random as well: two processes that mint in one millisecond would meet on 10 bits.
  lastMicroseconds = Math.max(lastMicroseconds + 1, Date.now() * 1000 + randomInt(1000))
  let rest = (BigInt(lastMicroseconds) << 10n) | BigInt(randomInt(1024))
  let tid = ''
  for (let place = 0; place < 13; place++) {
    tid = Alphabet[Number(rest & 31n)] + tid
    rest >>= 5n
  }
  return tid
}
