import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { Megaphone } from 'lucide-react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { ConnectChannel, Disconnect } from '../../server/channels/forms.ts'
import { allChannels, answer, formOf, shown, signedIn } from '../api.ts'
import { NetworkMark } from '../channels/channel-mark.tsx'
import { ChannelRow } from '../channels/channel-row.tsx'
import { Connect, canConnect, canReconnect } from '../channels/connect.tsx'
import { DisconnectForm } from '../channels/disconnect.tsx'
import { useMay } from '../shell/permissions.ts'
import { Button } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: 'Channels · Punctual' }]

export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const [channels, gone, networks] = await Promise.all([
    allChannels(api),
    allChannels(api, 'DISCONNECTED'),
    api.channels.networks(),
  ])
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  const unsent = asked.disconnect ? await shown(api.channels.unsent({ id: asked.disconnect })) : 0
  const known = asked.reconnect ? await shown(api.channels.known({ id: asked.reconnect })) : {}
  const counts = asked.connected ? await shown(api.channels.counts({ id: asked.connected })) : null
  return json({ channels, gone, networks, asked, unsent, known, counts })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const form = formOf(args.context)
  if (form.get('intent') === 'disconnect')
    return answer(form, Disconnect, async (wanted) => {
      await api.channels.disconnect(wanted)
      return redirect(`/channels?disconnected=${wanted.id}`)
    })
  return answer(form, ConnectChannel, async (wanted) => {
    const begun = await api.channels.connect(wanted)
    return 'url' in begun ? json({ continueTo: begun.url }) : redirect(`/channels?connected=${begun.channel.id}`)
  })
}

export default function Channels() {
  const { channels, gone, asked, counts } = useLoaderData<typeof loader>()
  const { manage } = useMay()
  const connected = channels.find(({ id }) => id === asked.connected)
  return (
    <>
      <PageHead title="Channels" lead="Where your posts go out." />
      {connected && counts ? <Connected key={connected.id} name={connected.name} counts={counts} /> : null}
      {'disconnected' in asked ? <Disconnected channel={gone.find(({ id }) => id === asked.disconnected)} /> : null}
      {manage ? <NewChannel /> : null}
      {channels.length > 0 ? <List channels={channels} /> : <NoChannels />}
      {gone.length > 0 ? (
        <>
          <h2 className="mb-3 mt-10 text-sm font-medium text-muted">Disconnected</h2>
          <List channels={gone} />
        </>
      ) : null}
    </>
  )
}

type Counts = { now: number; sent: number; later: number; person: number }

/** That a channel is connected, and what becomes of its posts. */
function Connected({ name, counts: { now, sent, later, person } }: { name: string; counts: Counts }) {
  const posts = (count: number, one: string, many: string) =>
    count === 0 ? '' : count === 1 ? ` 1 post ${one}.` : ` ${count} posts ${many}.`
  return (
    <Notice>
      {name} is connected.
      {posts(now, 'is being sent or checked', 'are being sent or checked')}
      {posts(sent, 'was published since', 'were published since')}
      {posts(later, 'is scheduled', 'are scheduled')}
      {posts(person, 'needs attention', 'need attention')}
      {person > 0 ? (
        <>
          {' '}
          <Link to="/" className="underline">
            Show posts
          </Link>
        </>
      ) : null}
    </Notice>
  )
}

function Disconnected({ channel }: { channel: Channel | undefined }) {
  if (!channel || !canReconnect(channel.network)) return <Notice>The channel is disconnected.</Notice>
  return (
    <Notice>
      The channel is disconnected. We are ending our access to the account. If that fails, Settings › Activity says so.
    </Notice>
  )
}

function NewChannel() {
  const { networks, asked, channels, gone, known } = useLoaderData<typeof loader>()
  const channel = [...channels, ...gone].find(({ id }) => id === asked.reconnect)
  const network = networks.find(({ key }) => key === (channel?.network ?? asked.connect))
  return (
    <div className="mb-6 space-y-4">
      <Form action="/channels" className="flex flex-wrap gap-2" preventScrollReset>
        {networks
          .filter(({ key }) => canConnect(key))
          .map(({ key, name }) => (
            <Button key={key} type="submit" name="connect" value={key}>
              <NetworkMark network={key} />
              Connect {name}
            </Button>
          ))}
      </Form>
      {network ? <Connect network={network} channel={channel} known={known} /> : null}
    </div>
  )
}

function List({ channels }: { channels: Channel[] }) {
  const { asked, unsent } = useLoaderData<typeof loader>()
  const { manage } = useMay()
  return (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
      {channels.map((channel) => (
        <li key={channel.id}>
          <ChannelRow channel={channel} />
          {manage && asked.disconnect === channel.id ? (
            <div className="px-4 pb-4 sm:px-5">
              <DisconnectForm channel={channel} unsent={unsent} />
            </div>
          ) : null}
        </li>
      ))}
    </ul>
  )
}

function NoChannels() {
  const { manage } = useMay()
  return (
    <Empty icon={<Megaphone aria-hidden />} title="No channel yet">
      <p>
        A channel is an account that posts go out on.{' '}
        {manage
          ? 'A feed needs no account, only a name: a good one to begin with.'
          : 'An owner or an admin of this organisation connects the first one.'}
      </p>
    </Empty>
  )
}
