import { Link } from '@remix-run/react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { ChannelMark } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Submit } from '../ui/forms/button.tsx'
import type { Queue } from './queue.ts'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.card

type QueueCardProps = { queue: Queue; channels: Channel[]; next: string | null }

/** A queue in the list, with its next free time and its button. */
export function QueueCard({ queue, channels, next }: QueueCardProps) {
  const { write } = useMay()
  const nameId = `queue-${queue.id}`
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-4 sm:px-5">
      <div className="min-w-40 flex-1">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            id={nameId}
            to={`/queues/${queue.id}`}
            prefetch="intent"
            className="min-w-0 font-medium underline decoration-edge/60 underline-offset-2 [overflow-wrap:anywhere]"
          >
            {queue.name}
          </Link>
          {queue.isDefault ? <Badge>{strings.isDefault}</Badge> : null}
          {queue.pausedAt ? <Badge>{strings.paused}</Badge> : null}
        </p>
        <p className="text-sm text-muted">{strings.zone(queue.timeZone, queue.times.length)}</p>
        <NextTime queue={queue} next={next} />
      </div>
      <ChannelMarks channels={channels.filter(({ id }) => queue.channelIds.includes(id))} />
      {write ? <PauseForm queue={queue} nameId={nameId} /> : null}
    </div>
  )
}

function Badge({ children }: { children: string }) {
  return <span className="rounded-full bg-sunken px-2 py-0.5 text-xs font-medium text-muted">{children}</span>
}

function NextTime({ queue, next }: { queue: Queue; next: string | null }) {
  if (queue.pausedAt) return null
  if (queue.times.length === 0) return <p className="text-sm text-warn">{strings.noTimes}</p>
  return next ? <p className="text-sm text-muted">{strings.next(<Instant at={next} />)}</p> : null
}

function ChannelMarks({ channels }: { channels: Channel[] }) {
  return (
    <ul className="flex flex-wrap gap-2">
      {channels.map((channel) => (
        <li key={channel.id}>
          <span className="sr-only">{channel.name}</span>
          <ChannelMark channel={channel} size="size-6" />
        </li>
      ))}
    </ul>
  )
}

/** The button that pauses a queue, or resumes it. */
export function PauseForm({ queue, nameId }: { queue: Queue; nameId: string }) {
  const isPaused = queue.pausedAt !== null
  return (
    <PostForm action={`/queues/${queue.id}`}>
      <Submit name="intent" value={isPaused ? 'resume' : 'pause'} aria-describedby={nameId}>
        {isPaused ? strings.resume : strings.pause}
      </Submit>
    </PostForm>
  )
}
