import { Link } from '@remix-run/react'
import { docsStrings, referenceStrings } from './strings.tsx'

/** Above each page of the reference. */
export function BackToReference() {
  return (
    <p className="mb-2 text-sm">
      <Link to="/docs/reference" className="text-accent-ink hover:underline">
        {docsStrings.pages.reference}
      </Link>
    </p>
  )
}

/** The heading of a group of endpoints, from the first segment of their paths. */
export function headingOf(group: string): string {
  return group === 'openapi.json' ? referenceStrings.openApiGroup : `${group[0]?.toUpperCase()}${group.slice(1)}`
}
