import { NavLink, Outlet } from '@remix-run/react'
import type { Handle } from '../root.tsx'

export const handle: Handle = { bare: true }

const pages = [
  { to: '/docs', name: 'Reference' },
  { to: '/docs/errors', name: 'Errors' },
]

export default function Docs() {
  return (
    <>
      <nav aria-label="Documentation" className="mb-7 border-b border-line">
        <ul className="-mb-px flex gap-5">
          {pages.map(({ to, name }) => (
            <li key={to}>
              <NavLink
                to={to}
                end
                className="block whitespace-nowrap border-transparent border-b-2 py-2 font-medium text-muted text-sm hover:text-ink aria-[current]:border-accent-ink aria-[current]:text-ink"
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
