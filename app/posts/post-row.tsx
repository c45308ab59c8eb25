import { Link, useLoaderData } from '@remix-run/react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { Delivery, Post } from '../../jobs/ledger/post-view.ts'
import { textOf } from '../../jobs/networks/text-length.ts'
import { ChannelMark, NetworkMark } from '../channels/channel-mark.tsx'
import { type NamedQueue, nameOf } from '../queues/names.ts'
import { Instant } from '../shell/instant.tsx'
import { FileCount } from './file-count.tsx'
import { Status } from './status.tsx'
import { postListStrings } from './strings.tsx'

const strings = postListStrings.row

const MarksShown = 4

/** A post in a list. `form` is how much of its date is shown; the day may stand above it. */
export function PostRow({ post, channels, form }: { post: Post; channels: Channel[]; form: 'time' | 'full' }) {
  const going = post.deliveries.filter(({ status }) => status !== 'CANCELLED' || post.status === 'CANCELLED')
  const trouble = post.deliveries.find(({ error, status }) => error && status !== 'PUBLISHED' && status !== 'CANCELLED')
  return (
    <div className="relative flex flex-col gap-x-4 gap-y-2 px-4 py-3.5 hover:bg-sunken/60 sm:flex-row sm:items-start sm:px-5">
      <p className="shrink-0 text-sm text-muted sm:w-12 sm:data-[form=full]:w-44" data-form={form}>
        {post.date ? <Instant at={post.date} form={form} /> : strings.noDate}
      </p>
      <div className="min-w-0 flex-1">
        <Link
          to={`/posts/${post.id}`}
          prefetch="intent"
          dir="auto"
          className="line-clamp-2 break-words font-medium after:absolute after:inset-0"
        >
          {textOf(post) || strings.noText}
        </Link>
        <OfQueue id={post.queueId} />
        <Tags tags={post.tags} />
        {trouble?.error ? <p className="mt-0.5 line-clamp-2 text-sm text-muted">{trouble.error.message}</p> : null}
      </div>
      <div className="flex shrink-0 items-center gap-3">
        {post.mediaIds.length > 0 ? <FileCount count={post.mediaIds.length} /> : null}
        <Marks deliveries={going} channels={channels} />
        <Status of={post.status} />
      </div>
    </div>
  )
}

// The loaders of lists with posts of queues have the `queues`.
function OfQueue({ id }: { id: string | null }) {
  const { queues = [] } = useLoaderData() as { queues?: NamedQueue[] }
  const name = id && nameOf(queues, id)
  return name ? <p className="mt-0.5 truncate text-sm text-muted">{strings.queue(name)}</p> : null
}

function Tags({ tags }: { tags: string[] }) {
  if (tags.length === 0) return null
  return (
    <ul aria-label={strings.tags} className="mt-1 flex flex-wrap gap-1">
      {tags.map((tag) => (
        <li key={tag} dir="auto" className="max-w-full truncate rounded bg-sunken px-1.5 text-xs text-muted">
          {tag}
        </li>
      ))}
    </ul>
  )
}

function Marks({ deliveries, channels }: { deliveries: Delivery[]; channels: Channel[] }) {
  const shown = deliveries.slice(0, MarksShown)
  const names = deliveries.map(({ channelId, network }) => channels.find(({ id }) => id === channelId)?.name ?? network)
  if (shown.length === 0) return null
  return (
    <span className="flex items-center gap-1.5">
      <span className="sr-only">{strings.channels(names)}</span>
      {shown.map(({ channelId, network }) => {
        const channel = channels.find(({ id }) => id === channelId)
        return channel ? (
          <ChannelMark key={channelId} channel={channel} size="size-6" />
        ) : (
          <NetworkMark key={channelId} network={network} className="size-4 text-muted" />
        )
      })}
      {deliveries.length > MarksShown ? (
        <span aria-hidden className="text-xs text-muted">
          {strings.moreChannels(deliveries.length - MarksShown)}
        </span>
      ) : null}
    </span>
  )
}
