import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Aborted when the caller disconnects before the whole response is sent.
 *
 * Of the connection and not of the answer: of several requests sent in one go, only the first has a tie to it.
 */
export function untilGone({ socket }: IncomingMessage, res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const leave = () => gone.abort()
  if (socket.destroyed) leave()
  socket.once('close', leave)
  res.once('finish', () => socket.off('close', leave))
  return gone.signal
}
