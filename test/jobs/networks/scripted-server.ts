import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = {
  route: string // 'POST /api/v1/statuses'
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
  json: () => Record<string, unknown>
}

export type Reply = { status?: number; headers?: Record<string, string>; body?: unknown } // a string is sent as it is

/** What a call gets: an answer, or a connection that breaks before the call is carried out or after it, or hangs after
 * it. */
export type Fate = Reply | 'reset before' | 'reset after' | 'silence after'

type Handler = (request: Received) => Reply

export type Scripted = {
  url: string
  received: Received[]
  /** The next calls of `route` get these, one each. */
  next: (route: string, ...fates: Fate[]) => void
  close: () => Promise<void>
}

/** Another company's server on loopback. `routes` are its normal answers ('GET /path', or 'GET /path/*'). Its `Date`
 * is `now`. */
export async function scripted(routes: Record<string, Handler>, now = () => new Date()): Promise<Scripted> {
  const received: Received[] = []
  const fates = new Map<string, Fate[]>()
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://server')
    const body = Buffer.concat(await request.toArray())
    const route = `${request.method} ${url.pathname}`
    const call = { route, query: url.searchParams, headers: request.headers, body, json: () => JSON.parse(`${body}`) }
    received.push(call)
    const handler = routes[route] ?? routes[Object.keys(routes).find((of) => isUnder(of, route)) ?? '']
    const fate = fates.get(route)?.shift()
    response.setHeader('date', now().toUTCString())
    if (typeof fate === 'object') return answer(response, fate)
    if (fate === 'reset before') return request.socket.resetAndDestroy()
    const reply = handler?.(call) ?? { status: 404, body: { error: 'Record not found' } }
    if (fate === 'reset after') request.socket.resetAndDestroy()
    else if (fate !== 'silence after') answer(response, reply)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    next: (route, ...more) => fates.set(route, [...(fates.get(route) ?? []), ...more]),
    close: () => {
      server.closeAllConnections()
      return new Promise((closed) => server.close(() => closed()))
    },
  }
}

const isUnder = (pattern: string, route: string) => pattern.endsWith('/*') && route.startsWith(pattern.slice(0, -1))

function answer(response: ServerResponse, { status = 200, headers = {}, body = '' }: Reply): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
    ...headers,
  })
  response.end(text)
}
