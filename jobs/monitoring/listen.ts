import type { Server } from 'node:net'
import { InstallationError } from '../../db/embedded/installation.ts'

/** Where to listen. `port` 0: any free port. `setting`: the variable that sets the port. `host` null: every address. */
export type Place = { port: number; host: string | null; setting: 'PORT' | 'WORKER_PORT' | 'METRICS_PORT' }

const Loopback = '127.0.0.1'

/** Where we serve health and metrics, without a login: only on this machine, unless HOST is set. */
export function placeForOperators(setting: Place['setting'], port: number, host: string | null): Place {
  return { port, host: host ?? Loopback, setting }
}

/** Let `server` listen at `place`. Resolves when it listens. Throws InstallationError with the setting to change. */
export function listen<S extends Server>(server: S, place: Place): Promise<S> {
  const { port, host } = place
  return new Promise((done, fail) =>
    server
      .once('error', (error: NodeJS.ErrnoException) => fail(portError(error, place)))
      .listen({ port, ...(host ? { host } : {}) }, () => done(server)),
  )
}

function portError(error: NodeJS.ErrnoException, { port, host, setting }: Place): Error {
  const because = (sentence: string) => new InstallationError(sentence, { cause: error })
  switch (error.code) {
    case 'EADDRINUSE':
      return because(`Port ${port} is taken by another program: stop that one, or set ${setting}.`)
    case 'EACCES':
      return because(`This user may not open port ${port}: set ${setting} to one from 1024.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return because(`This machine has no address ${host}: set HOST to one that it has.`)
    default:
      return because(`Port ${port} cannot be opened: ${error.message}. Set ${setting}, or HOST.`)
  }
}
