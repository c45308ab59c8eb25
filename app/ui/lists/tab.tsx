import { Link } from '@remix-run/react'

/** A link to one view of a list. */
export function Tab({ to, name, isCurrent }: { to: string; name: string; isCurrent: boolean }) {
  return (
    <li>
      <Link
        to={to}
        prefetch="intent"
        preventScrollReset
        aria-current={isCurrent ? 'page' : undefined}
        className="block whitespace-nowrap rounded-full px-3 py-1 text-sm font-medium text-muted hover:bg-sunken hover:text-ink aria-[current]:bg-ink aria-[current]:text-canvas"
      >
        {name}
      </Link>
    </li>
  )
}
