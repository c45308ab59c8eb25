import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isPassing } from '../../db/client.ts'
import type { Times } from '../durations.ts'

/**
 * Write down what is known: again and again while the database is away or too busy or a deadlock was lost, for `forMs`,
 * by default as long as a lease lasts, since others have taken over then. Throws what the last try did.
 */
export async function retryWrite<T>(
  { times, log }: { times: Times; log: Logger },
  write: () => Promise<T>,
  forMs = times.leaseMs,
): Promise<T> {
  const end = performance.now() + forMs
  let hasFailed = false // said once
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!isPassing(error) || performance.now() > end) throw error
      if (!hasFailed) log.warn({ err: error }, 'the database takes no writes: we try again each second')
      hasFailed = true
      await sleep(times.reaperMs)
    }
  }
}
