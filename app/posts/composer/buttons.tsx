import type { Post } from '../../../jobs/ledger/post-view.ts'
import { AddToQueue } from '../../queues/add-to-queue.tsx'
import { Submit } from '../../ui/forms/button.tsx'
import type { Resend } from '../resend.tsx'
import { primaryKeys } from './keys.tsx'
import { composerStrings } from './strings.tsx'

const strings = composerStrings.buttons

type ButtonsProps = { post: Post | null; resend: Resend | null; isWaiting: boolean }

/** The name of the button that saves what is typed in a post that is there. Null: it is not there yet. */
export function savingButton(post: Post | null, resend: Resend | null): string | null {
  if (!post) return null
  return post.type === 'draft' ? strings.saveDraft : (resend?.save ?? strings.saveChanges)
}

/** In the order of the keyboard: the button that most people press comes first. */
export function Buttons({ post, resend, isWaiting }: ButtonsProps) {
  const isFixed = post !== null && post.type !== 'draft'
  return (
    <div
      data-action-bar
      className="rounded-b-2xl border-t border-line bg-canvas px-3 py-3 max-md:sticky max-md:bottom-[calc(3.4rem+env(safe-area-inset-bottom))] max-md:z-10 sm:px-6 md:bg-canvas/60 md:py-3.5"
    >
      <div className="flex items-center gap-2 max-md:-m-1 max-md:overflow-x-auto max-md:p-1 md:flex-wrap [&_button]:shrink-0 max-md:[&_button]:px-2.5">
        {isFixed ? (
          <Submit look="primary" name="intent" value="save" waits={isWaiting} {...primaryKeys}>
            {resend?.save ?? strings.saveChanges}
          </Submit>
        ) : (
          <>
            <Submit look="primary" name="intent" value="schedule" waits={isWaiting} {...primaryKeys}>
              {strings.schedule}
            </Submit>
            <Submit name="intent" value="now" waits={isWaiting}>
              {strings.publishNow}
            </Submit>
            <Submit name="intent" value="draft" waits={isWaiting}>
              {strings.saveDraft}
            </Submit>
          </>
        )}
        {post ? (
          <>
            <input type="hidden" name="type" value={post.type} />
            <Submit look="danger" name="intent" value="cancel" className="sm:ml-auto">
              {isFixed ? (resend?.cancel ?? strings.unschedule) : strings.deleteDraft}
            </Submit>
          </>
        ) : null}
      </div>
      {isFixed ? null : <AddToQueue isWaiting={isWaiting} />}
      <p role="status" className="mt-1.5 text-sm text-muted empty:hidden">
        {isWaiting ? strings.uploading : ''}
      </p>
    </div>
  )
}
