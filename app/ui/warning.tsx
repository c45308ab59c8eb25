import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

/** A box about something that needs attention. */
export function Warning({ children }: { children: ReactNode }) {
  return (
    <div role="status" className="mb-5 flex gap-2.5 rounded-lg bg-warn/10 px-3.5 py-2.5 text-sm text-warn">
      <TriangleAlert aria-hidden className="mt-1 size-4 shrink-0" />
      <div className="min-w-0 space-y-1.5 break-words">{children}</div>
    </div>
  )
}
