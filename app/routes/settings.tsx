import { NavLink, Outlet } from '@remix-run/react'

const pages = [
  { to: '/settings/account', name: 'Account' },
  { to: '/settings/approved-apps', name: 'Approved apps' },
  { to: '/settings/activity', name: 'Activity' },
  { to: '/settings/developers/access', name: 'Developers › Access' },
  { to: '/settings/developers/apps', name: 'Developers › Apps' },
]

export default function Settings() {
  return (
    <>
      <nav aria-label="Settings" className="mb-7 border-b border-line">
        <ul className="-mb-px flex gap-5 overflow-x-auto">
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
