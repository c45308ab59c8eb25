import { ArrowRight, Check } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Consent } from '../../../server/oauth/authorize.ts'
import { scopeWords } from '../../../server/words.ts'
import { Logo } from '../../shell/logo.tsx'
import { Button } from '../../ui/forms/button.tsx'
import { AppMark } from './app-mark.tsx'
import { ChannelChoice, type Chosen, isOfChannels, OrganisationChoice, Trouble } from './consent-choices.tsx'
import { consentStrings } from './strings.tsx'

type Props = { consent: Consent; person: string; chosen: Chosen | undefined }

/** Asks a person whether an app may act for one of their organisations. All of it works without a script. */
export function ConsentForm({ consent, person, chosen }: Props) {
  const [organisationId, setOrganisationId] = useState(chosen?.organisationId || consent.organisationId)
  const { organisations } = consent
  const organisation = organisations.find(({ id }) => id === organisationId) ?? organisations[0]
  const { isSent, once } = useOnce()
  return (
    <div className="mx-auto max-w-lg">
      <Head app={consent.app} organisation={organisation?.name ?? consentStrings.noOrganisation} />
      {/* No action: the request goes back to this very address, byte for byte. */}
      <form
        id={FormId}
        method="post"
        autoComplete="off" // a browser would restore an organisation that the heading does not name
        onSubmit={once}
        className="mt-7 flex flex-col gap-6 rounded-2xl border border-line bg-panel p-6 shadow-sm"
      >
        <NothingOnEnter />
        <Trouble messages={generalTrouble(chosen)} />
        {consent.app.description ? <p className="break-words">{consent.app.description}</p> : null}
        {organisation ? (
          <Grant consent={consent} organisation={organisation} chosen={chosen} onChoose={setOrganisationId} />
        ) : (
          <p>{consentStrings.forManagersOnly}</p>
        )}
        <Destination of={consent} />
        <Decision request={consent.request} mayApprove={organisation !== undefined} isSent={isSent} />
      </form>
      <Foot person={person} mayApprove={organisation !== undefined} />
    </div>
  )
}

const FormId = 'consent'

function Head({ app, organisation }: { app: Consent['app']; organisation: string }) {
  return (
    <>
      <div className="flex items-center justify-center gap-3">
        <AppMark app={app} size="size-14" />
        <ArrowRight aria-hidden className="size-5 text-muted" />
        <Logo className="size-14 shrink-0" />
      </div>
      <h1 tabIndex={-1} className="mt-5 break-words text-center text-2xl font-semibold tracking-tight">
        {consentStrings.heading(<bdi>{app.name}</bdi>, <bdi>{organisation}</bdi>)}
      </h1>
      <p className="mt-1.5 break-words text-center text-muted">{consentStrings.maker(<bdi>{app.maker}</bdi>)}</p>
    </>
  )
}

// Enter presses a form's first enabled button: this one, not the one that denies. Without a script it reloads the page.
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

// Messages about channels are beside the channels.
function generalTrouble(chosen: Chosen | undefined): string[] {
  if (!chosen?.problem) return []
  const { errors, detail } = chosen.problem
  return errors.length === 0 ? [detail] : errors.filter((fault) => !isOfChannels(fault)).map(({ message }) => message)
}

type GrantProps = {
  consent: Consent
  organisation: Consent['organisations'][number]
  chosen: Chosen | undefined
  onChoose: (organisationId: string) => void
}

/** What the app gets when the person approves it. */
function Grant({ consent, organisation, chosen, onChoose }: GrantProps) {
  return (
    <>
      <Scopes scopes={consent.scopes} />
      <OrganisationChoice organisations={consent.organisations} organisation={organisation} onChoose={onChoose} />
      <ChannelChoice
        key={organisation.id}
        organisation={organisation}
        chosen={chosen?.organisationId === organisation.id ? chosen : undefined}
      />
    </>
  )
}

function Scopes({ scopes }: { scopes: Consent['scopes'] }) {
  return (
    <section aria-labelledby="scopes">
      <h2 id="scopes" className="mb-2 text-sm font-medium">
        {consentStrings.scopes}
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

function Destination({ of: { goesTo } }: { of: Consent }) {
  return (
    <p className="flex gap-2 text-sm text-muted">
      <ArrowRight aria-hidden className="mt-1 size-4 shrink-0" />
      <span className="min-w-0 break-words">
        {consentStrings.goesTo(<strong className="font-medium text-ink">{goesTo}</strong>)}
      </span>
    </p>
  )
}

type DecisionProps = { request: string; mayApprove: boolean; isSent: boolean }

function Decision({ request, mayApprove, isSent }: DecisionProps) {
  return (
    <div className="flex gap-3 [&>*]:flex-1 [&>[aria-disabled]]:opacity-60">
      <input type="hidden" name="request" value={request} />
      <Button type="submit" name="decision" value="deny" formNoValidate aria-disabled={isSent || undefined}>
        {mayApprove ? consentStrings.deny : consentStrings.goBack}
      </Button>
      {mayApprove ? (
        <Button type="submit" name="decision" value="approve" look="primary" aria-disabled={isSent || undefined}>
          {consentStrings.approve}
        </Button>
      ) : null}
    </div>
  )
}

function Foot({ person, mayApprove }: { person: string; mayApprove: boolean }) {
  const change = (
    <button
      type="submit"
      form={FormId}
      name="decision"
      value="leave"
      formNoValidate
      className="font-medium text-accent-ink underline underline-offset-2"
    >
      {consentStrings.signInAsOther}
    </button>
  )
  return (
    <>
      <p className="mt-5 text-center text-sm text-muted">{consentStrings.signedInAs(person, change)}</p>
      {mayApprove ? <p className="mt-2 text-center text-sm text-muted">{consentStrings.revocable}</p> : null}
    </>
  )
}

/** Sends a form once: a second press does nothing until the person comes back to the page. */
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
