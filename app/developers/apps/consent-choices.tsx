import { useEffect, useRef } from 'react'
import type { Consent } from '../../../server/oauth/authorize.ts'
import type { Problem } from '../../api.ts'
import { networkName } from '../../channels/channel-mark.tsx'
import { Button } from '../../ui/forms/button.tsx'
import { controlClass } from '../../ui/forms/control.tsx'
import { consentStrings } from './strings.tsx'

/** A person's choices, and what was wrong with them. Without a problem the person only looks at another organisation. */
export type Chosen = { organisationId: string; reach: string; channelIds: string[]; problem?: Problem }

type Organisation = Consent['organisations'][number]

type OrganisationChoiceProps = {
  organisations: Organisation[]
  organisation: Organisation
  onChoose: (id: string) => void
}

/** The organisation that the app is to act for. */
export function OrganisationChoice({ organisations, organisation, onChoose }: OrganisationChoiceProps) {
  if (organisations.length === 1) return <input type="hidden" name="organisationId" value={organisation.id} />
  return (
    <div>
      <label htmlFor="organisation" className="mb-1.5 block text-sm font-medium">
        {consentStrings.organisation}
      </label>
      <div className="flex gap-2">
        <select
          id="organisation"
          name="organisationId"
          defaultValue={organisation.id}
          onChange={(event) => onChoose(event.currentTarget.value)}
          className={`${controlClass} pr-8`}
        >
          {organisations.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <noscript>
          <Button type="submit" name="decision" value="look" formNoValidate>
            {consentStrings.showChannels}
          </Button>
        </noscript>
      </div>
    </div>
  )
}

type ChannelChoiceProps = { organisation: Organisation; chosen: Chosen | undefined }

/** The channels that the app is to use: all of them, or some. */
export function ChannelChoice({ organisation: { channels }, chosen }: ChannelChoiceProps) {
  const reach = chosen?.reach ?? 'all' // a person who chose some channels must choose all expressly
  const faults = chosen?.problem?.errors.filter(isOfChannels) ?? []
  const { all, allHint, some, someHint } = consentStrings
  return (
    <fieldset className="group min-w-0 space-y-2">
      <legend className="mb-2 text-sm font-medium">{consentStrings.channels}</legend>
      <Reach value="all" name={all} hint={allHint} isChosen={reach === 'all'} />
      {channels.length > 0 ? <Reach value="some" name={some} hint={someHint} isChosen={reach === 'some'} /> : null}
      <div className="hidden gap-2 pl-7 group-has-[[value=some]:checked]:grid sm:grid-cols-2">
        {channels.map((channel) => (
          <Channel key={channel.id} channel={channel} isChosen={chosen?.channelIds.includes(channel.id)} />
        ))}
      </div>
      <Trouble messages={faults.map(({ message }) => message)} />
    </fieldset>
  )
}

/** Whether a fault of the form is about its channels. */
export function isOfChannels({ path }: { path: string }): boolean {
  return path.startsWith('channelIds')
}

type ReachProps = { value: string; name: string; hint: string; isChosen: boolean }

function Reach({ value, name, hint, isChosen }: ReachProps) {
  return (
    <label className="flex cursor-pointer gap-3">
      <input
        type="radio"
        name="reach"
        value={value}
        required
        defaultChecked={isChosen}
        className="mt-1 size-4 accent-accent"
      />
      <span>
        <span className="block text-sm font-medium">{name}</span>
        <span className="block text-sm text-muted">{hint}</span>
      </span>
    </label>
  )
}

type ChannelProps = { channel: Organisation['channels'][number]; isChosen: boolean | undefined }

function Channel({ channel: { id, name, network }, isChosen }: ChannelProps) {
  return (
    <label className="flex min-w-0 cursor-pointer items-center gap-3 rounded-lg border border-line p-2.5 text-sm has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5">
      <input
        type="checkbox"
        name="channelIds"
        value={id}
        defaultChecked={isChosen}
        className="size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <span className="block truncate">{name}</span>
        <span className="block truncate text-xs text-muted">{networkName(network)}</span>
      </span>
    </label>
  )
}

/** Why a decision was not accepted. Takes the focus. */
export function Trouble({ messages }: { messages: string[] }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  if (messages.length === 0) return null
  return (
    <div ref={box} role="alert" tabIndex={-1} className="rounded-lg bg-bad/10 px-3.5 py-2.5 text-sm text-bad">
      {messages.map((message) => (
        <p key={message}>{message}</p>
      ))}
    </div>
  )
}
