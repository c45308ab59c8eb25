import type { ReactNode } from 'react'

/** Why what was just asked for was not done. */
export function Alert({ className, children }: { className: string; children: ReactNode }) {
  return (
    <p role="alert" className={`rounded-lg bg-bad/10 px-3.5 py-2.5 text-sm text-bad ${className}`}>
      {children}
    </p>
  )
}
