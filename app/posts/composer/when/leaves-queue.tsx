import { useLoaderData } from '@remix-run/react'
import { type RefObject, useRef } from 'react'
import type { Post } from '../../../../jobs/ledger/post-view.ts'
import type { NamedQueue } from '../../../queues/names.ts'
import { queueStrings } from '../../../queues/strings.tsx'
import { useFormValues } from '../../../ui/forms/form-values.ts'
import { clockAt } from '../../../ui/time/time-zone.ts'

/** What saving does to the queue of the post that the page shows: another date takes it out. */
export function LeavesQueue({ zone }: { zone: string }) {
  const { post, queue } = useLoaderData() as { post?: Post; queue?: NamedQueue | null }
  const inside = useRef<HTMLParagraphElement>(null)
  const isOther = useIsOtherDate(post?.date ?? null, zone, inside)
  const sentence = !queue || !post ? null : isOther ? queueStrings.leaves(queue.name) : ofDraft(post, queue)
  return (
    <p
      ref={inside}
      role="status"
      data-leaves={isOther}
      className="order-last col-span-full text-sm text-muted empty:hidden data-[leaves=true]:text-warn"
    >
      {sentence}
    </p>
  )
}

function ofDraft({ type }: Post, { name }: NamedQueue): string | null {
  return type === 'draft' ? queueStrings.draftOf(name) : null
}

// As the composer's action compares them: the fields have no seconds.
function useIsOtherDate(before: string | null, zone: string, inside: RefObject<HTMLElement>): boolean {
  const [date] = useFormValues(inside, 'date') ?? []
  const [time] = useFormValues(inside, 'time') ?? []
  if (!before || !date || !time) return false
  const clock = clockAt(before, zone)
  return clock.date !== date || clock.time !== time
}
