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

const looks: Record<PostStatus, { name: string; icon: LucideIcon; tone: Tone }> = {
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

/** The status of a post or a delivery. */
export function Status({ of: status }: { of: PostStatus }) {
  return <Pill {...looks[status]} isMoving={status === 'PUBLISHING'} />
}
