import { Link } from '@remix-run/react'
import type { ReactNode } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { ChannelMark, networkName } from '../../../channels/channel-mark.tsx'
import { useMay } from '../../../shell/permissions.ts'
import { FieldErrors } from '../../../ui/forms/control.tsx'
import { composerStrings } from '../strings.tsx'

const strings = composerStrings.channels

const troubles: Partial<Record<Channel['status'], string>> = {
  NEEDS_RECONNECT: strings.needsReconnect,
  PAUSED: strings.paused,
  DISCONNECTED: strings.disconnected,
}

type ChoiceProps = {
  channel: Channel
  isChosen: boolean
  isWrong: boolean
  problems: string[] | undefined
  hasOwn: boolean
  onChange: (isChosen: boolean) => void
  children: ReactNode // of a chosen channel
}

/** One channel: its checkbox, what is wrong with it, and more of it once it is chosen. */
export function Choice({ channel, isChosen, isWrong, problems, hasOwn, onChange, children }: ChoiceProps) {
  const { id, name, network, handle } = channel
  const frame = isChosen ? 'border-accent-ink' : 'border-line'
  return (
    <div className={`min-w-0 self-start rounded-xl border ${frame} ${isChosen && hasOwn ? 'sm:col-span-2' : ''}`}>
      <label className="flex cursor-pointer items-center gap-3 rounded-xl p-2.5 hover:bg-sunken/60 has-[:checked]:bg-accent/5">
        <input
          type="checkbox"
          name="channelIds"
          value={id}
          checked={isChosen}
          onChange={(event) => onChange(event.currentTarget.checked)}
          aria-labelledby={`name-${id}`}
          aria-describedby={`about-${id} trouble-${id} problems-${id}`}
          aria-invalid={isWrong || problems ? true : undefined}
          className="ml-1 size-4 shrink-0 accent-accent"
        />
        <ChannelMark channel={channel} size="size-8" />
        <span className="min-w-0">
          <span id={`name-${id}`} dir="auto" className="line-clamp-2 break-words text-sm font-medium">
            {name}
          </span>
          <span id={`about-${id}`} className="block truncate text-xs text-muted">
            {networkName(network)}
            {handle ? (
              <>
                {' · '}
                <bdi>{handle}</bdi>
              </>
            ) : null}
          </span>
        </span>
      </label>
      <Trouble channel={channel} />
      {isChosen ? children : null}
      <div className="px-2.5 pb-2 empty:hidden">
        <FieldErrors id={`problems-${id}`} errors={problems} />
      </div>
    </div>
  )
}

function Trouble({ channel: { id, status } }: { channel: Channel }) {
  const { manage } = useMay()
  const sentence = troubles[status]
  if (!sentence) return null
  return (
    <p className="px-2.5 pb-2 text-xs text-warn">
      <span id={`trouble-${id}`}>{sentence}</span>{' '}
      {status === 'NEEDS_RECONNECT' && manage ? (
        <Link to={`/channels?reconnect=${id}`} aria-describedby={`name-${id}`} className="font-medium underline">
          {strings.reconnect}
        </Link>
      ) : null}
    </p>
  )
}
