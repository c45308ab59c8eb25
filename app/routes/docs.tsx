import { Outlet } from '@remix-run/react'
import { DocsNav } from '../docs/docs-nav.tsx'
import type { Handle } from '../shell/shell.tsx'

export const handle: Handle = { bare: true, wide: true }

export default function Docs() {
  return (
    <div className="md:grid md:grid-cols-[12rem_minmax(0,1fr)] md:gap-12">
      <DocsNav />
      <Outlet />
    </div>
  )
}
