import { createServer, type Server } from 'node:http'

/** What a worker says of itself: null when all is well, or why it is not, in words for the operator. */
export type Health = { notLive: () => string | null; notReady: () => Promise<string | null> }

/** Serve `/livez` and `/readyz` on `port` (0: any free one). Resolves when it listens. */
export function serveHealth(port: number, { notLive, notReady }: Health): Promise<Server> {
  const server = createServer(async (req, res) => {
    const path = req.url?.split('?')[0]
    if (path !== '/livez' && path !== '/readyz') return void res.writeHead(404).end()
    const why = path === '/livez' ? notLive() : await notReady()
    res.writeHead(why ? 503 : 200, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
    res.end(why ? `${path.slice(1)}: ${why}\n` : 'ok\n')
  })
  return new Promise((done, fail) => server.once('error', fail).listen(port, () => done(server)))
}
