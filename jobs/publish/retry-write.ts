import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isPassing } from '../../db/client.ts'
import type { Times } from '../timeouts-and-delays.ts'

/**
 * Record what we know. We retry for `forMs` while the database is away or too busy, or after we lost a deadlock. The
 * default is the length of a lease, because others have taken over then. Throws the error of the last try.
 */
export async function retryWrite<T>(
  { times, log }: { times: Times; log: Logger },
  write: () => Promise<T>,
  forMs = times.leaseMs,
): Promise<T> {
  const end = performance.now() + forMs
  let hasFailed = false // so that we log it once
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!isPassing(error) || performance.now() > end) throw error
      if (!hasFailed) log.warn({ err: error }, 'we could not record what happened; we retry each second')
      hasFailed = true
      await sleep(times.reaperMs)
    }
  }
}
