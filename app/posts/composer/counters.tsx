import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { excessOf, lengthOf } from '../../../jobs/networks/text-length.ts'
import { NetworkMark } from '../../channels/channel-mark.tsx'
import { composerStrings } from './strings.tsx'

const strings = composerStrings.text

/** How long the text is on each chosen channel, counted as its network counts. */
export function Counters({ channels, text }: { channels: Channel[]; text: string }) {
  const tooLong = channels.filter(({ limits }) => excessOf(limits, text))
  return (
    <>
      <ul id="content-counters" className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        {channels.map((channel) => (
          <Counter key={channel.id} channel={channel} text={text} />
        ))}
      </ul>
      {/* Announced once when a limit is passed, not at every key. */}
      <p role="status" className="sr-only">
        {tooLong.length > 0 ? strings.tooLongFor(tooLong.map(({ name }) => name)) : ''}
      </p>
    </>
  )
}

function Counter({ channel: { name, network, limits }, text }: { channel: Channel; text: string }) {
  const excess = excessOf(limits, text)
  return (
    <li className={`flex items-center gap-1.5 tabular-nums ${excess ? 'font-medium text-bad' : ''}`}>
      <NetworkMark network={network} className="size-3.5" />
      <span>
        {excess
          ? strings.tooLong(name, lengthOf(limits, text), limits.textLength, excess.by, excess.unit === 'bytes')
          : strings.length(name, lengthOf(limits, text), limits.textLength)}
      </span>
    </li>
  )
}
