import { createHash } from 'node:crypto'
import type express from 'express'
import type { Env } from '../../db/env.ts'
import { type Coding, codingFor, compressed } from '../http/content-coding.ts'
import { isKnown } from './conditional.ts'
import { openApi } from './openapi.ts'

/** Answers the OpenAPI document, which stays the same while the process runs: compressed where the caller takes that, 304 where they have it. */
export function documentAnswer(
  env: Pick<Env, 'appUrl' | 'baseUrl'>,
): (req: express.Request, res: express.Response) => Promise<void> {
  const plain = Buffer.from(JSON.stringify(openApi(env)))
  const digest = createHash('sha256').update(plain).digest('base64url')
  const made: { [coding in Coding]?: Promise<Buffer> } = {}
  return async (req, res) => {
    const coding = codingFor(req)
    // Each encoding is a representation with a tag of its own (RFC 9110 §8.8.3.3)
    const tag = `"${digest}${coding ? `-${coding}` : ''}"`
    res.set({ 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: tag })
    if (isKnown(req, tag)) return void res.status(304).end()
    if (coding) made[coding] ??= compressed(coding, plain)
    const body = coding ? await made[coding]! : plain
    if (coding) res.set('Content-Encoding', coding)
    res.status(200).type('application/json').set('Content-Length', String(body.length)).end(body)
  }
}
