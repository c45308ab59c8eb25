import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below those that Linux gives to who asks for any (ip_local_port_range): one of these may be somebody else's by the time that
// whoever it was chosen for starts, or starts anew.
const First = 10_000
const End = 32_768

/** A port of loopback that nobody listens on just now, and that nobody is given who does not name it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(First, End)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port)
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (isListening) await new Promise((closed) => server.close(closed))
  return isListening
}
