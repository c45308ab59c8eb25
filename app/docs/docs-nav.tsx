import { Link, NavLink } from '@remix-run/react'
import { Logo } from '../shell/logo.tsx'
import { useCurrentInView } from '../ui/current-in-view.ts'
import { docsStrings } from './strings.tsx'

const names = docsStrings.pages

const pages = [
  { to: '/docs', name: names.quickstart, end: true },
  { to: '/docs/authentication', name: names.authentication },
  { to: '/docs/posts', name: names.posts },
  { to: '/docs/queues', name: names.queues },
  { to: '/docs/channels', name: names.channels },
  { to: '/docs/media', name: names.media },
  { to: '/docs/webhooks', name: names.webhooks },
  { to: '/docs/oauth', name: names.oauth },
  { to: '/docs/errors', name: names.errors },
  { to: '/docs/limits', name: names.limits },
  { to: '/docs/reference', name: names.reference },
]

/** The pages of the documentation: at the side, or in a row above on a small screen. */
export function DocsNav() {
  const list = useCurrentInView()
  return (
    <div className="mb-7 border-b border-line md:sticky md:top-10 md:mb-0 md:self-start md:border-0">
      <Link to="/" className="mb-3 flex items-center gap-2.5 font-semibold md:mb-5 md:px-3">
        <Logo className="size-7 shrink-0" />
        {docsStrings.product}
      </Link>
      <nav aria-label={docsStrings.navigation}>
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
