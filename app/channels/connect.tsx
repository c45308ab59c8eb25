import { getFormProps, useForm } from '@conform-to/react'
import { useActionData } from '@remix-run/react'
import { ArrowUpRight } from 'lucide-react'
import type { InputHTMLAttributes } from 'react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { useAccount } from '../shell/account.ts'
import { PostForm } from '../shell/post-form.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, ExternalLink, Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'
import { Panel } from '../ui/page.tsx'
import { channelStrings } from './strings.tsx'

const strings = channelStrings.connect

type Question = { name: string; label: string; hint?: string; secret?: boolean; isOptional?: boolean } & Pick<
  InputHTMLAttributes<HTMLInputElement>,
  'placeholder' | 'inputMode'
>

// What a person types to connect a channel of a network; a network without an entry is not offered here.
const questions: Record<string, { lead: string; asks: Question[] }> = {
  feed: {
    lead: strings.feed.lead,
    asks: [{ name: 'name', label: strings.feed.name, hint: strings.feed.nameHint }],
  },
  mastodon: {
    lead: strings.mastodon.lead,
    asks: [{ name: 'instance', label: strings.mastodon.server, placeholder: 'mastodon.social', inputMode: 'url' }],
  },
  bluesky: {
    lead: strings.bluesky.lead,
    asks: [
      { name: 'handle', label: strings.bluesky.handle, placeholder: 'ada.bsky.social' },
      { name: 'appPassword', label: strings.bluesky.appPassword, placeholder: 'xxxx-xxxx-xxxx-xxxx', secret: true },
      {
        name: 'pds',
        label: strings.bluesky.server,
        hint: strings.bluesky.serverHint,
        inputMode: 'url',
        isOptional: true,
      },
    ],
  },
}

export function canConnect(network: string): boolean {
  return network in questions
}

/** A feed has no account elsewhere, so there is nothing to connect it to again. */
export function canReconnect(network: string): boolean {
  return network !== 'feed' && canConnect(network)
}

type ConnectProps = { channel?: Channel | undefined; known: Record<string, string> }

/** The form that connects a channel of `network`, or reconnects `channel`. Once it is sent, the link to the network if there is one. */
export function Connect({ network, channel, known }: ConnectProps & { network: { key: string; name: string } }) {
  const answered = useActionData() as { continueTo?: string } | undefined
  const title = channel ? strings.reconnectTitle(channel.name) : strings.newTitle(network.name)
  if (answered?.continueTo) return <Continue key="continue" title={title} url={answered.continueTo} />
  return (
    <Panel key={network.key} title={title} lead={questions[network.key]?.lead}>
      <ConnectForm network={network.key} channel={channel} known={known} />
    </Panel>
  )
}

function ConnectForm({ network, channel, known }: ConnectProps & { network: string }) {
  const { asks = [] } = questions[network] ?? {}
  const [form, fields] = useForm<{ input: Record<string, string> }>({
    ...useAnswer('connect'),
    defaultValue: { input: useKnown(channel, known) },
  })
  const inputs = fields.input.getFieldset()
  return (
    <PostForm {...getFormProps(form)} autoComplete="off" className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="connect" />
      <input type="hidden" name="network" value={network} />
      {channel ? <input type="hidden" name="channelId" value={channel.id} /> : null}
      <FormErrors form={form} />
      {asks.map(({ name, secret, isOptional, ...ask }) => (
        <Field
          key={name}
          {...ask}
          field={inputs[name]!}
          type={secret ? 'password' : 'text'}
          required={!isOptional}
          autoCapitalize="none"
          spellCheck={false}
        />
      ))}
      <div className="flex gap-2">
        <Submit look="primary">{channel ? strings.continue : strings.submit}</Submit>
        <ButtonLink to="/channels" look="quiet">
          {strings.close}
        </ButtonLink>
      </div>
    </PostForm>
  )
}

/** The values that we know and fill in. */
function useKnown(channel: Channel | undefined, known: Record<string, string>): Record<string, string> {
  const account = useAccount()
  const organisation = account?.organisations.find(({ id }) => id === account.organisationId)
  if (!channel) return { name: organisation?.name ?? '' }
  return { handle: channel.handle ?? '', ...known }
}

// The answer to a form must not lead away from this site (form-action), so the person takes the last step.
function Continue({ title, url }: { title: string; url: string }) {
  const { host } = new URL(url)
  return (
    <Panel title={title} lead={strings.continueLead(host)}>
      <ExternalLink look="primary" href={url}>
        {strings.continueTo(host)}
        <ArrowUpRight aria-hidden />
      </ExternalLink>
    </Panel>
  )
}
