import { PostForm } from '../shell/post-form.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { postStrings } from './strings.tsx'

/** Beside the sentence that a post was unscheduled. Schedules it again on these channels. */
export function UndoUnschedule({ channelIds }: { channelIds: string[] }) {
  return (
    <PostForm className="inline">
      {channelIds.map((id) => (
        <input key={id} type="hidden" name="channelIds" value={id} />
      ))}
      <UndoButton does="schedule-again" />
    </PostForm>
  )
}

/** Beside the sentence that the draft `id` was deleted. */
export function UndoDelete({ id }: { id: string }) {
  return (
    <PostForm action={`/posts/${id}`} className="inline">
      <UndoButton does="restore" />
    </PostForm>
  )
}

function UndoButton({ does }: { does: 'schedule-again' | 'restore' }) {
  return (
    <Submit look="plain" name="intent" value={does} className="ml-2">
      {postStrings.undo}
    </Submit>
  )
}
