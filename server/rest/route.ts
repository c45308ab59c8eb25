import type express from 'express'
import { Failure } from '../errors.ts'
import { stateOf } from '../http/request-state.ts'
import { Prefix, type Route } from './endpoint.ts'
import { routes } from './routes.ts'

type Request = express.Request
type Response = express.Response
export type Routed = { route: Route; params: Record<string, string> }

/**
 * The route of the public API for a request, with the parameters of its path; or the refusal of a path or method that
 * does not exist. Sets `Allow` and the preflight headers, and `res.locals.route` for the metrics. It reads only the
 * request's first line.
 */
export function routeOf(req: Request, res: Response): Routed | Failure {
  if (pathAsSent(req).includes('//'))
    return new Failure('not_found', { detail: 'This path has two slashes in a row. Send only one.' })
  const steps = req.path.split('/', StepsAtMost)
  const matches = routes.flatMap((route) => {
    const params = match(route.path, steps)
    return params ? [{ route, params }] : []
  })
  if (matches.length === 0)
    return new Failure('not_found', { detail: "This path doesn't exist in the API. Check it against the reference." })
  // A literal path comes before one with a parameter: /media/upload-from-url is no media id.
  const fewest = Math.min(...matches.map(({ params }) => Object.keys(params).length))
  const candidates = matches.filter(({ params }) => Object.keys(params).length === fewest)
  stateOf(res).route = Prefix + candidates[0]!.route.path // for the metrics
  const method = req.method === 'HEAD' ? 'GET' : req.method
  const methods = candidates.flatMap(({ route }) =>
    route.method === 'get' ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
  )
  res.set('Allow', [...methods, 'OPTIONS'].join(', '))
  if (method === 'OPTIONS') {
    res.set('Access-Control-Allow-Methods', methods.join(', '))
    res.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, Idempotency-Key, If-Match')
    res.set('Access-Control-Max-Age', '7200') // seconds: what Chromium keeps at most
    return candidates[0]!
  }
  const found = candidates.find(({ route }) => route.method === method.toLowerCase())
  if (!found) return new Failure('method_not_allowed', { detail: `This path accepts ${methods.join(', ')}.` })
  res.removeHeader('Allow')
  return found
}

/** The path of a request as it was sent, less the query. A target may be a whole address too (RFC 9112 §3.2.2). */
export function pathAsSent({ originalUrl }: Request): string {
  return originalUrl.replace(/^\w+:\/\/[^/?]*/, '').split('?', 1)[0]!
}

const StepsAtMost = 1 + Math.max(...routes.map(({ path }) => path.split('/').length)) // more fit no route

function match(pattern: string, given: string[]): Record<string, string> | null {
  const wanted = pattern.split('/')
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [i, step] of wanted.entries()) {
    if (step.startsWith(':') && given[i]) params[step.slice(1)] = given[i]
    else if (step !== given[i]) return null
  }
  return params
}
