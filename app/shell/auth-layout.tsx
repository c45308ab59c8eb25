import type { ReactNode } from 'react'
import { Logo } from './logo.tsx'

/** A page without navigation: one box, and a link to another page below it. */
export function AuthLayout({
  title,
  lead,
  foot,
  children,
}: {
  title: string
  lead?: string
  foot: ReactNode
  children: ReactNode
}) {
  return (
    <div className="mx-auto max-w-sm">
      <Logo className="mx-auto size-11" />
      <h1 tabIndex={-1} className="mt-5 text-center text-2xl font-semibold tracking-tight">
        {title}
      </h1>
      {lead ? <p className="mt-1.5 text-center text-muted">{lead}</p> : null}
      <div className="mt-7 rounded-2xl border border-line bg-panel p-6 shadow-sm">{children}</div>
      {foot ? (
        <p className="mt-5 text-center text-sm text-muted [&_a]:font-medium [&_a]:text-accent-ink [&_a]:underline [&_a]:underline-offset-2">
          {foot}
        </p>
      ) : null}
    </div>
  )
}
