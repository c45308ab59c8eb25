import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A way to the tests' PostgreSQL that can be shut: connections break off, and new ones are refused. Or fall silent: nothing
 * more passes, and nobody hears that the connections are gone. `rewrite` changes what PostgreSQL says, not its length.
 */
export async function aDoor(url: string, rewrite = (bytes: Buffer) => bytes) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const deaf = new Set<Socket>()
  let isSilent = false
  const passes = (socket: Socket) => !isSilent && !deaf.has(socket)
  const server: Server = createServer((socket) => {
    const there = connect(Number(port), hostname)
    for (const [one, other] of [
      [socket, there],
      [there, socket],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => {})
        .on('data', (bytes) => void (passes(one) && other.write(one === there ? rewrite(bytes) : bytes)))
      one.on('close', () => sockets.delete(one) && passes(one) && other.destroy())
    }
  })
  const open = async (at: number) => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as { port: number }).port
  }
  const own = await open(0)
  const through = new URL(url)
  through.host = `127.0.0.1:${own}`
  return {
    url: through.href,
    open: () => open(own),
    /** The connections that there are fall silent; new ones pass. */
    deafen: () => {
      for (const socket of sockets) deaf.add(socket)
    },
    silence: () => {
      isSilent = true
    },
    shut: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
