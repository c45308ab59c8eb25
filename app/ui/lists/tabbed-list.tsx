import type { ComponentProps, ReactElement, ReactNode } from 'react'
import { Paging } from './paging.tsx'
import { Tab } from './tab.tsx'

type Props = {
  id: string
  title: string
  tabs: ComponentProps<typeof Tab>[]
  lead: ReactNode
  rows: ReactElement[]
  none: string
  paging: ComponentProps<typeof Paging>
}

/** A long list, one view and one page at a time. `none` is shown when it is empty. Each row has a key. */
export function TabbedList({ id, title, tabs, lead, rows, none, paging }: Props) {
  return (
    <section aria-labelledby={id} className="rounded-2xl border border-line bg-panel shadow-sm">
      <div className="space-y-3 px-5 py-4 sm:px-6">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        <nav aria-labelledby={id}>
          <ul className="-ml-3 flex flex-wrap gap-1">
            {tabs.map((tab) => (
              <Tab key={tab.to} {...tab} />
            ))}
          </ul>
        </nav>
        {lead}
      </div>
      {rows.length > 0 ? (
        <ol className="divide-y divide-line border-t border-line">
          {rows.map((row) => (
            <li key={row.key} className="px-5 py-4 sm:px-6">
              {row}
            </li>
          ))}
        </ol>
      ) : (
        <p className="border-t border-line px-5 py-8 text-center text-sm text-muted">{none}</p>
      )}
      <Paging {...paging} className="border-t border-line px-5 py-4 sm:px-6" />
    </section>
  )
}
