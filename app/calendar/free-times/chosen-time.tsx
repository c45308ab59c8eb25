import { CalendarPlus } from 'lucide-react'
import { Instant } from '../../shell/instant.tsx'
import { calendarStrings } from '../strings.tsx'
import type { Chosen } from './taking.ts'

/** Above the composer: which free time the post takes. */
export function ChosenTime({ at, name }: Chosen) {
  return (
    <p className="mb-5 flex items-start gap-2 rounded-lg border border-dashed border-edge px-3.5 py-2.5 text-sm">
      <CalendarPlus aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">{calendarStrings.queue.takes(name, <Instant at={at} />)}</span>
    </p>
  )
}
