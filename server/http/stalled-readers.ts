import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const StalledMs = 60_000

/**
 * Cut off callers who read nothing of an answer that waits for them: it takes memory. Node looks once a minute if any byte
 * of it has gone, so they have two minutes at most. A slow reader is not cut off, and neither is long work.
 */
export function cutStalledReaders(server: Server): void {
  const busy = new Map<Socket, number>() // how many requests of a connection are not answered yet
  server.on('request', ({ socket }, res) => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1)
    res.once('close', () => {
      const left = busy.get(socket)! - 1
      if (left === 0) busy.delete(socket)
      else busy.set(socket, left)
    })
  })
  server.setTimeout(StalledMs, (socket: Socket) => {
    const isAtWork = busy.has(socket) && socket.writableLength === 0
    if (!isAtWork) socket.destroy() // also a connection that is kept open for too long
  })
}
