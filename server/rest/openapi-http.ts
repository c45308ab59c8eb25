import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type express from 'express'
import type { Env } from '../../db/env.ts'
import { isKnown } from './conditional.ts'
import { openApi } from './openapi.ts'

/** Answers the OpenAPI document, which stays the same while the process runs: compressed where the caller takes that, 304 where they have it. */
export function documentAnswer(
  env: Pick<Env, 'appUrl' | 'baseUrl'>,
): (req: express.Request, res: express.Response) => void {
  const plain = Buffer.from(JSON.stringify(openApi(env)))
  const zipped = gzipSync(plain)
  const digest = createHash('sha256').update(plain).digest('base64url')
  return (req, res) => {
    const isZipped = req.acceptsEncodings('gzip', 'identity') === 'gzip'
    // Each encoding is a representation with a tag of its own (RFC 9110 §8.8.3.3)
    const tag = `"${digest}${isZipped ? '-gzip' : ''}"`
    res.set({ 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: tag })
    if (isKnown(req, tag)) return void res.status(304).end()
    if (isZipped) res.set('Content-Encoding', 'gzip')
    const body = isZipped ? zipped : plain
    res.status(200).type('application/json').set('Content-Length', String(body.length)).end(body)
  }
}
