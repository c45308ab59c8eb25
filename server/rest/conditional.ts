import type { IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'

/**
 * Whether the caller has `tag` already, as If-None-Match says: a weak comparison (RFC 9110 §13.1.2).
 *
 * Not req.fresh: `fetch` sends Cache-Control: no-cache with it, and would never get 304.
 */
export function isKnown({ headers }: IncomingMessage, tag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  return known.includes(tag) || known.includes('*')
}

/**
 * The versions that If-Match lists; nothing without the header or with `*`, which match every version (RFC 9110 §13.1.1).
 *
 * Unlike the RFC we accept weak tags: nginx weakens ours when it compresses a response. Throws `invalid_request` for a
 * tag without quotes: with 412, the caller would read the post again forever.
 */
export function ifMatchOf(req: IncomingMessage): { ifVersions?: number[] } {
  const header = req.headers['if-match']
  if (header === undefined || header.trim() === '*') return {}
  if (!/^\s*(W\/)?"[^"]*"\s*(,\s*(W\/)?"[^"]*"\s*)*$/.test(header)) {
    const message = 'Must be the ETag of a response, with its quotes: "3".'
    throw new Failure('invalid_request', { errors: [{ path: 'If-Match', code: 'invalid', message }] })
  }
  const tags = header.split(',').map((tag) => /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(tag)?.[1])
  return { ifVersions: tags.flatMap((version) => (version === undefined ? [] : [Number(version)])) }
}
