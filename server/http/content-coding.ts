import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Coding = 'br' | 'gzip'

const Offered = ['br', 'gzip', 'identity'] as const // of those that the caller likes equally, the first
const HeaderLength = 300 // browsers send about 30 characters; of a longer header nothing is read
const Item = /^\s*([\w*-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/

/**
 * The content coding to answer with, as Accept-Encoding weighs them (RFC 9110 §12.5.3). Null: send the answer plain, also
 * if the header accepts nothing that we have.
 *
 * Not req.acceptsEncodings: browsers name gzip before br with the same weight, and would never get the smaller one.
 */
export function codingFor({ headers }: Pick<IncomingMessage, 'headers'>): Coding | null {
  const header = String(headers['accept-encoding'] ?? '').toLowerCase()
  if (header === '' || header.length > HeaderLength) return null
  const weights = weightsIn(header)
  const weightOf = (name: string) =>
    weights.get(name) ?? weights.get('*') ?? (name === 'identity' ? Number.MIN_VALUE : 0)
  const best = Offered.reduce((best, name) => (weightOf(name) > weightOf(best) ? name : best))
  return best === 'identity' || weightOf(best) === 0 ? null : best
}

function weightsIn(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const item of header.split(',')) {
    const [, name, weight = '1'] = Item.exec(item) ?? []
    if (name) weights.set(name.replace(/^x-gzip$/, 'gzip'), Math.min(Number(weight), 1))
  }
  return weights
}

const asGzip = promisify(gzip)
const asBrotli = promisify<Uint8Array, object, Buffer>(brotliCompress)
// As fast as gzip's default and a tenth smaller. The window is as large as a page: the default takes 8 MB for each answer.
const BrotliParams = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 17 }

/** Compress a whole answer in a thread of its own, so that other requests continue. */
export function compressed(coding: Coding, bytes: Uint8Array): Promise<Buffer> {
  return coding === 'br' ? asBrotli(bytes, { params: BrotliParams }) : asGzip(bytes)
}
