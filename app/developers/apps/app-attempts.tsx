import { CircleCheck, CircleX } from 'lucide-react'
import { Instant } from '../../shell/instant.tsx'
import { Card } from '../../ui/page.tsx'

type Attempt = {
  id: string
  at: string
  step: string
  outcome: string
  description: string | null
  address: string | null
}

const steps: Record<string, string> = {
  authorize: 'Authorize link',
  consent: 'Consent',
  token: 'Exchange of a code',
  revoke: 'Revocation of a token',
  introspect: 'Introspection of a token',
}

const outcomes: Record<string, string> = {
  redirect_uri: 'Refused, nobody was sent back',
  access_denied: 'Denied',
}

const fine: Record<string, string> = { consent: 'Approved', token: 'A token was given' }

/** What was lately tried with an app, latest first: what a developer looks at whose flow fails. */
export function AppAttempts({ attempts }: { attempts: Attempt[] }) {
  return (
    <Card
      title="Last attempts"
      lead="The last 50 authorisations, consents and exchanges each, and calls with a wrong secret, without secrets and codes."
    >
      {attempts.length === 0 ? <p className="text-sm text-muted">Nothing was tried yet.</p> : null}
      <ol className="-mb-2 divide-y divide-line text-sm">
        {attempts.map((attempt) => (
          <Row key={attempt.id} attempt={attempt} />
        ))}
      </ol>
    </Card>
  )
}

function Row({ attempt: { at, step, outcome, description, address } }: { attempt: Attempt }) {
  const isGood = outcome === 'ok'
  const Icon = isGood ? CircleCheck : CircleX
  return (
    <li className="flex gap-3 py-3">
      <Icon aria-hidden className={`mt-1 size-4 shrink-0 ${isGood ? 'text-good' : 'text-bad'}`} />
      <div className="min-w-0">
        <p>
          <span className="font-medium">{steps[step] ?? step}</span>:{' '}
          {isGood ? (fine[step] ?? 'Fine') : (outcomes[outcome] ?? `Refused (${outcome})`)}
        </p>
        {description ? <p className="text-muted">{description}</p> : null}
        <p className="text-muted">
          <Instant at={at} form="exact" />
          {address ? ` from ${address}` : ''}
        </p>
      </div>
    </li>
  )
}
