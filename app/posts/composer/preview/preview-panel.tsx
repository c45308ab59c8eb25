import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type { Preview } from '../../../../jobs/networks/network.ts'
import { controlClass } from '../../../ui/forms/control.tsx'
import type { Verdict } from '../checks/checks.ts'
import { composerStrings } from '../strings.tsx'
import { PreviewCard } from './preview-card.tsx'

const strings = composerStrings.preview

/** How each network shows a post, by the key of the network. */
export type Previews = Record<string, Preview>

const plain: Preview = { handle: 'hidden', marks: [], media: 'grid', textSize: 'normal' }

/** How the post will look on one chosen channel at a time. It can be folded away. */
export function PreviewPanel({ verdicts, previews }: { verdicts: Verdict[]; previews: Previews }) {
  const [wanted, setWanted] = useState('')
  const shown = verdicts.find(({ channel }) => channel.id === wanted) ?? verdicts[0]
  return (
    <section aria-label={strings.label} className="mt-6 xl:sticky xl:top-6 xl:mt-0">
      <details open className="group rounded-2xl border border-line bg-panel shadow-sm">
        <summary className="flex items-center gap-2 rounded-2xl px-5 py-3.5 text-sm font-medium">
          <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
          {strings.label}
        </summary>
        <div className="space-y-4 border-t border-line p-5">
          {verdicts.length > 1 && shown ? (
            <select
              aria-label={strings.channel}
              value={shown.channel.id}
              onChange={(event) => setWanted(event.currentTarget.value)}
              className={`${controlClass} text-sm`}
            >
              {verdicts.map(({ channel }) => (
                <option key={channel.id} value={channel.id}>
                  {channel.name}
                </option>
              ))}
            </select>
          ) : null}
          {shown ? (
            <PreviewCard verdict={shown} preview={previews[shown.channel.network] ?? plain} />
          ) : (
            <p className="text-sm text-muted">{strings.noChannel}</p>
          )}
        </div>
      </details>
    </section>
  )
}
