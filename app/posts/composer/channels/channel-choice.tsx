import { Link } from '@remix-run/react'
import { type KeyboardEvent, useState } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { networkName } from '../../../channels/channel-mark.tsx'
import { Button } from '../../../ui/forms/button.tsx'
import { controlClass, FieldErrors } from '../../../ui/forms/control.tsx'
import { composerStrings } from '../strings.tsx'
import { Choice } from './choice.tsx'
import { type Owning, OwnParts } from './own-parts.tsx'

const strings = composerStrings.channels

const SearchFrom = 8 // channels
const ScrollFrom = 12

type Problems = Record<string, string[]>

type Props = Owning & { channels: Channel[]; onChoose: (ids: string[]) => void; problems: Problems }

/** A checkbox for each channel, and below it what the channel has of its own. Many channels can be searched. */
export function ChannelChoice({ channels, onChoose, problems, ...owning }: Props) {
  const { channelIds: chosen, overrides } = owning.fields
  const [search, setSearch] = useState('')
  const found = channels.filter((channel) => matches(channel, search))
  const shown = channels.filter((channel) => found.includes(channel) || chosen.includes(channel.id))
  const isLong = channels.length >= ScrollFrom
  return (
    <fieldset className="min-w-0" aria-describedby={problems.channelIds ? 'channels-problems' : undefined}>
      <legend className="mb-1.5 text-sm font-medium">{strings.label}</legend>
      {channels.length === 0 ? <NoChannels /> : null}
      {channels.length > 1 ? (
        <Tools
          search={channels.length >= SearchFrom ? search : null}
          onSearch={setSearch}
          onAll={() => onChoose([...new Set([...chosen, ...found.map(({ id }) => id)])])}
          onNone={() => onChoose(chosen.filter((id) => !found.some((channel) => channel.id === id)))}
          said={strings.chosen(channels.filter(({ id }) => chosen.includes(id)).length, channels.length)}
        />
      ) : null}
      <div className={`grid gap-2 sm:grid-cols-2 ${isLong ? 'max-h-[30rem] overflow-y-auto p-0.5' : ''}`}>
        {shown.map((channel) => (
          <Choice
            key={channel.id}
            channel={channel}
            isChosen={chosen.includes(channel.id)}
            isWrong={problems.channelIds !== undefined}
            problems={problems[channel.id]}
            hasOwn={overrides.some(({ channelId }) => channelId === channel.id)}
            onChange={(isChosen) =>
              onChoose(isChosen ? [...chosen, channel.id] : chosen.filter((id) => id !== channel.id))
            }
          >
            <OwnParts channel={channel} problems={problems} {...owning} />
          </Choice>
        ))}
      </div>
      {search && found.length === 0 ? <p className="mt-2 text-sm text-muted">{strings.noneFound}</p> : null}
      <FieldErrors id="channels-problems" errors={problems.channelIds} />
    </fieldset>
  )
}

type ToolsProps = {
  search: string | null // null: few channels need none
  onSearch: (search: string) => void
  onAll: () => void
  onNone: () => void
  said: string
}

function Tools({ search, onSearch, onAll, onNone, said }: ToolsProps) {
  return (
    <div className="mb-2 flex flex-wrap items-center gap-2">
      {search === null ? null : (
        <input
          type="search"
          aria-label={strings.search}
          placeholder={strings.search}
          dir="auto"
          value={search}
          onChange={(event) => onSearch(event.currentTarget.value)}
          onKeyDown={sendNothing}
          className={`${controlClass} sm:max-w-60`}
        />
      )}
      <Button onClick={onAll}>{strings.all}</Button>
      <Button onClick={onNone}>{strings.none}</Button>
      <span role="status" className="text-sm text-muted">
        {said}
      </span>
    </div>
  )
}

// Enter in the search field must not send the post.
function sendNothing(event: KeyboardEvent): void {
  if (event.key === 'Enter') event.preventDefault()
}

function NoChannels() {
  return (
    <p className="text-sm text-muted">
      {strings.noChannels(
        <Link to="/channels" className="font-medium text-accent-ink underline underline-offset-2">
          {strings.connect}
        </Link>,
      )}
    </p>
  )
}

function matches({ name, handle, network }: Channel, search: string): boolean {
  const words = plain(search).split(/\s+/).filter(Boolean)
  const text = plain([name, handle, networkName(network)].join(' '))
  return words.every((word) => text.includes(word))
}

// Case and accents don't count.
function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
