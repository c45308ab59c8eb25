import { Link, NavLink } from '@remix-run/react'
import { Logo } from '../shell/logo.tsx'
import { useCurrentInView } from '../ui/current-in-view.ts'

const pages = [
  { to: '/docs', name: 'Quickstart', end: true },
  { to: '/docs/authentication', name: 'Authentication' },
  { to: '/docs/posts', name: 'Posts' },
  { to: '/docs/channels', name: 'Channels' },
  { to: '/docs/media', name: 'Media' },
  { to: '/docs/webhooks', name: 'Webhooks' },
  { to: '/docs/oauth', name: 'OAuth apps' },
  { to: '/docs/errors', name: 'Errors' },
  { to: '/docs/limits', name: 'Limits and versions' },
  { to: '/docs/reference', name: 'Reference' },
]

/** The pages of the documentation: at the side, or in a row above on a small screen. */
export function DocsNav() {
  const list = useCurrentInView()
  return (
    <div className="mb-7 border-b border-line md:sticky md:top-10 md:mb-0 md:self-start md:border-0">
      <Link to="/" className="mb-3 flex items-center gap-2.5 font-semibold md:mb-5 md:px-3">
        <Logo className="size-7 shrink-0" />
        Punctual
      </Link>
      <nav aria-label="Documentation">
        <ul ref={list} className="-mb-px flex gap-5 overflow-x-auto md:m-0 md:flex-col md:gap-0.5 md:overflow-visible">
          {pages.map(({ to, name, end = false }) => (
            <li key={to}>
              <NavLink
                to={to}
                end={end}
                prefetch="intent"
                className="block whitespace-nowrap border-b-2 border-transparent py-2 font-medium text-muted text-sm hover:text-ink aria-[current]:border-accent-ink aria-[current]:text-ink md:rounded-lg md:border-0 md:px-3 md:py-1.5 md:aria-[current]:bg-accent/10 md:aria-[current]:text-accent-ink md:hover:bg-sunken"
              >
                {name}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  )
}
