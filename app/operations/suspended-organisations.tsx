import { Instant } from '../shell/instant.tsx'
import { Card } from '../ui/page.tsx'
import { useOperations } from './operations.ts'
import { operationsStrings } from './strings.tsx'

const strings = operationsStrings.suspendedOrganisations

/** The organisations that an operator has suspended. None of their posts are sent. */
export function SuspendedOrganisations() {
  const { suspendedOrganisations, suspendedOrganisationCount } = useOperations()
  if (suspendedOrganisations.length === 0) return null
  return (
    <Card title={strings.title}>
      <ul className="-my-3 divide-y divide-line">
        {suspendedOrganisations.map(({ id, name, suspendedAt }) => (
          <li key={id} className="py-3">
            <p className="break-words font-medium">{name}</p>
            <p className="text-sm text-muted">{strings.suspendedOn(<Instant at={suspendedAt} />)}</p>
            <code className="mt-1 block break-all font-mono text-xs text-muted">{id}</code>
          </li>
        ))}
      </ul>
      {suspendedOrganisationCount > suspendedOrganisations.length ? (
        <p className="mt-5 text-sm text-muted">
          {strings.more(suspendedOrganisations.length, suspendedOrganisationCount)}
        </p>
      ) : null}
      <p className="mt-5 text-sm text-muted">
        {strings.unsuspend(<code className="font-mono">npm run admin -- unsuspend ORGANISATION</code>)}
      </p>
    </Card>
  )
}
