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
import { channelStrings } from '../channels/strings.tsx'
import { useMay } from '../shell/permissions.ts'
import { Button, ButtonLink } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: channelStrings.pageTitle }]

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
  const { manage, write } = useMay()
  const connected = channels.find(({ id }) => id === asked.connected)
  return (
    <>
      <PageHead title={channelStrings.title} lead={channelStrings.lead} />
      {connected && counts ? <Connected key={connected.id} name={connected.name} counts={counts} /> : null}
      {connected && counts?.person === 0 && write ? <NextStep /> : null}
      {'disconnected' in asked ? <Disconnected channel={gone.find(({ id }) => id === asked.disconnected)} /> : null}
      {manage ? <NewChannel /> : null}
      {channels.length > 0 ? <List channels={channels} /> : null}
      {channels.length === 0 && !asked.connect ? <NoChannels /> : null}
      {gone.length > 0 ? (
        <>
          <h2 className="mb-3 mt-10 text-sm font-medium text-muted">{channelStrings.disconnectedChannels}</h2>
          <List channels={gone} />
        </>
      ) : null}
    </>
  )
}

type Counts = Parameters<typeof channelStrings.connected>[1]

/** The notice that a channel is connected, with the state of its posts. */
function Connected({ name, counts }: { name: string; counts: Counts }) {
  return (
    <Notice>
      {channelStrings.connected(name, counts)}
      {counts.person > 0 ? (
        <>
          {' '}
          <Link to="/" className="underline">
            {channelStrings.showPosts}
          </Link>
        </>
      ) : null}
    </Notice>
  )
}

function NextStep() {
  return (
    <p className="mb-6">
      <ButtonLink to="/posts/new" look="primary">
        {channelStrings.writePost}
      </ButtonLink>
    </p>
  )
}

function Disconnected({ channel }: { channel: Channel | undefined }) {
  if (!channel || !canReconnect(channel.network)) return <Notice>{channelStrings.disconnected}</Notice>
  return <Notice>{channelStrings.disconnectedAndEnding}</Notice>
}

function NewChannel() {
  const { networks, asked, channels, gone, known } = useLoaderData<typeof loader>()
  const channel = [...channels, ...gone].find(({ id }) => id === asked.reconnect)
  const network = networks.find(({ key }) => key === (channel?.network ?? asked.connect))
  const isFirst = (key: string) => key === 'feed' && !network && channels.length === 0
  return (
    <div className="mb-6 space-y-4">
      <Form action="/channels" className="flex flex-wrap gap-2" preventScrollReset>
        {networks
          .filter(({ key }) => canConnect(key))
          .map(({ key, name }) => (
            <Button key={key} type="submit" name="connect" value={key} look={isFirst(key) ? 'primary' : 'plain'}>
              <NetworkMark network={key} />
              {channelStrings.connect.button(name)}
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
    <Empty icon={<Megaphone aria-hidden />} title={channelStrings.none.title}>
      <p>{manage ? channelStrings.none.manage : channelStrings.none.wait}</p>
    </Empty>
  )
}
