import type { IncomingMessage, ServerResponse } from 'node:http'
import { matchRoutes } from '@remix-run/react'
import { Histogram, type Registry } from 'prom-client'
import { type Measured, processMetrics } from '../../jobs/monitoring/metrics.ts'
import { stateOf } from '../http/request-state.ts'
import { Prefix } from '../rest/endpoint.ts'
import { routes } from '../rest/routes.ts'

/** Remix's table of its routes, by their ids. */
type PageRoute = { id: string; parentId?: string; path?: string; index?: boolean; module?: { action?: unknown } }
type PageRoutes = Record<string, PageRoute | undefined>
type Tree = Parameters<typeof matchRoutes>[0]

/** `watch` is Express middleware and comes first. A handler without its own Express route sets `res.locals.route`. */
export type WebMetrics = {
  registry: Registry
  watch: (req: IncomingMessage, res: ServerResponse, next: () => void) => void
}

const DurationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS'] // what we serve; any other is `other`
const CallerGone = 499 // nginx's status for a caller who disconnected before the response

/** The metrics of a web process: the duration of each request by its route's pattern, and those of every process. */
export function webMetrics(measured: Measured, pages: PageRoutes): WebMetrics {
  const registry = processMetrics(measured)
  const durations = new Histogram({
    name: 'punctual_http_request_duration_seconds',
    help: "Time from a request's arrival to the end of its response, without health checks",
    labelNames: ['method', 'route', 'status'],
    buckets: DurationSeconds,
    registers: [registry],
  })
  const tree = treeOf(pages)
  // From the start, or Prometheus would not see the first failures of a route as an increase.
  for (const [method, route] of [...others, ...ofApi(), ...ofPages(pages)])
    durations.zero({ method, route, status: '5xx' })
  const watch: WebMetrics['watch'] = (req, res, next) => {
    const begun = performance.now()
    res.once('close', () => {
      const route = routeOf(req as Routed, res, tree)
      if (route === '/livez' || route === '/readyz') return
      const method = methods.includes(req.method ?? '') ? req.method! : 'other'
      const status = `${Math.floor((res.writableFinished ? res.statusCode : CallerGone) / 100)}xx`
      durations.observe({ method, route, status }, (performance.now() - begun) / 1000)
    })
    next()
  }
  return { registry, watch }
}

type MethodAndRoute = [method: string, route: string]

// Routes that are neither in the table of the API nor a page.
const others: MethodAndRoute[] = [
  ['GET', 'static'],
  ['GET', 'unknown'],
  ['GET', '/files/:key'],
  ['POST', '/media'],
  ...['token', 'revoke', 'introspect'].map((name): MethodAndRoute => ['POST', `/oauth/${name}`]),
  ...['authorization-server', 'protected-resource'].map(
    (name): MethodAndRoute => ['GET', `/.well-known/oauth-${name}`],
  ),
]

function ofApi(): MethodAndRoute[] {
  return routes.map(({ method, path }) => [method.toUpperCase(), Prefix + path])
}

function ofPages(pages: PageRoutes): MethodAndRoute[] {
  return Object.values(pages).flatMap((page): MethodAndRoute[] => {
    const pattern = page ? patternOf(page, pages) : ''
    if (!page || pattern.endsWith('*')) return []
    return [['GET', `/${pattern}`], ...(page.module?.action ? [['POST', `/${pattern}`] as MethodAndRoute] : [])]
  })
}

function patternOf({ path, parentId }: PageRoute, pages: PageRoutes): string {
  const parent = parentId === undefined ? undefined : pages[parentId]
  return [parent ? patternOf(parent, pages) : '', path ?? ''].filter(Boolean).join('/')
}

type Routed = IncomingMessage & { originalUrl: string; route?: { path: string } }

// Never the path itself: a scanner would make a series of each.
function routeOf({ originalUrl, route }: Routed, res: ServerResponse, pages: Tree): string {
  const named = stateOf(res).route
  if (named) return named
  if (!route) return 'unknown'
  return route.path === '*' ? pageOf(originalUrl, pages) : route.path
}

function pageOf(url: string, pages: Tree): string {
  const matches = matchRoutes(pages, { pathname: url.split('?')[0] ?? '' }) ?? []
  const pattern = matches.flatMap(({ route }) => (route.path ? [route.path] : [])).join('/')
  return matches.length === 0 || pattern.endsWith('*') ? 'unknown' : `/${pattern}`
}

function treeOf(pages: PageRoutes, parentId?: string): Tree {
  return Object.values(pages).flatMap((page) => {
    if (!page || page.parentId !== parentId) return []
    const { id, path, index } = page
    return [{ id, path, ...(index ? { index } : { children: treeOf(pages, id) }) } as Tree[number]]
  })
}
