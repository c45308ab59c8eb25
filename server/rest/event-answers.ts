import { z } from 'zod'
import { Id, Instant } from '../answers.ts'
import { Channel } from '../channels/answers.ts'
import { Post } from '../posts/answers.ts'
import { type EventType, eventTypes } from '../webhooks/event-names.ts'

const [postEvents, channelEvents] = [eventsOf('post.'), eventsOf('channel.')]

/** What webhooks are sent (https://www.standardwebhooks.com). */
export const Event = {
  post: z
    .object({ type: z.enum(postEvents), timestamp: Instant, data: Post })
    .meta({ id: 'PostEvent', description: 'Something happened to a post. `data` is the post at that time.' }),
  channel: z
    .object({ type: z.enum(channelEvents), timestamp: Instant, data: Channel })
    .meta({ id: 'ChannelEvent', description: 'Something happened to a channel. `data` is the channel at that time.' }),
  test: z
    .object({ type: z.literal('webhook.test'), timestamp: Instant, data: z.object({ webhookId: Id }) })
    .meta({ id: 'TestEvent', description: 'A test event that somebody sent.' }),
}

function eventsOf<Noun extends string>(noun: Noun) {
  return eventTypes.filter((type): type is Extract<EventType, `${Noun}${string}`> => type.startsWith(noun))
}
