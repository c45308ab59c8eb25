import { NavLink } from '@remix-run/react'
import { useCurrentInView } from './current-in-view.ts'

/**
 * A row of links to pages that belong together. `end`: the link is current only at exactly that path, not below it.
 * Of neighbours named `Group › Page` only the first shows its group, because all of them would not fit.
 */
export function Sections({ label, pages }: { label: string; pages: { to: string; name: string; end?: boolean }[] }) {
  const list = useCurrentInView()
  return (
    <nav aria-label={label} className="mb-7 border-b border-line">
      <ul ref={list} className="-mb-px flex gap-5 overflow-x-auto">
        {pages.map(({ to, name, end = false }, i) => (
          <li key={to}>
            <NavLink
              to={to}
              end={end}
              prefetch="intent"
              className="relative block whitespace-nowrap border-b-2 border-transparent py-2 text-sm font-medium text-muted hover:text-ink aria-[current]:border-accent-ink aria-[current]:text-ink"
            >
              <Name of={name} after={pages[i - 1]?.name} />
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Name({ of: name, after = '' }: { of: string; after?: string | undefined }) {
  const group = /^.* › /.exec(name)?.[0]
  if (!group || !after.startsWith(group)) return name
  return (
    <>
      <span className="sr-only">{group}</span>
      {name.slice(group.length)}
    </>
  )
}
