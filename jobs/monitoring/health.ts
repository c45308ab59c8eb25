import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Registry } from 'prom-client'
import { listen, type Place } from './listen.ts'
import { sendMetrics } from './metrics.ts'

/** What a worker reports: null when it is healthy, or the reason why it is not, as text for the operator. */
export type Health = { notLive: () => string | null; notReady: () => string | null }

/** Serve a worker's `/livez`, `/readyz` and `/metrics`. Resolves when the server listens. */
export function serveHealth(place: Place, { notLive, notReady }: Health, registry: Registry): Promise<Server> {
  return serve(place, {
    '/livez': (res) => answer(res, 'livez', notLive()),
    '/readyz': (res) => answer(res, 'readyz', notReady()),
    '/metrics': (res) => sendMetrics(registry, res),
  })
}

/** Serve only `/metrics`, apart from the public pages. Resolves when the server listens. */
export function serveMetrics(place: Place, registry: Registry): Promise<Server> {
  return serve(place, { '/metrics': (res) => sendMetrics(registry, res) })
}

type Answers = Record<string, (res: ServerResponse) => void | Promise<void>>

function serve(place: Place, paths: Answers): Promise<Server> {
  const byPath = new Map(Object.entries(paths))
  const server = createServer((req, res) => {
    const found = byPath.get(req.url?.split('?')[0] ?? '')
    if (found) void found(res)
    else res.writeHead(404).end()
  })
  return listen(server, place)
}

function answer(res: ServerResponse, name: string, why: string | null): void {
  res.writeHead(why ? 503 : 200, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
  res.end(why ? `${name}: ${why}\n` : 'ok\n')
}
