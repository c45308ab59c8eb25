import { Link } from '@remix-run/react'
import { CalendarPlus, ListOrdered } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { CalendarPost, FreeTime } from '../../../server/posts/calendar.ts'
import { FileCount } from '../../posts/file-count.tsx'
import { Status } from '../../posts/status.tsx'
import { type NamedQueue, nameOf } from '../../queues/names.ts'
import { useZone } from '../../shell/account.ts'
import { useMay } from '../../shell/permissions.ts'
import { useAddress } from '../address.ts'
import { type Habits, timeOf } from '../days.ts'
import { composerAt } from '../free-times/composer-address.ts'
import { isMovable } from '../moves/movable.ts'
import { calendarStrings as strings } from '../strings.tsx'

type PostRowProps = { post: CalendarPost; channels: Channel[]; queues: NamedQueue[]; habits: Habits }

/** A post in the list, with its queue and the link that moves it. */
export function PostRow({ post, channels, queues, habits }: PostRowProps) {
  const addressOf = useAddress()
  const { write } = useMay()
  const text = post.text.trim() || strings.noText
  return (
    <Row at={post.date} habits={habits}>
      <div className="w-full min-w-0 flex-1 basis-56">
        <Link to={`/posts/${post.id}`} dir="auto" className="line-clamp-2 break-words font-medium hover:underline">
          {text}
        </Link>
        <p className="truncate text-sm text-muted">{namesOf(post, channels)}</p>
        {post.queueId ? (
          <p className="flex items-center gap-1 text-sm text-muted">
            <ListOrdered aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{strings.queue.in(nameOf(queues, post.queueId))}</span>
          </p>
        ) : null}
      </div>
      <div className="flex shrink-0 items-center gap-3">
        {post.mediaCount > 0 ? <FileCount count={post.mediaCount} /> : null}
        <Status of={post.status} />
        {write && isMovable(post) ? (
          <Link
            to={addressOf({ post: post.id })}
            preventScrollReset
            aria-label={strings.move.linkOf(text)}
            className="text-sm font-medium text-accent-ink underline underline-offset-2"
          >
            {strings.move.link}
          </Link>
        ) : null}
      </div>
    </Row>
  )
}

type FreeTimeRowProps = { freeTime: FreeTime; queues: NamedQueue[]; habits: Habits }

/** A free time of a queue in the list: a link to the composer. */
export function FreeTimeRow({ freeTime, queues, habits }: FreeTimeRowProps) {
  return (
    <Row at={freeTime.at} habits={habits}>
      <div className="min-w-0 flex-1">
        <Link
          to={composerAt(freeTime, useZone())}
          className="inline-flex max-w-full items-center gap-2 rounded-lg border border-dashed border-edge px-2.5 py-0.5 text-sm text-muted hover:text-ink hover:underline"
        >
          <CalendarPlus aria-hidden className="size-4 shrink-0" />
          <span className="truncate">{strings.queue.freeTimeOf(nameOf(queues, freeTime.queueId))}</span>
        </Link>
      </div>
    </Row>
  )
}

function Row({ at, habits, children }: { at: string; habits: Habits; children: ReactNode }) {
  const zone = useZone()
  return (
    <div className="flex flex-wrap items-start gap-x-4 gap-y-1 px-4 py-3 sm:flex-nowrap sm:px-5">
      <time dateTime={at} className="w-16 shrink-0 whitespace-nowrap text-sm tabular-nums text-muted">
        {timeOf(at, zone, habits)}
      </time>
      {children}
    </div>
  )
}

function namesOf({ channelIds }: CalendarPost, channels: Channel[]): string {
  return channelIds.flatMap((id) => channels.find((channel) => channel.id === id)?.name ?? []).join(', ')
}
