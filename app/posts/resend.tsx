import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { DeliveryStatus, Post } from '../../jobs/ledger/post-view.ts'
import { networkName } from '../channels/channel-mark.tsx'
import { FieldErrors } from '../ui/forms/control.tsx'
import { postStrings } from './strings.tsx'

const strings = postStrings.resend

/** What differs in the composer of a post that failed, or that some channels published. */
export type Resend = {
  settled: string // which channels published it and which failed, for `SettledField`
  isDateFixed: boolean
  save: string // the names of the buttons
  cancel: string
  says: string // what saving does
}

/** Null if no delivery of the post failed or was published. `channels` contains those of the post. */
export function resendOf(post: Post, channels: Channel[]): Resend | null {
  const named = (status: DeliveryStatus) =>
    post.deliveries
      .filter((delivery) => delivery.status === status)
      .map(({ channelId, network }) => channels.find(({ id }) => id === channelId)?.name ?? networkName(network))
  const [failed, held, published] = [named('FAILED'), named('HELD'), named('PUBLISHED')]
  const waits = held.length + named('SCHEDULED').length > 0
  if (failed.length + published.length === 0) return null
  const again = published.length > 0 ? strings.sendsAgain : strings.sendsAgainOrLater
  const sentences = [
    failed.length > 0 ? `${strings.failed(failed)} ${again(failed.length)}` : '',
    held.length > 0 ? strings.held(held) : '',
    published.length > 0 ? strings.keeps(published) : '',
  ]
  return {
    settled: settledIn(post),
    isDateFixed: published.length > 0,
    save: failed.length > 0 ? strings.save : strings.saveChanges,
    cancel: waits ? postStrings.unschedule : postStrings.cancel,
    says: sentences.filter(Boolean).join(' '),
  }
}

/** The channels that published a post and those where it failed, as one word. */
export function settledIn({ deliveries }: Post): string {
  const settled = deliveries.filter(({ status }) => ['PUBLISHED', 'FAILED'].includes(status))
  return settled
    .map(({ channelId, status }) => `${channelId} ${status}`)
    .toSorted()
    .join()
}

/** The channels that published a post: they are no longer a choice. */
export function publishedOn({ deliveries }: Post): string[] {
  return deliveries.flatMap(({ channelId, status }) => (status === 'PUBLISHED' ? [channelId] : []))
}

/** The chosen channels and those that published the post, in the post's order. */
export function withPublished(post: Post, chosen: string[]): string[] {
  const going = [...chosen, ...publishedOn(post)]
  return [...new Set([...post.channelIds.filter((id) => going.includes(id)), ...chosen])]
}

/** In the form: the state that the person has seen. If it has changed, the form is refused. */
export function SettledField({ resend }: { resend: Resend | null }) {
  return <input type="hidden" name="settled" value={resend?.settled ?? ''} />
}

type FixedDateProps = { date: string; time: string; zone: string; problems: string[] | undefined }

/** Takes the place of the date and time of a post that is partly published. */
export function FixedDate({ date, time, zone, problems }: FixedDateProps) {
  return (
    <div data-problem={problems ? true : undefined} tabIndex={-1}>
      <input type="hidden" name="date" value={date} />
      <input type="hidden" name="time" value={time} />
      <input type="hidden" name="zone" value={zone} />
      <FieldErrors id="when-problems" errors={problems} />
    </div>
  )
}
