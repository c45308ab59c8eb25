import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below Linux's ip_local_port_range: the system never assigns these by itself, so no other process takes one before
// its owner starts or restarts. Above 10080, which fetch() refuses.
const First = 10_100
const End = 32_768

/** A loopback port that is free now and that the system does not assign. */
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
