import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { connect, listen } from '../db/client.ts'
import type { Outage } from './outage.ts'
import { DueChanged, ring } from './queue.ts'
import type { Times } from './times.ts'

const AlarmLock = 70_037
// A timer may fire a moment early, and a job that is not due yet would wait for the next poll.
const GraceMs = 2

type Told = { times: Times; outage: Outage; log: Logger }

/**
 * Ring at the very instant of the next due delivery, so that workers need not poll to be on time.
 *
 * Every worker process runs one; a session lock lets one at a time in the installation work, and another take over when
 * it is gone. Without any, everything still goes out at the poll's pace. Ends when `signal` is aborted.
 */
export async function alarm(databaseUrl: string, { times, outage, log }: Told, signal: AbortSignal): Promise<void> {
  const { db, end } = connect(databaseUrl, { connections: 1, name: 'alarm' }) // one: the lock is its session's
  const nap = new Nap()
  let listening: Awaited<ReturnType<typeof listen>> | null = null
  signal.addEventListener('abort', () => nap.wake())
  let rung = new Date(0).toISOString()
  while (!signal.aborted) {
    let waitMs = times.alarmMs
    try {
      listening ??= await listen(databaseUrl, DueChanged, () => nap.wake())
      const [next] = await db.execute<{ mine: boolean; now: string; inMs: number | null }>(sql`
        select ${isMine} as mine, date_trunc('milliseconds', clock_timestamp())::text as now,
          extract(epoch from at - clock_timestamp())::float8 * 1000 as "inMs"
        from (select min(ready_at) as at from deliveries where state = 'scheduled' and ready_at > ${rung}) next`)
      if (next?.mine && next.inMs !== null) {
        if (next.inMs <= 0) {
          await ring(db)
          rung = next.now // one ring for all that is due by now
          continue
        }
        waitMs = Math.min(waitMs, next.inMs + GraceMs)
      }
    } catch (error) {
      if (!outage.hasBegunWith(error)) log.warn({ err: error }, 'the alarm cannot read what is due')
    }
    await nap.sleep(waitMs)
  }
  await Promise.all([listening?.end(), end()])
}

// Held already, or taken now: asked anew each time, since a connection that was lost came back without it.
const isMine = sql`(
  exists (select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory' and classid::bigint = ${AlarmLock})
  or pg_try_advisory_lock(${AlarmLock}, 0))`

/** A sleep that can be cut short, also by a call that came just before it. */
class Nap {
  #wake: (() => void) | null = null
  #woken = false

  wake(): void {
    this.#woken = true
    this.#wake?.()
  }

  async sleep(ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms)
        this.#wake = () => {
          clearTimeout(timer)
          done()
        }
      })
    }
    this.#wake = null
    this.#woken = false
  }
}
