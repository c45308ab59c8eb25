import { CircleCheck } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'

/** Says what an action did, when the form that did it is no longer on the page. Takes the focus. */
export function Notice({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <div // it may hold a form
      ref={box}
      role="status"
      tabIndex={-1}
      className="mb-5 flex items-center gap-2 rounded-lg bg-good/10 px-3.5 py-2.5 text-sm text-good"
    >
      <CircleCheck aria-hidden className="size-4 shrink-0" />
      <div className="min-w-0 break-words">{children}</div>
    </div>
  )
}
