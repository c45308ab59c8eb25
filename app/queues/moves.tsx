import { textOf } from '../../jobs/networks/text-length.ts'
import { Instant } from '../shell/instant.tsx'
import { PostForm } from '../shell/post-form.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { Card } from '../ui/page.tsx'
import type { Move, Waiting } from './queue.ts'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.moves

/** After a change of the weekly times: which posts would move, and where. Nothing moves before the button is pressed. */
export function Moves({ moves, waiting }: { moves: Move[]; waiting: Waiting[] }) {
  const texts = new Map(waiting.map((post) => [post.id, textOf(post)]))
  return (
    <Card title={strings.title} lead={strings.lead}>
      <ul className="divide-y divide-line text-sm">
        {moves.map(({ postId, from, date }) => (
          <li key={postId} className="py-2">
            <p className="truncate font-medium">{texts.get(postId) || queueStrings.waiting.noText}</p>
            <p className="text-muted">{strings.fromTo(<Instant at={from} />, <Instant at={date} />)}</p>
          </li>
        ))}
      </ul>
      <PostForm className="mt-4">
        <input type="hidden" name="moves" value={moves.map(({ postId, date }) => `${postId} ${date}`).join(',')} />
        <Submit name="intent" value="move">
          {strings.submit(moves.length)}
        </Submit>
      </PostForm>
    </Card>
  )
}
