import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'
import { withoutParameters } from '../../db/log.ts'
import { type KnownCaller, stateOf } from './request-state.ts'

/** A line in `log` for each request, with the request id of its response, the caller and the problem. */
export function requestLog(log: Logger) {
  return pinoHttp({
    logger: log,
    genReqId,
    serializers,
    customProps,
    autoLogging: { ignore: isUninteresting },
    customLogLevel,
  })
}

/**
 * Add the caller to every further log line of the request. `caller` is an actor, or an app that sent its
 * secret to an OAuth endpoint; its organisation is then the one that made it.
 */
export function noteCaller(req: IncomingMessage, res: ServerResponse, caller: KnownCaller): void {
  stateOf(res).caller = caller
  req.log = req.log.child(whoIs(caller))
}

function whoIs({ organisationId, kind, id }: KnownCaller) {
  return { organisation: organisationId, [kind]: id }
}

// No headers and no query: headers hold credentials, and the query holds codes and states of OAuth.
const serializers = {
  req: ({ id, method, url }: { id: string; method: string; url: string }) => ({ id, method, path: url.split('?')[0] }),
  res: ({ statusCode }: { statusCode: number }) => ({ status: statusCode }),
  err: withoutParameters,
}

function customProps(_req: IncomingMessage, res: ServerResponse) {
  const { caller, problem } = stateOf(res)
  return { ...(caller && whoIs(caller)), problem }
}

function genReqId(_req: IncomingMessage, res: ServerResponse): string {
  const id = randomUUID()
  res.setHeader('X-Request-Id', id)
  return id
}

function isUninteresting({ url = '' }: IncomingMessage): boolean {
  return /^\/(livez|readyz|build\/)/.test(url)
}

function customLogLevel(_req: IncomingMessage, res: ServerResponse, error?: Error): 'error' | 'info' {
  return error || res.statusCode >= 500 ? 'error' : 'info'
}
