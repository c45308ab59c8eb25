import { Outlet } from '@remix-run/react'
import type { Handle } from '../root.tsx'
import { DocsNav } from '../ui/docs-nav.tsx'

export const handle: Handle = { bare: true, wide: true }

export default function Docs() {
  return (
    <div className="md:grid md:grid-cols-[12rem_minmax(0,1fr)] md:gap-12">
      <DocsNav />
      <Outlet />
    </div>
  )
}
