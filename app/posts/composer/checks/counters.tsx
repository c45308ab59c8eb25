import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { excessOf, lengthOf } from '../../../../jobs/networks/text-length.ts'
import { NetworkMark, networkName } from '../../../channels/channel-mark.tsx'
import { composerStrings } from '../strings.tsx'

const strings = composerStrings.text
const EachAtMost = 6

/** How long the text is on each of these channels, counted as its network counts. */
export function Counters({ id, channels, text }: { id: string; channels: Channel[]; text: string }) {
  return (
    <ul id={id} className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted empty:hidden">
      {grouped(channels).map(({ channel, name }) => (
        <Counter key={channel.id} channel={channel} name={name} text={text} />
      ))}
    </ul>
  )
}

// Many channels: one counter for all that count alike.
function grouped(channels: Channel[]): { channel: Channel; name: string }[] {
  if (channels.length <= EachAtMost) return channels.map((channel) => ({ channel, name: channel.name }))
  const alike = Map.groupBy(channels, ({ network, limits }) => {
    const { textLength, textUnit, textBytes, urlsCountAs, shortensUrls } = limits
    return JSON.stringify([network, textLength, textUnit, textBytes, urlsCountAs, shortensUrls])
  })
  return [...alike.values()].map((group) => {
    const [channel] = group as [Channel, ...Channel[]]
    return {
      channel,
      name: group.length === 1 ? channel.name : strings.group(networkName(channel.network), group.length),
    }
  })
}

function Counter({ channel: { network, limits }, name, text }: { channel: Channel; name: string; text: string }) {
  const excess = excessOf(limits, text)
  const shown = <bdi>{name}</bdi>
  return (
    <li className={`flex min-w-0 items-center gap-1.5 tabular-nums ${excess ? 'font-medium text-bad' : ''}`}>
      <NetworkMark network={network} className="size-3.5 shrink-0" />
      <span className="min-w-0 break-words">
        {excess
          ? strings.tooLong(shown, lengthOf(limits, text), limits.textLength, excess.by, excess.unit === 'bytes')
          : strings.length(shown, lengthOf(limits, text), limits.textLength)}
      </span>
    </li>
  )
}
