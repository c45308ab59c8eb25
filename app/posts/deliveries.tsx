import { Link } from '@remix-run/react'
import { ArrowUpRight } from 'lucide-react'
import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { Delivery, Post } from '../../jobs/ledger/post-view.ts'
import { ChannelMark, networkName } from '../channels/channel-mark.tsx'
import { Instant } from '../shell/instant.tsx'
import { useMay } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { controlClass } from '../ui/forms/control.tsx'
import { Status } from './status.tsx'
import { postStrings } from './strings.tsx'

const strings = postStrings.deliveries

/** The post on each of its channels: its status, its link, or what went wrong and what to do. */
export function Deliveries({ post, channels }: { post: Post; channels: Channel[] }) {
  if (post.deliveries.length === 0) return null
  return (
    <section aria-label={strings.label} className="rounded-2xl border border-line bg-panel shadow-sm">
      <ul className="divide-y divide-line">
        {post.deliveries.map((delivery) => (
          <li key={delivery.channelId} className="px-5 py-4 sm:px-6">
            <DeliveryShown delivery={delivery} channel={channels.find(({ id }) => id === delivery.channelId)} />
          </li>
        ))}
      </ul>
    </section>
  )
}

type Shown = { delivery: Delivery; channel: Channel | undefined }

function DeliveryShown({ delivery, channel }: Shown) {
  const { network, status, error } = delivery
  const name = channel?.name ?? networkName(network)
  return (
    <>
      <div className="flex items-center gap-3">
        <ChannelMark channel={channel ?? { name, network, picture: null }} />
        <div className="min-w-0 flex-1">
          <p dir="auto" className="truncate font-medium">
            {name}
          </p>
          <p className="text-sm text-muted">
            <WhatHappened delivery={delivery} isPaused={channel?.status === 'PAUSED'} />
          </p>
        </div>
        <Status of={status} />
      </div>
      {error ? (
        <div className="mt-3 rounded-lg bg-sunken px-3.5 py-2.5 text-sm sm:ml-12">
          <p>{error.message}</p>
          <p className="mt-0.5 text-muted">
            {error.nextStep} <Remedy delivery={delivery} />
          </p>
        </div>
      ) : null}
      {status === 'NEEDS_REVIEW' ? <Review delivery={delivery} name={name} /> : null}
    </>
  )
}

function WhatHappened({ delivery, isPaused }: { delivery: Delivery; isPaused: boolean }) {
  const { network, status, url, publishedAt, nextAttemptAt } = delivery
  if (status === 'PUBLISHED')
    return (
      <>
        {publishedAt ? <Instant at={publishedAt} form="exact" /> : null}
        {url ? (
          <>
            {' · '}
            <a
              href={url}
              rel="noopener noreferrer"
              className="inline-flex items-center gap-0.5 font-medium text-accent-ink underline underline-offset-2"
            >
              {strings.viewPost} <ArrowUpRight aria-hidden className="size-3.5" />
            </a>
          </>
        ) : null}
      </>
    )
  if (isPaused && status === 'SCHEDULED') return strings.operatorPaused
  if (nextAttemptAt && status === 'SCHEDULED') return strings.nextAttempt(<Instant at={nextAttemptAt} form="exact" />)
  if (status === 'PUBLISHING') return nextAttemptAt ? strings.checking : strings.sending
  return networkName(network)
}

function Remedy({ delivery: { status, channelId } }: { delivery: Delivery }) {
  const { manage } = useMay()
  if (status !== 'HELD' || !manage) return null
  return (
    <Link to={`/channels?reconnect=${channelId}`} className="font-medium text-accent-ink underline underline-offset-2">
      {strings.goToChannel}
    </Link>
  )
}

// Errors of posts that were never sent: there is nothing to look for on the network.
const neverSentCodes = ['missed', 'organisation_suspended']

/** What somebody must decide: whether to send a post that was never sent, or whether the post is published. */
function Review({ delivery: { channelId, network, error }, name }: { delivery: Delivery; name: string }) {
  const { write } = useMay()
  if (!write) return null
  return (
    <PostForm aria-label={postStrings.review.label(name)} className="mt-4 space-y-3 sm:ml-12">
      <input type="hidden" name="channelId" value={channelId} />
      {error && neverSentCodes.includes(error.code) ? (
        <SendOrCancel />
      ) : (
        <WasItPublished channelId={channelId} network={network} />
      )}
    </PostForm>
  )
}

function SendOrCancel() {
  return (
    <div className="flex flex-wrap gap-2">
      <Submit look="primary" name="intent" value="not_published">
        {postStrings.review.sendNow}
      </Submit>
      <Submit look="danger" name="intent" value="cancelled">
        {postStrings.review.cancel}
      </Submit>
    </div>
  )
}

function WasItPublished({ channelId, network }: { channelId: string; network: string }) {
  return (
    <>
      <div>
        <label htmlFor={`url-${channelId}`} className="mb-1.5 block text-sm font-medium">
          {postStrings.review.link(networkName(network))}
        </label>
        <input
          id={`url-${channelId}`}
          name="url"
          type="url"
          placeholder="https://…"
          className={`${controlClass} max-w-md`}
        />
      </div>
      <div className="flex flex-wrap gap-2">
        <Submit look="primary" name="intent" value="published">
          {postStrings.review.wasPublished}
        </Submit>
        <Submit name="intent" value="not_published" formNoValidate>
          {postStrings.review.wasNotPublished}
        </Submit>
        <Submit look="danger" name="intent" value="cancelled" formNoValidate>
          {postStrings.review.cancel}
        </Submit>
      </div>
    </>
  )
}
