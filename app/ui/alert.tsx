import type { ReactNode } from 'react'

/** Says why the last action failed. */
export function Alert({ className, children }: { className: string; children: ReactNode }) {
  return (
    <p role="alert" className={`rounded-lg bg-bad/10 px-3.5 py-2.5 text-sm text-bad ${className}`}>
      {children}
    </p>
  )
}
