import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Deps } from '../deps.ts'
import { claimHeads, type Late, putAside } from '../ledger/claim.ts'
import type { ClaimedDelivery } from '../ledger/ledger.ts'
import type { Payloads } from '../ledger/wake-ups.ts'
import { Dispatch } from './dispatch.ts'
import { batchWrites, deliver, type Gate } from './publish.ts'

/** The channels that a worker has been woken for. We claim and send the head of each, `concurrency` at once. */
export type Sends = Dispatch<ClaimedDelivery | Late>

/** Begin to send. `gate` holds the deliveries that are under way. */
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

/** Task `publish`: a wake-up names a delivery, and we wake its channel. Old wake-ups do not name the channel. */
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

// We put late deliveries aside in a separate place, so that the claims of other channels do not wait for it.
async function leaveLate({ db, times, log }: Deps, channelId: string): Promise<void> {
  try {
    await putAside(db, times, channelId)
  } catch (error) {
    log.warn({ err: error, channel: channelId }, 'could not put late deliveries aside: we try again')
    await sleep(times.reaperMs)
  }
}
