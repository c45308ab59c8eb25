import { Link } from '@remix-run/react'

/** Above each page of the reference. */
export function BackToReference() {
  return (
    <p className="mb-2 text-sm">
      <Link to="/docs/reference" className="text-accent-ink hover:underline">
        API reference
      </Link>
    </p>
  )
}

/** A group of endpoints, by the first step of their paths, as a heading. */
export function headingOf(group: string): string {
  return group === 'openapi.json' ? 'OpenAPI document' : `${group[0]?.toUpperCase()}${group.slice(1)}`
}
