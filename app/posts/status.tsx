import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CirclePause,
  CircleX,
  Clock,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import type { PostStatus } from '../../jobs/ledger/post-view.ts'
import { Pill, type Tone } from '../ui/status.tsx'
import { postStrings } from './strings.tsx'

const looks: Record<PostStatus, { icon: LucideIcon; tone: Tone }> = {
  DRAFT: { icon: CircleDashed, tone: 'calm' },
  SCHEDULED: { icon: Clock, tone: 'busy' },
  PUBLISHING: { icon: LoaderCircle, tone: 'busy' },
  PUBLISHED: { icon: CircleCheck, tone: 'good' },
  PARTIALLY_PUBLISHED: { icon: CircleX, tone: 'warn' },
  HELD: { icon: CirclePause, tone: 'warn' },
  FAILED: { icon: CircleX, tone: 'bad' },
  NEEDS_REVIEW: { icon: CircleHelp, tone: 'warn' },
  CANCELLED: { icon: Ban, tone: 'calm' },
}

const inks: Record<Tone, string> = {
  calm: 'text-muted',
  busy: 'text-accent-ink',
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
}

/** A status as an icon, for where there is no room for its word. Screen readers get the word. */
export function StatusIcon({ of: status }: { of: PostStatus }) {
  const { icon: Icon, tone } = looks[status]
  return (
    <>
      <Icon aria-hidden className={`size-3.5 shrink-0 ${inks[tone]}`} />
      <span className="sr-only">{postStrings.statuses[status]}</span>
    </>
  )
}

/** The status of a post or a delivery. */
export function Status({ of: status }: { of: PostStatus }) {
  return <Pill name={postStrings.statuses[status]} {...looks[status]} isMoving={status === 'PUBLISHING'} />
}
