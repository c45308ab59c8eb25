import { TRPCError } from '@trpc/server'
import type express from 'express'
import { credentialIn } from '../access/credentials.ts'
import type { Installation } from '../access/trpc.ts'
import { problemFrom } from '../errors.ts'
import { discardRest } from '../http/request-body.ts'
import { stateOf } from '../http/request-state.ts'

type Request = express.Request
type Response = express.Response

/** Answer `error` as application/problem+json (RFC 9457). The details of our own errors go only to the log. */
export function sendProblem({ env }: Pick<Installation, 'env'>, req: Request, res: Response, error: unknown): void {
  if (res.writableEnded) return // it waited too long, and was told so (waiting.ts)
  if (isBrokenOff(error, req)) return void disconnect(req, res)
  const { status, code, title, detail, errors, retryAfterSeconds } = problemFrom(error)
  stateOf(res).problem = code
  if (status >= 500) req.log.error({ err: error }, 'request failed')
  if (res.headersSent) return void res.destroy()
  if (status === 401) res.set('WWW-Authenticate', challenge(env.baseUrl, req))
  if (code === 'insufficient_scope') res.set('WWW-Authenticate', scopeChallenge(stateOf(res).scope!))
  if (retryAfterSeconds !== null) res.set('Retry-After', String(retryAfterSeconds))
  const type = `${env.appUrl}/docs/errors#${code}`
  const body = { type, title, status, detail, code, requestId: req.id, errors }
  if (!req.complete) discardRest(req)
  res.status(status).type('application/problem+json').end(JSON.stringify(body))
}

// The procedure asks for the body, and tRPC wraps what it meets there.
function isBrokenOff(error: unknown, { errored }: Request): boolean {
  return errored !== null && (error === errored || (error instanceof TRPCError && error.cause === errored))
}

// The body broke off: the caller is gone, and nothing of ours failed.
function disconnect(req: Request, res: Response): void {
  req.log.info('the caller went away')
  res.destroy()
}

function challenge(baseUrl: string, req: Request): string {
  const error = credentialIn(req.headers.authorization) ? ', error="invalid_token"' : ''
  return `Bearer realm="punctual"${error}, resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`
}

// RFC 6750 §3.1
function scopeChallenge(scope: string): string {
  return `Bearer realm="punctual", error="insufficient_scope", scope="${scope}"`
}
