import { Link } from '@remix-run/react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import { ChannelMark, networkName } from '../../channels/channel-mark.tsx'
import { FieldErrors } from '../../ui/forms/control.tsx'
import { composerStrings } from './strings.tsx'

const strings = composerStrings.channels

type Problems = Record<string, string[]>

const troubles: Partial<Record<Channel['status'], string>> = {
  NEEDS_RECONNECT: strings.needsReconnect,
  PAUSED: strings.paused,
  DISCONNECTED: strings.disconnected,
}

type Props = { channels: Channel[]; chosen: string[]; onChoose: (ids: string[]) => void; problems: Problems }

/** A checkbox for each channel. */
export function ChannelChoice({ channels, chosen, onChoose, problems }: Props) {
  return (
    <fieldset className="min-w-0" aria-describedby={problems.channelIds ? 'channels-problems' : undefined}>
      <legend className="mb-1.5 text-sm font-medium">{strings.label}</legend>
      {channels.length === 0 ? <NoChannels /> : null}
      <div className="grid gap-2 sm:grid-cols-2">
        {channels.map((channel) => (
          <Choice
            key={channel.id}
            channel={channel}
            isChosen={chosen.includes(channel.id)}
            isWrong={problems.channelIds !== undefined}
            problems={problems[channel.id]}
            onChange={(isChosen) =>
              onChoose(isChosen ? [...chosen, channel.id] : chosen.filter((id) => id !== channel.id))
            }
          />
        ))}
      </div>
      <FieldErrors id="channels-problems" errors={problems.channelIds} />
    </fieldset>
  )
}

function NoChannels() {
  return (
    <p className="text-sm text-muted">
      {strings.none(
        <Link to="/channels" className="font-medium text-accent-ink underline underline-offset-2">
          {strings.connect}
        </Link>,
      )}
    </p>
  )
}

type ChoiceProps = {
  channel: Channel
  isChosen: boolean
  isWrong: boolean
  problems: string[] | undefined
  onChange: (isChosen: boolean) => void
}

function Choice({ channel, isChosen, isWrong, problems, onChange }: ChoiceProps) {
  const { id, name, network, handle, status } = channel
  return (
    <div className="min-w-0">
      <label className="flex cursor-pointer items-center gap-3 rounded-xl border border-line p-2.5 hover:bg-sunken/60 has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5">
        <input
          type="checkbox"
          name="channelIds"
          value={id}
          checked={isChosen}
          onChange={(event) => onChange(event.currentTarget.checked)}
          aria-labelledby={`name-${id}`}
          aria-describedby={`about-${id} problems-${id}`}
          aria-invalid={isWrong || problems ? true : undefined}
          className="ml-1 size-4 shrink-0 accent-accent"
        />
        <ChannelMark channel={channel} size="size-8" />
        <span className="min-w-0">
          <span id={`name-${id}`} className="block truncate text-sm font-medium">
            {name}
          </span>
          <span id={`about-${id}`} className="block truncate text-xs text-muted">
            {[networkName(network), handle, troubles[status]].filter(Boolean).join(' · ')}
          </span>
        </span>
      </label>
      <FieldErrors id={`problems-${id}`} errors={problems} />
    </div>
  )
}
