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

const tones = {
  good: 'bg-good/10 text-good',
  calm: 'bg-sunken text-muted',
  busy: 'bg-accent/10 text-accent-ink',
  warn: 'bg-warn/10 text-warn',
  bad: 'bg-bad/10 text-bad',
}

type Look = { name: string; icon: LucideIcon; tone: keyof typeof tones }

const looks: Record<PostStatus, Look> = {
  DRAFT: { name: 'Draft', icon: CircleDashed, tone: 'calm' },
  SCHEDULED: { name: 'Scheduled', icon: Clock, tone: 'busy' },
  PUBLISHING: { name: 'Publishing', icon: LoaderCircle, tone: 'busy' },
  PUBLISHED: { name: 'Published', icon: CircleCheck, tone: 'good' },
  PARTIALLY_PUBLISHED: { name: 'Partly published', icon: CircleX, tone: 'warn' },
  HELD: { name: 'Held', icon: CirclePause, tone: 'warn' },
  FAILED: { name: 'Failed', icon: CircleX, tone: 'bad' },
  NEEDS_REVIEW: { name: 'Needs review', icon: CircleHelp, tone: 'warn' },
  CANCELLED: { name: 'Cancelled', icon: Ban, tone: 'calm' },
}

/** Where a post or a delivery is, in a word. */
export function Status({ of: status }: { of: PostStatus }) {
  return <Pill {...looks[status]} isMoving={status === 'PUBLISHING'} />
}

/** A state in a word, with its colour and sign. */
export function Pill({ name, icon: Icon, tone, isMoving = false }: Look & { isMoving?: boolean }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-0.5 text-xs font-medium ${tones[tone]}`}
    >
      <Icon aria-hidden className={`size-3.5 ${isMoving ? 'motion-safe:animate-spin' : ''}`} />
      {name}
    </span>
  )
}
