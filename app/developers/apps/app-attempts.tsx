import { CircleCheck, CircleX } from 'lucide-react'
import { Instant } from '../../shell/instant.tsx'
import { Card } from '../../ui/page.tsx'
import { tryStrings } from './strings.tsx'

const strings = tryStrings.attempts

type Attempt = {
  id: string
  at: string
  step: string
  outcome: string
  description: string | null
  address: string | null
}

const steps: Record<string, string> = strings.steps
const successes: Record<string, string> = strings.successes
const failures: Record<string, string> = strings.failures

/** The last attempts to use an app, newest first, for a developer whose flow fails. */
export function AppAttempts({ attempts }: { attempts: Attempt[] }) {
  return (
    <Card title={strings.title} lead={strings.lead}>
      {attempts.length === 0 ? <p className="text-sm text-muted">{strings.none}</p> : null}
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
  const said = isGood ? (successes[step] ?? strings.success) : (failures[outcome] ?? strings.failure(outcome))
  const Icon = isGood ? CircleCheck : CircleX
  return (
    <li className="flex gap-3 py-3">
      <Icon aria-hidden className={`mt-1 size-4 shrink-0 ${isGood ? 'text-good' : 'text-bad'}`} />
      <div className="min-w-0">
        <p>{strings.result(<span className="font-medium">{steps[step] ?? step}</span>, said)}</p>
        {description ? <p className="text-muted">{description}</p> : null}
        <p className="text-muted">
          {address ? strings.atFrom(<Instant at={at} form="exact" />, address) : <Instant at={at} form="exact" />}
        </p>
      </div>
    </li>
  )
}
