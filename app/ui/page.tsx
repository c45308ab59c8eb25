import { type ReactNode, useEffect, useRef } from 'react'

/** A page's heading, with its buttons as `children`. */
export function PageHead({ title, lead, children }: { title: string; lead?: ReactNode; children?: ReactNode }) {
  return (
    <div className="mb-6 flex flex-wrap items-center justify-between gap-x-4 gap-y-3">
      <div className="min-w-0">
        <h1 tabIndex={-1} className="break-words text-2xl font-semibold tracking-tight">
          {title}
        </h1>
        {lead ? <p className="mt-1 text-muted">{lead}</p> : null}
      </div>
      {children ? <div className="flex flex-wrap gap-2">{children}</div> : null}
    </div>
  )
}

/** A box with its own heading. */
export function Card({ title, lead, children }: { title?: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <section className="rounded-2xl border border-line bg-panel p-5 shadow-sm sm:p-6">
      {title ? <h2 className="font-semibold">{title}</h2> : null}
      {lead ? <p className="mt-1 text-sm text-muted">{lead}</p> : null}
      <div className={title ? 'mt-4' : ''}>{children}</div>
    </section>
  )
}

/** A box that a person has just opened. Its heading takes the focus. */
export function Panel({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section aria-label={title} className="rounded-2xl border border-accent/40 bg-panel p-5 shadow-md sm:p-6">
      <h2 ref={heading} tabIndex={-1} className="font-semibold">
        {title}
      </h2>
      {lead ? <p className="mt-1 text-sm text-muted">{lead}</p> : null}
      <div className="mt-4">{children}</div>
    </section>
  )
}

/** An empty state: what would be here, and how to add the first one. */
export function Empty({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <div className="rounded-2xl border border-dashed border-edge/60 px-6 py-12 text-center">
      <div className="mx-auto mb-3 grid size-11 place-items-center rounded-xl bg-accent/10 text-accent-ink [&_svg]:size-5">
        {icon}
      </div>
      <h2 className="font-semibold">{title}</h2>
      <div className="mx-auto mt-1 max-w-md space-y-4 text-muted">{children}</div>
    </div>
  )
}
