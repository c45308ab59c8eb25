import type { NetworkSeen, PausedChannel } from '../../server/operations/operations.ts'
import { NetworkMark, networkName } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { ActionForm } from './action-form.tsx'
import { useOperations } from './operations.ts'
import { operationsStrings } from './strings.tsx'

const { networks: networkStrings, pausedChannels: pausedStrings, ofOrganisation } = operationsStrings

/** Each network: how many posts are in progress, its limit, and whether it is paused. */
export function Networks() {
  const { networks } = useOperations()
  return (
    <Card title={networkStrings.title}>
      {networks.length === 0 ? <p className="text-sm text-muted">{networkStrings.none}</p> : null}
      <ul className="-my-3 divide-y divide-line">
        {networks.map((network) => (
          <li key={network.name} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3">
            <NetworkShown network={network} />
          </li>
        ))}
      </ul>
      <p className="mt-5 text-sm text-muted">
        {networkStrings.limit(<code className="font-mono">npm run admin -- limit NETWORK N</code>)}
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
          {networkStrings.inProgress(underWay, atOnce)}
          {pausedAt ? (
            <>
              {' · '}
              {networkStrings.pausedOn(<Instant at={pausedAt} />)}
            </>
          ) : null}
        </p>
      </div>
      <ActionForm intent={pausedAt ? 'resume' : 'pause'} fields={{ scope: 'network', name }} describedBy={id}>
        {pausedAt ? networkStrings.resume : networkStrings.pause}
      </ActionForm>
    </>
  )
}

/** The channels that an operator has paused. Without this list they are forgotten when none of their posts is overdue. */
export function PausedChannels() {
  const { pausedChannels, pausedChannelCount } = useOperations()
  if (pausedChannels.length === 0) return null
  return (
    <Card title={pausedStrings.title}>
      <ul className="-my-3 divide-y divide-line">
        {pausedChannels.map((channel) => (
          <li key={channel.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3">
            <PausedChannelShown channel={channel} />
          </li>
        ))}
      </ul>
      {pausedChannelCount > pausedChannels.length ? (
        <p className="mt-5 text-sm text-muted">{pausedStrings.more(pausedChannels.length, pausedChannelCount)}</p>
      ) : null}
    </Card>
  )
}

function PausedChannelShown({ channel: { id, name, network, organisation, pausedAt } }: { channel: PausedChannel }) {
  return (
    <>
      <div className="min-w-0 flex-1 basis-40">
        <p id={`paused-${id}`} className="break-words font-medium">
          {name} <span className="font-normal text-muted">{ofOrganisation(organisation)}</span>
        </p>
        <p className="text-sm text-muted">
          {networkName(network)} · {pausedStrings.pausedOn(<Instant at={pausedAt} />)}
        </p>
      </div>
      <ActionForm intent="resume" fields={{ scope: 'channel', id }} describedBy={`paused-${id}`}>
        {pausedStrings.resume}
      </ActionForm>
    </>
  )
}
