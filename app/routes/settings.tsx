import { NavLink, Outlet, useLocation } from '@remix-run/react'
import { useEffect, useRef } from 'react'

const pages = [
  { to: '/settings/account', name: 'Account' },
  { to: '/settings/approved-apps', name: 'Approved apps' },
  { to: '/settings/activity', name: 'Activity' },
  { to: '/settings/developers/access', name: 'Developers › Access' },
  { to: '/settings/developers/apps', name: 'Developers › Apps' },
]

export default function Settings() {
  const list = useCurrentInView()
  return (
    <>
      <nav aria-label="Settings" className="mb-7 border-b border-line">
        <ul ref={list} className="-mb-px flex gap-5 overflow-x-auto">
          {pages.map(({ to, name }) => (
            <li key={to}>
              <NavLink
                to={to}
                prefetch="intent"
                className="block whitespace-nowrap border-b-2 border-transparent py-2 text-sm font-medium text-muted hover:text-ink aria-[current]:border-accent-ink aria-[current]:text-ink"
              >
                {name}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <Outlet />
    </>
  )
}

/** On a small screen the row of pages is longer than it is wide: where one is must be seen. */
function useCurrentInView() {
  const list = useRef<HTMLUListElement>(null)
  const { pathname } = useLocation()
  useEffect(() => {
    if (pathname) list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [pathname])
  return list
}
