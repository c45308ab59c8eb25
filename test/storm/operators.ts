import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { type Db, isDatabaseAway } from '../../db/client.ts'
import type { Reach } from '../../jobs/ledger/pause.ts'
import { goOnSending, stopSending } from '../../server/operations/pauses.ts'
import type { Chance } from './chance.ts'
import type { Org } from './people.ts'

/** What an operator stopped: from when they were told that it is until they asked for it to go on. */
export type Stop = { reach: Reach; from: number; until: number }

const LongestMs = 3000

/** An operator who now and then stops a channel, a network or everything for a moment, one after the other. */
export function openOperator({ db, orgs, chance }: { db: Db; orgs: Org[]; chance: Chance }) {
  const here = { db, networks: {} }
  const operator = { id: null, name: 'An operator' }
  const stops: Stop[] = []
  let busy: Promise<void> | null = null

  async function stopForAMoment(): Promise<void> {
    const channel = chance.of(chance.of(orgs).channels)
    const reach = chance.of<Reach>([
      { scope: 'all' },
      { scope: 'network', name: channel.network },
      { scope: 'channel', id: channel.id },
    ])
    await insist(() => stopSending(here, operator, reach))
    const from = Date.now()
    await sleep(chance.between(0, LongestMs))
    stops.push({ reach, from, until: Date.now() })
    await insist(() => goOnSending(here, operator, reach))
  }

  return {
    stops,
    /** Unless they are at it. What fails is heard of in `calm`. */
    turn(): void {
      if (busy) return
      busy = stopForAMoment().then(() => {
        busy = null
      })
      busy.catch(() => {})
    },
    /** Resolves when nothing is stopped any more. */
    calm: async () => await busy,
  }
}

async function insist(run: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await run()
      return
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      await sleep(100)
    }
  }
}

/** The sends that were begun while somebody had been told that nothing is sent there, in words. */
export async function begunWhileStopped(db: Db, stops: Stop[], clockMs: number): Promise<string[]> {
  const begun = await db.execute<{ id: string; at: number; channelId: string; network: string }>(sql`
    select a.delivery_id as id, extract(epoch from a.intended_at)::float8 * 1000 as at, c.id as "channelId", c.network
    from attempts a join deliveries d on d.id = a.delivery_id join channels c on c.id = d.channel_id where a.intended_at is not null`)
  const isWithin = (reach: Reach, { channelId, network }: (typeof begun)[0]) =>
    reach.scope === 'all' || (reach.scope === 'network' ? reach.name === network : reach.id === channelId)
  return stops.flatMap(({ reach, from, until }) =>
    [...begun]
      .filter((one) => isWithin(reach, one) && one.at > from + clockMs && one.at < until - clockMs)
      .map(({ id, at }) => `begun ${Math.round(at - from)} ms after ${JSON.stringify(reach)} was stopped: ${id}`),
  )
}
