import type { NetworkSeen, PausedChannel } from '../../server/operations/operations.ts'
import { NetworkMark, networkName } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { useOperations } from './operations.ts'
import { OrderForm } from './order-form.tsx'

/** Each network with how much of it is under way, its bound and whether it is paused. */
export function Networks() {
  const { networks } = useOperations()
  return (
    <Card title="Networks">
      {networks.length === 0 ? <p className="text-sm text-muted">No worker has run yet.</p> : null}
      <ul className="-my-3 divide-y divide-line">
        {networks.map((network) => (
          <li key={network.name} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3">
            <NetworkShown network={network} />
          </li>
        ))}
      </ul>
      <p className="mt-5 text-sm text-muted">
        <code className="font-mono">npm run admin -- limit NETWORK N</code> bounds how many posts all workers together
        send to a network at once.
      </p>
    </Card>
  )
}

function NetworkShown({ network: { name, underWay, atOnce, pausedAt } }: { network: NetworkSeen }) {
  const id = `network-${name}`
  return (
    <>
      <div className="min-w-0 flex-1 basis-40">
        <p id={id} className="flex items-center gap-2 font-medium">
          <NetworkMark network={name} className="size-4 shrink-0 text-muted" />
          {networkName(name)}
        </p>
        <p className="text-sm text-muted">
          {underWay} under way, {atOnce === null ? 'no limit' : `at most ${atOnce} at once`}
          {pausedAt ? (
            <>
              {' '}
              · paused on <Instant at={pausedAt} />
            </>
          ) : null}
        </p>
      </div>
      <OrderForm intent={pausedAt ? 'resume' : 'pause'} fields={{ scope: 'network', name }} describedBy={id}>
        {pausedAt ? 'Resume network' : 'Pause network'}
      </OrderForm>
    </>
  )
}

/** The channels that an operator has paused: nothing of them need be late, so that they would be forgotten. */
export function PausedChannels() {
  const { pausedChannels, pausedChannelCount } = useOperations()
  if (pausedChannels.length === 0) return null
  return (
    <Card title="Paused channels">
      <ul className="-my-3 divide-y divide-line">
        {pausedChannels.map((channel) => (
          <li key={channel.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3">
            <PausedChannelShown channel={channel} />
          </li>
        ))}
      </ul>
      {pausedChannelCount > pausedChannels.length ? (
        <p className="mt-5 text-sm text-muted">
          {`The ${pausedChannels.length} that have been paused longest, of ${pausedChannelCount.toLocaleString('en')}.`}
        </p>
      ) : null}
    </Card>
  )
}

function PausedChannelShown({ channel: { id, name, network, organisation, pausedAt } }: { channel: PausedChannel }) {
  return (
    <>
      <div className="min-w-0 flex-1 basis-40">
        <p id={`paused-${id}`} className="break-words font-medium">
          {name} <span className="font-normal text-muted">of {organisation}</span>
        </p>
        <p className="text-sm text-muted">
          {networkName(network)} · paused on <Instant at={pausedAt} />
        </p>
      </div>
      <OrderForm intent="resume" fields={{ scope: 'channel', id }} describedBy={`paused-${id}`}>
        Resume channel
      </OrderForm>
    </>
  )
}
