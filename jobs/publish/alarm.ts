import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import { connect, type Db, listen } from '../../db/client.ts'
import { DueChanged, ring } from '../ledger/wake-ups.ts'
import type { Outage } from '../monitoring/outage.ts'
import type { Times } from '../timeouts-and-delays.ts'
import type { Waiting } from './dispatch.ts'

const AlarmLock = 70_037
// A timer may fire slightly early, and a job that is not due yet would wait for the next poll.
const GraceMs = 2

type Due = Waiting & { at: string; inMs: number; isAlone: boolean }

/** `onDue` is called with a channel that is due. It returns whether its own worker starts with it at once. */
type Told = { times: Times; outage: Outage; log: Logger; onDue: (channel: Waiting) => boolean }

/**
 * Ring exactly when the next delivery is due, so that workers need not poll to be on time. A ring is not needed if only
 * one delivery is due and the alarm's own worker has a free place for it.
 *
 * Every worker process runs an alarm. A session lock lets only one in the installation work, and another one takes over
 * when it is gone. Without an alarm, posts still go out at the next poll. Ends when `signal` is aborted.
 */
export async function alarm(
  databaseUrl: string,
  { times, outage, log, onDue }: Told,
  signal: AbortSignal,
): Promise<void> {
  const { db, end } = connect(databaseUrl, { connections: 1, name: 'alarm', plans: 'fresh' }) // one: it holds the lock
  const nap = new Nap()
  let listening: Awaited<ReturnType<typeof listen>> | null = null
  signal.addEventListener('abort', () => nap.wake())
  let rung = new Date(0).toISOString()
  while (!signal.aborted) {
    let waitMs = times.alarmMs
    let coming: Due | null = null
    try {
      listening ??= await listen(databaseUrl, DueChanged, () => nap.wake())
      const [next] = await nextDue(db, rung)
      if (next?.mine && next.inMs !== null) {
        if (next.inMs <= 0) {
          await ring(db)
          rung = next.now // one ring for everything that is due now
          continue
        }
        if (next.inMs + GraceMs < waitMs) {
          waitMs = next.inMs + GraceMs
          coming = next
        }
      }
    } catch (error) {
      if (!outage.hasBegunWith(error)) log.warn({ err: error }, 'the alarm could not read the next due time')
    }
    const hasCome = await nap.sleep(waitMs)
    if (coming && hasCome && onDue(coming) && coming.isAlone) rung = coming.at
  }
  await Promise.all([listening?.end(), end()])
}

function nextDue(db: Db, rung: string) {
  return db.execute<{ mine: boolean; now: string } & (Due | { inMs: null })>(sql`
    select ${isMine} as mine, date_trunc('milliseconds', clock_timestamp())::text as now,
      ready_at::text as at, extract(epoch from ready_at - clock_timestamp())::float8 * 1000 as "inMs", "isAlone", id, network
    from (select) as one left join lateral (
      select d.ready_at, c.id, c.network, not exists (
        select from deliveries o where o.state = 'scheduled' and o.ready_at = d.ready_at and o.id <> d.id) as "isAlone"
      from (
        select id, channel_id, ready_at from deliveries where state = 'scheduled' and ready_at > ${rung} order by ready_at limit 1) d
      join channels c on c.id = d.channel_id) next on true`)
}

// We hold the lock already, or take it now. We ask each time, because a lost connection comes back without its lock.
const isMine = sql`(
  exists (select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory' and classid::bigint = ${AlarmLock})
  or pg_try_advisory_lock(${AlarmLock}, 0))`

/** A sleep that `wake` cuts short, also if `wake` was called just before it. */
class Nap {
  #wake: (() => void) | null = null
  #woken = false

  wake(): void {
    this.#woken = true
    this.#wake?.()
  }

  /** Returns whether the sleep reached its end. */
  async sleep(ms: number): Promise<boolean> {
    if (!this.#woken) {
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms)
        this.#wake = () => {
          clearTimeout(timer)
          done()
        }
      })
    }
    const isCutShort = this.#woken
    this.#wake = null
    this.#woken = false
    return !isCutShort
  }
}
