import { Outlet } from '@remix-run/react'
import type { Handle } from '../root.tsx'
import { Sections } from '../ui/sections.tsx'

export const handle: Handle = { bare: true }

const pages = [
  { to: '/docs', name: 'Reference', end: true },
  { to: '/docs/webhooks', name: 'Webhooks' },
  { to: '/docs/errors', name: 'Errors' },
]

export default function Docs() {
  return (
    <>
      <Sections label="Documentation" pages={pages} />
      <Outlet />
    </>
  )
}
