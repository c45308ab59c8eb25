import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Somebody else's server on a port of localhost: it answers everything with a page or a redirect, and remembers what it was asked for. */
export async function aSite(answer: (request: IncomingMessage) => { body?: string; location?: string }) {
  const asked: string[] = []
  const server: Server = createServer((request, response) => {
    if (request.url !== '/favicon.ico') asked.push(`${request.method} ${request.url}`)
    const { body = '', location } = answer(request)
    response.writeHead(location ? 302 : 200, { 'content-type': 'text/html', ...(location ? { location } : {}) })
    response.end(body)
  }).listen(0)
  server.unref()
  await once(server, 'listening')
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, asked }
}
