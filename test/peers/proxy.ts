import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

const Sends = ['/api/v1/statuses', '/xrpc/com.atproto.repo.putRecord']

/** The way to a server, which loses things when it is told to. */
export type Proxy = AsyncDisposable & {
  url: string
  /**
   * Lose the next post that is sent: `request` never reaches the server, `answer` never comes back from it. Whoever
   * sent it waits on an open connection. Resolves when it is lost; all that follows passes.
   */
  loseNext: (what: 'request' | 'answer') => Promise<void>
}

/** A proxy on loopback to the server at `target`. */
export async function startProxy(target: string): Promise<Proxy> {
  let next: { what: 'request' | 'answer'; isLost: () => void } | null = null
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const isSend = incoming.method === 'POST' && Sends.includes(incoming.url ?? '')
    const losing = isSend ? next : null
    if (isSend) next = null
    if (losing?.what === 'request') return losing.isLost()
    const answer = await forward(target, incoming, body)
    const answered = await buffer(answer)
    if (losing) return losing.isLost()
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(answered)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseNext: (what) => new Promise((isLost) => (next = { what, isLost })),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function forward(target: string, { method, url, headers }: IncomingMessage, body: Buffer) {
  const path = new URL(url ?? '/', target)
  const agent = false // a connection kept from the last call may be one that the server is just closing
  const call = request(path, { method, headers: { ...headers, host: path.host }, agent })
  const [answer] = (await once(call.end(body), 'response')) as [IncomingMessage]
  return answer
}
