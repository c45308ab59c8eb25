import { Form, Link } from '@remix-run/react'
import { TriangleAlert } from 'lucide-react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Button, Submit } from '../ui/forms/button.tsx'
import { ChannelMark, networkName } from './channel-mark.tsx'
import { canReconnect } from './connect.tsx'
import { channelStrings } from './strings.tsx'

const strings = channelStrings.row

const troubles: Partial<Record<Channel['status'], string>> = {
  NEEDS_RECONNECT: strings.needsReconnect,
  PAUSED: strings.paused,
  DISCONNECTED: strings.disconnected,
}

/** A channel in the list, with its buttons. */
export function ChannelRow({ channel }: { channel: Channel }) {
  const { manage, write } = useMay()
  const nameId = `channel-${channel.id}`
  const trouble = troubles[channel.status]
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-4 sm:px-5">
      <ChannelMark channel={channel} size="size-10" />
      <div className="min-w-40 flex-1">
        <p id={nameId} className="truncate font-medium">
          {channel.name}
        </p>
        <p className="truncate text-sm text-muted">
          {strings.networkAndAddress(networkName(channel.network), <Address channel={channel} />)}
        </p>
        {trouble ? (
          <p className="mt-0.5 flex items-center gap-1.5 text-sm text-warn">
            <TriangleAlert aria-hidden className="size-4" /> {trouble}
          </p>
        ) : null}
      </div>
      {write && channel.status !== 'DISCONNECTED' ? <OwnQueue channel={channel} nameId={nameId} /> : null}
      {manage ? <Actions channel={channel} nameId={nameId} /> : null}
    </div>
  )
}

function Address({ channel: { id, network, handle, url } }: { channel: Channel }) {
  const look = 'underline decoration-edge/60 underline-offset-2 hover:text-ink'
  if (network === 'feed')
    return (
      <Link to={`/feeds/${id}`} className={look}>
        {strings.publicPage}
      </Link>
    )
  if (!url) return <>{handle}</>
  return (
    <a href={url} rel="noopener noreferrer" className={look}>
      {handle ?? url}
    </a>
  )
}

function OwnQueue({ channel, nameId }: { channel: Channel; nameId: string }) {
  return (
    <PostForm action="/queues/new" className="max-sm:-ml-3.5">
      <input type="hidden" name="channelId" value={channel.id} />
      <Submit look="quiet" name="intent" value="own" aria-describedby={nameId}>
        {strings.ownQueue}
      </Submit>
    </PostForm>
  )
}

// GET forms: the buttons work without a script, and Back closes what they open.
function Actions({ channel, nameId }: { channel: Channel; nameId: string }) {
  const isConnected = channel.status !== 'DISCONNECTED'
  return (
    <Form action="/channels" className="flex gap-2" preventScrollReset>
      {canReconnect(channel.network) ? (
        <Button
          type="submit"
          name="reconnect"
          value={channel.id}
          aria-describedby={nameId}
          look={channel.status === 'NEEDS_RECONNECT' ? 'primary' : 'plain'}
        >
          {strings.reconnect}
        </Button>
      ) : null}
      {isConnected ? (
        <Button type="submit" name="disconnect" value={channel.id} aria-describedby={nameId}>
          {strings.disconnect}
        </Button>
      ) : null}
    </Form>
  )
}
