import { useLocation } from '@remix-run/react'
import { CircleCheck } from 'lucide-react'
import { DateTime } from 'luxon'
import type { ReactNode } from 'react'
import { type NamedQueue, nameOf } from '../../queues/names.ts'
import { useZone } from '../../shell/account.ts'
import { PostForm } from '../../shell/post-form.tsx'
import { Alert } from '../../ui/alert.tsx'
import { Submit } from '../../ui/forms/button.tsx'
import { Notice } from '../../ui/notice.tsx'
import { type Habits, timeOf } from '../days.ts'
import { calendarStrings } from '../strings.tsx'
import type { Before, Moved } from './move.ts'
import { MoveFields } from './move-fields.tsx'
import type { Outcome } from './use-moves.ts'

const strings = calendarStrings.move

type LastMoveProps = { outcome: Outcome | null; queues: NamedQueue[]; habits: Habits }

/** What the last move did, with Undo, or why it was refused. */
export function LastMove({ outcome, queues, habits }: LastMoveProps) {
  const zone = useZone()
  const { key } = useLocation() // the same sentence is announced again after the next press
  if (!outcome) return null
  if ('refused' in outcome) return <Alert className="mb-5">{outcome.refused}</Alert>
  const { moved } = outcome
  const Box = moved.by === 'drag' ? Said : Notice
  return (
    <Box key={`${key} ${moved.how} ${moved.at}`}>
      {sentenceOf(moved, zone, habits)} {ofQueue(moved, queues)}
      {moved.before ? <Undo {...moved.before} /> : null}
    </Box>
  )
}

// Unlike Notice, it leaves the focus on the post that was dragged.
function Said({ children }: { children: ReactNode }) {
  return (
    <div role="status" className="mb-5 flex items-center gap-2 rounded-lg bg-good/10 px-3.5 py-2.5 text-sm text-good">
      <CircleCheck aria-hidden className="size-4 shrink-0" />
      <div>{children}</div>
    </div>
  )
}

function Undo({ id, version, at, queueId }: Before) {
  const here = useLocation()
  return (
    <PostForm action={here.pathname + here.search} preventScrollReset className="inline">
      <MoveFields id={id} version={version} from={at} queueId={queueId} />
      <Submit look="plain" name="intent" value="undo" className="ml-2">
        {strings.undo}
      </Submit>
    </PostForm>
  )
}

function sentenceOf({ how, at }: Moved, zone: string, habits: Habits): string {
  const day = DateTime.fromISO(at, { zone, locale: 'en' }).toFormat('ccc d LLL yyyy')
  return strings[how](`${day}, ${timeOf(at, zone, habits)}`)
}

function ofQueue({ how, queueId, isQueued }: Moved, queues: NamedQueue[]): string {
  if (queueId === null || how === 'same') return ''
  const name = nameOf(queues, queueId)
  if (how === 'back') return isQueued ? strings.queue.again(name) : strings.queue.noLonger(name)
  return isQueued ? '' : strings.queue.left(name)
}
