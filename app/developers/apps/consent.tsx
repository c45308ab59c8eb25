import { ArrowRight, Check } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { Consent } from '../../../server/oauth/authorize.ts'
import { scopeWords } from '../../../server/words.ts'
import type { Problem } from '../../api.ts'
import { networkName } from '../../channels/channel-mark.tsx'
import { Logo } from '../../shell/logo.tsx'
import { Button } from '../../ui/forms/button.tsx'
import { controlClass } from '../../ui/forms/field.tsx'
import { AppMark } from './app-mark.tsx'

/** What a person had chosen, and what was wrong with it. Without a problem they only look at another organisation. */
export type Chosen = { organisationId: string; reach: string; channelIds: string[]; problem?: Problem }

type Organisation = Consent['organisations'][number]

/** Asks a person whether an app may act for an organisation of theirs. Every part of it works without a script. */
export function ConsentForm({
  consent,
  person,
  chosen,
}: {
  consent: Consent
  person: string
  chosen: Chosen | undefined
}) {
  const { app, organisations } = consent
  const [organisationId, setOrganisationId] = useState(chosen?.organisationId || consent.organisationId)
  const organisation = organisations.find(({ id }) => id === organisationId) ?? organisations[0]
  const { isSent, once } = useOnce()
  return (
    <div className="mx-auto max-w-lg">
      <div className="flex items-center justify-center gap-3">
        <AppMark app={app} size="size-14" />
        <ArrowRight aria-hidden className="size-5 text-muted" />
        <Logo className="size-14 shrink-0" />
      </div>
      <h1 tabIndex={-1} className="mt-5 break-words text-center text-2xl font-semibold tracking-tight">
        <bdi>{app.name}</bdi> wants to use <bdi>{organisation?.name ?? 'Punctual'}</bdi>
      </h1>
      <p className="mt-1.5 break-words text-center text-muted">
        Made by <bdi>{app.maker}</bdi>, not by Punctual
      </p>
      {/* No action: the request goes back to this very address, byte for byte. */}
      <form
        id={FormId}
        method="post"
        autoComplete="off" // or a browser chooses another organisation again than the heading says
        onSubmit={once}
        className="mt-7 flex flex-col gap-6 rounded-2xl border border-line bg-panel p-6 shadow-sm"
      >
        <NothingOnEnter />
        <Trouble messages={generalTrouble(chosen)} />
        {app.description ? <p className="break-words">{app.description}</p> : null}
        {organisation ? (
          <>
            <Scopes scopes={consent.scopes} />
            <OrganisationChoice
              organisations={organisations}
              organisation={organisation}
              onChoose={setOrganisationId}
            />
            <ChannelChoice
              key={organisation.id}
              organisation={organisation}
              chosen={chosen?.organisationId === organisation.id ? chosen : undefined}
            />
          </>
        ) : (
          <p>Only owners and admins of an organisation may let an app in. Ask one of yours to open this page.</p>
        )}
        <p className="flex gap-2 text-sm text-muted">
          <ArrowRight aria-hidden className="mt-1 size-4 shrink-0" />
          <span className="min-w-0 break-words">
            You go on to <strong className="font-medium text-ink">{consent.goesTo}</strong>
            {organisation ? ', whatever you decide.' : '.'}
          </span>
        </p>
        <Decision request={consent.request} mayApprove={organisation !== undefined} isSent={isSent} />
      </form>
      <p className="mt-5 text-center text-sm text-muted">
        Signed in as {person}.{' '}
        <button
          type="submit"
          form={FormId}
          name="decision"
          value="leave"
          formNoValidate
          className="font-medium text-accent-ink underline underline-offset-2"
        >
          Sign in as somebody else
        </button>
      </p>
      {organisation ? (
        <p className="mt-2 text-center text-sm text-muted">
          Owners and admins can stop the app at any time under Settings › Approved apps.
        </p>
      ) : null}
    </div>
  )
}

const FormId = 'consent'

// Enter presses a form's first button that is not disabled: this one, and not the one that denies. Without a script the
// same page comes again.
function NothingOnEnter() {
  return (
    <button
      type="submit"
      name="decision"
      value="look"
      formNoValidate
      aria-hidden
      tabIndex={-1}
      className="sr-only"
      onClick={(event) => event.preventDefault()}
    />
  )
}

type DecisionProps = { request: string; mayApprove: boolean; isSent: boolean }

function Decision({ request, mayApprove, isSent }: DecisionProps) {
  return (
    <div className="flex gap-3 [&>*]:flex-1 [&>[aria-disabled]]:opacity-60">
      <input type="hidden" name="request" value={request} />
      <Button type="submit" name="decision" value="deny" formNoValidate aria-disabled={isSent || undefined}>
        {mayApprove ? 'Deny' : 'Go back without letting it in'}
      </Button>
      {mayApprove ? (
        <Button type="submit" name="decision" value="approve" look="primary" aria-disabled={isSent || undefined}>
          Approve
        </Button>
      ) : null}
    </div>
  )
}

// What is said of the channels stands beside them.
function generalTrouble(chosen: Chosen | undefined): string[] {
  if (!chosen?.problem) return []
  const { errors, detail } = chosen.problem
  return errors.length === 0 ? [detail] : errors.filter((fault) => !isOfChannels(fault)).map(({ message }) => message)
}

function isOfChannels({ path }: { path: string }): boolean {
  return path.startsWith('channelIds')
}

/** What keeps a decision from being taken; reading goes on here. */
function Trouble({ messages }: { messages: string[] }) {
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

function Scopes({ scopes }: { scopes: Consent['scopes'] }) {
  return (
    <section aria-labelledby="scopes">
      <h2 id="scopes" className="mb-2 text-sm font-medium">
        It may
      </h2>
      <ul className="space-y-1.5">
        {scopes.map((scope) => (
          <li key={scope} className="flex gap-2.5">
            <Check aria-hidden className="mt-1 size-4 shrink-0 text-good" />
            {scopeWords[scope]}
          </li>
        ))}
      </ul>
    </section>
  )
}

type OrganisationChoiceProps = {
  organisations: Organisation[]
  organisation: Organisation
  onChoose: (id: string) => void
}

function OrganisationChoice({ organisations, organisation, onChoose }: OrganisationChoiceProps) {
  if (organisations.length === 1) return <input type="hidden" name="organisationId" value={organisation.id} />
  return (
    <div>
      <label htmlFor="organisation" className="mb-1.5 block text-sm font-medium">
        Organisation
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
            Show its channels
          </Button>
        </noscript>
      </div>
    </div>
  )
}

function ChannelChoice({
  organisation: { channels },
  chosen,
}: {
  organisation: Organisation
  chosen: Chosen | undefined
}) {
  const reach = chosen?.reach ?? 'all' // whoever chose some keeps all only by saying so
  const faults = chosen?.problem?.errors.filter(isOfChannels) ?? []
  return (
    <fieldset className="group min-w-0 space-y-2">
      <legend className="mb-2 text-sm font-medium">Channels</legend>
      <Reach
        value="all"
        name="All channels"
        says="Those that are connected later included."
        isChosen={reach === 'all'}
      />
      {channels.length > 0 ? (
        <Reach value="some" name="Only these" says="Of the others it sees nothing." isChosen={reach === 'some'} />
      ) : null}
      <div className="hidden gap-2 pl-7 group-has-[[value=some]:checked]:grid sm:grid-cols-2">
        {channels.map(({ id, name, network }) => (
          <label
            key={id}
            className="flex min-w-0 cursor-pointer items-center gap-3 rounded-lg border border-line p-2.5 text-sm has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5"
          >
            <input
              type="checkbox"
              name="channelIds"
              value={id}
              defaultChecked={chosen?.channelIds.includes(id)}
              className="size-4 shrink-0 accent-accent"
            />
            <span className="min-w-0">
              <span className="block truncate">{name}</span>
              <span className="block truncate text-xs text-muted">{networkName(network)}</span>
            </span>
          </label>
        ))}
      </div>
      <Trouble messages={faults.map(({ message }) => message)} />
    </fieldset>
  )
}

function Reach({ value, name, says, isChosen }: { value: string; name: string; says: string; isChosen: boolean }) {
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
        <span className="block text-sm text-muted">{says}</span>
      </span>
    </label>
  )
}

/** A form that a second press does not send again, until the person comes back to the page. */
function useOnce() {
  const [isSent, setIsSent] = useState(false)
  useEffect(() => {
    const begin = () => setIsSent(false)
    window.addEventListener('pageshow', begin)
    return () => window.removeEventListener('pageshow', begin)
  }, [])
  const once = (event: { preventDefault: () => void }) => (isSent ? event.preventDefault() : setIsSent(true))
  return { isSent, once }
}
