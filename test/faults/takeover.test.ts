import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { isPastGrace } from '../../jobs/monitoring/presence.ts'
import { times } from '../../jobs/timeouts-and-delays.ts'
import { until } from '../processes.ts'
import { kinds } from '../stand-ins/fake-network.ts'
import { assertInvariants } from './invariants.ts'
import { leasesOf, oneOfEach, ownWorld, untilTakenUp } from './play.ts'

// At the times of production: how soon another worker takes over the sends of one that failed. Prints the goal; the
// limit is ten times the goal.

describe.concurrent('another worker takes over the sends of a failed worker', () => {
  for (const [signal, goalMs] of [
    ['SIGKILL', 3_000],
    ['SIGSTOP', 35_000],
  ] as const)
    test(`within ten times ${goalMs / 1000} s after ${signal}`, { timeout: 400_000 }, async (context) => {
      const w = await ownWorld(context)
      w.fake.behave = () => {} // never answers
      // No worker takes over anything for 30 s after PostgreSQL started.
      await until(async () => (await w.db.execute(sql`select where ${isPastGrace(times)}`)).length === 1)
      const other = await w.worker({ timesFactor: 1 })
      other.kill('SIGSTOP') // alive, but claims nothing yet
      const victim = await w.worker({ timesFactor: 1 })
      await oneOfEach(w)
      await until(() => w.fake.received.length >= kinds.length)
      victim.kill(signal)
      const from = Date.now()
      const left = await leasesOf(w.db)
      expect(left).toHaveLength(kinds.length)
      other.kill('SIGCONT')
      await untilTakenUp(w.db, left, goalMs * 10)
      const tookMs = Date.now() - from
      process.stdout.write(`Taken up after ${signal}: ${tookMs} ms, of ${goalMs}\n`)
      victim.kill('SIGKILL')
      await assertInvariants(w, { lostAfterMs: 60_000 })
    })
})
