import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

// The look of a field, its hint and its errors, for every form. Not in field.tsx, which needs Conform: the composer's pages
// don't load it.

const look =
  'block w-full rounded-lg border border-edge/70 bg-panel px-3 text-ink placeholder:text-muted hover:border-edge aria-[invalid]:border-bad'

/** An input or a select. It is as high as a button (button.tsx): browsers make each kind a little higher or lower. */
export const controlClass = `${look} h-10`

/** A field of several lines. */
export const textAreaClass = `${look} py-2`

/** The hint below a field, which names it by `id`. */
export function Hint({ id, children }: { id: string; children: ReactNode }) {
  if (!children) return null
  return (
    <p id={id} className="mt-1.5 text-sm text-muted">
      {children}
    </p>
  )
}

/** The errors of a field, which names them by `id`. Nothing if there are none. */
export function FieldErrors({ id, errors }: { id: string; errors: string[] | undefined }) {
  if (!errors?.length) return null
  return (
    <ul id={id} className="mt-1.5 space-y-1 text-sm text-bad [overflow-wrap:anywhere]">
      {errors.map((error) => (
        <li key={error} className="flex gap-1.5">
          <CircleAlert aria-hidden className="mt-1 size-4 shrink-0" />
          {error}
        </li>
      ))}
    </ul>
  )
}
