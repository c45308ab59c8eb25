import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Deps } from '../deps.ts'
import { claimHeads, type Late, putAside } from '../ledger/claim.ts'
import type { ClaimedDelivery } from '../ledger/ledger.ts'
import type { Payloads } from '../ledger/wake-ups.ts'
import { Dispatch } from './dispatch.ts'
import { batchWrites, deliver, type Gate } from './publish.ts'

/** The channels that a worker has been woken for: the head of each is claimed, then sent, `concurrency` at once. */
export type Sends = Dispatch<ClaimedDelivery | Late>

/** Begin to send. `gate` holds what is under way. */
export function openSends(deps: Deps, concurrency: number, gate: Gate): Sends {
  const writes = batchWrites(deps)
  return new Dispatch({
    concurrency,
    log: deps.log,
    claim: (channelIds) => claimHeads(deps.db, deps.times, deps.owner, channelIds),
    perform: (delivery: ClaimedDelivery | Late) =>
      'lateOn' in delivery ? leaveLate(deps, delivery.lateOn) : deliver(deps, writes, gate, delivery),
  })
}

/** Task `publish`: a wake-up names a delivery, and wakes its channel. Wake-ups of an older version name only the delivery. */
export async function wakeChannelOf(
  { db, at }: Deps,
  sends: Sends,
  wakeUp: Partial<Payloads['publish']>,
): Promise<void> {
  at('woken')
  const { deliveryId, channelId, network } = wakeUp
  if (channelId && network) return sends.wake(channelId, network)
  const [channel] = await db.execute<{ id: string; network: string }>(sql`
    select c.id, c.network from deliveries d join channels c on c.id = d.channel_id where d.id = ${deliveryId}`)
  if (channel) sends.wake(channel.id, channel.network)
}

// Putting late deliveries aside takes a place of its own: no other channel's claim waits for it.
async function leaveLate({ db, times, log }: Deps, channelId: string): Promise<void> {
  try {
    await putAside(db, times, channelId)
  } catch (error) {
    log.warn({ err: error, channel: channelId }, 'late deliveries could not be put aside: we try again')
    await sleep(times.reaperMs)
  }
}
