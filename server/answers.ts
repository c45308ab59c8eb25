import { z } from 'zod'
import type * as channel from '../jobs/ledger/channel-view.ts'
import * as post from '../jobs/ledger/post-view.ts'
import { channelStatuses, type EventType, eventTypes, scopes } from './forms.ts'

// What the public API answers with, as zod: the types of the procedures' answers and the schemas of the
// OpenAPI document are both read from here.

const Id = z.string().meta({ description: 'Opaque.', examples: ['019a4c12-7d30-7c3e-9f5a-2b1d6c8e4f01'] })
const Instant = z
  .string()
  .meta({ format: 'date-time', description: 'UTC, with milliseconds.', examples: ['2026-12-24T18:00:00.000Z'] })
const Count = z.int().min(0)

const DeliveryError = z
  .object({
    code: z.string(),
    message: z.string().meta({ description: 'What happened, in a sentence.' }),
    nextStep: z.string().meta({ description: 'What to do about it.' }),
  })
  .meta({ id: 'DeliveryError' })

const Delivery = z
  .object({
    channelId: Id,
    network: z.string(),
    status: z.enum([
      ...['DRAFT', 'SCHEDULED', 'PUBLISHING', 'HELD'],
      ...['PUBLISHED', 'FAILED', 'NEEDS_REVIEW', 'CANCELLED'],
    ] as ['DRAFT', 'SCHEDULED', 'PUBLISHING', 'HELD', 'PUBLISHED', 'FAILED', 'NEEDS_REVIEW', 'CANCELLED']),
    remoteId: z.string().nullable().meta({ description: 'The network’s own id of the post, where it gives one.' }),
    url: z.string().nullable().meta({ description: 'Where the post can be read.' }),
    publishedAt: Instant.nullable().meta({ description: 'When it was sent. How we know is with its attempts.' }),
    attempts: Count,
    nextAttemptAt: Instant.nullable(),
    error: DeliveryError.nullable(),
  })
  .meta({ id: 'Delivery', description: 'One post on one channel.' })

const Override = z
  .object({ channelId: Id, content: z.string().optional(), mediaIds: z.array(Id).optional() })
  .meta({ id: 'Override', description: 'A text or media of its own on one channel; what is left out is the post’s.' })

export const Post = z
  .object({
    id: Id,
    type: z.enum(['schedule', 'now', 'draft']),
    status: z.enum(post.postStatuses).meta({ description: 'Derived from the deliveries.' }),
    date: Instant.nullable().meta({ description: 'When it is to go out. Null for a draft without one.' }),
    content: z.string(),
    channelIds: z.array(Id),
    mediaIds: z.array(Id),
    overrides: z.array(Override),
    deliveries: z.array(Delivery),
    createdBy: z.object({ kind: z.enum(['member', 'api_key', 'app']), id: Id, name: z.string() }),
    createdAt: Instant,
    updatedAt: Instant.meta({ description: 'When the post or one of its deliveries last changed.' }),
    version: z.int().min(1).meta({ description: 'Rises at each edit; also the ETag, for If-Match.' }),
  })
  .meta({ id: 'Post' }) satisfies z.ZodType<post.Post>

const Limits = z
  .object({
    textLength: Count,
    textUnit: z.enum(['characters', 'graphemes']),
    textBytes: Count.optional().meta({ description: 'A second bound on the text, in bytes of UTF-8.' }),
    urlsCountAs: Count.optional().meta({ description: 'Each link counts as at least so many.' }),
    shortensUrls: z
      .boolean()
      .optional()
      .meta({ description: 'Each link counts as no more than `urlsCountAs`, however long it is.' }),
    mediaCount: Count,
    mediaTypes: z.array(z.string()),
    mediaBytes: Count.optional().meta({ description: 'Of an image.' }),
    videoBytes: Count.optional(),
    videoSeconds: Count.optional(),
    altLength: Count.optional(),
  })
  .meta({ id: 'ChannelLimits', description: 'What the network takes of one post.' })

export const Channel = z
  .object({
    id: Id,
    network: z.string().meta({ examples: ['mastodon'] }),
    name: z.string(),
    handle: z.string().nullable(),
    url: z.string().nullable(),
    picture: z.string().nullable().meta({ description: 'Address of our copy of the account’s picture.' }),
    status: z.enum(channelStatuses).meta({
      description:
        'PAUSED: the operator has paused this channel, its network, its organisation or the whole site. Scheduled posts wait.',
    }),
    limits: Limits,
    connectedAt: Instant,
  })
  .meta({ id: 'Channel' }) satisfies z.ZodType<channel.Channel>

export const Media = z
  .object({
    id: Id,
    kind: z.enum(['image', 'video']),
    mime: z.string(),
    bytes: Count,
    width: Count.nullable(),
    height: Count.nullable(),
    durationMs: Count.nullable(),
    alt: z.string(),
    url: z.string(),
    thumbnailUrl: z.string().nullable(),
    sha256: z.string().meta({ description: 'Hex, of the file as it is stored.' }),
    createdAt: Instant,
  })
  .meta({ id: 'Media' })

export const Attempt = z
  .object({
    id: Id,
    channelId: Id,
    no: z.int().min(1),
    startedAt: Instant,
    intendedAt: Instant.nullable().meta({ description: 'From here on something may have been out.' }),
    endedAt: Instant.nullable(),
    foundAt: Instant.nullable().meta({
      description: 'When we looked at the account and found what this attempt sent, after its outcome was unknown.',
    }),
    outcome: z.string().nullable(),
    status: z.int().nullable().meta({ description: 'The network’s HTTP status.' }),
    message: z.string().nullable(),
    reply: z.string().nullable().meta({ description: 'The network’s answer, without secrets and cut short.' }),
  })
  .meta({ id: 'Attempt', description: 'One try of a delivery.' })

export const Me = z
  .object({
    organisation: z.object({ id: Id, name: z.string() }),
    credential: z.object({
      kind: z.enum(['member', 'api_key', 'app']),
      name: z.string(),
      scopes: z.array(z.enum(scopes)),
    }),
  })
  .meta({ id: 'Me' })

const Fault = z
  .object({
    path: z.string().meta({ description: 'Where in the request, as in `channelIds[0]`; empty for the whole.' }),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'Fault', description: 'One thing wrong with a request.' })

export const Validation = z
  .object({ valid: z.boolean(), errors: z.array(Fault) })
  .meta({ id: 'Validation', description: 'What would keep POST /posts from making this post.' })

export const Webhook = z
  .object({
    id: Id,
    url: z.string(),
    description: z.string(),
    events: z.array(z.enum(eventTypes)),
    status: z.enum(['ACTIVE', 'OFF']).meta({ description: 'OFF: nothing is sent, and nothing is kept to be sent.' }),
    offReason: z.enum(['failing', 'gone', 'person']).nullable().meta({
      description: 'Why it is off: it failed for three days, it answered 410, or somebody switched it off.',
    }),
    offSince: Instant.nullable(),
    failingSince: Instant.nullable().meta({ description: 'The first failure since the last success.' }),
    previousSecretUntil: Instant.nullable().meta({
      description: 'Until then each call is signed with the secret before the last rotation as well.',
    }),
    createdBy: z.object({ kind: z.enum(['member', 'api_key', 'app']), id: Id, name: z.string() }),
    createdAt: Instant,
  })
  .meta({ id: 'Webhook', description: 'An address of yours that is told what happens.' })

export const WebhookWithSecret = Webhook.extend({
  secret: z.string().meta({ description: 'Shown this once. What each call is signed with.' }),
}).meta({ id: 'WebhookWithSecret' })

const WebhookAttempt = z
  .object({
    no: z.int().min(1),
    startedAt: Instant,
    durationMs: Count,
    status: z.int().nullable().meta({ description: 'The HTTP status of your answer; null when there was none.' }),
    reply: z.string().nullable().meta({ description: 'The beginning of your answer.' }),
    error: z.string().nullable().meta({ description: 'Why it counts as failed; null when it was received.' }),
  })
  .meta({ id: 'WebhookAttempt', description: 'One call of a webhook.' })

export const WebhookDelivery = z
  .object({
    id: Id,
    eventId: Id.meta({ description: 'The header `webhook-id`, the same at each try and in each webhook.' }),
    type: z.enum([...eventTypes, 'webhook.test']),
    status: z.enum(['PENDING', 'DELIVERED', 'FAILED']),
    nextAttemptAt: Instant.nullable(),
    createdAt: Instant,
    request: z
      .object({ headers: z.record(z.string(), z.string()), body: z.string() })
      .nullable()
      .meta({ description: 'What was sent last; null before the first try.' }),
    attempts: z.array(WebhookAttempt),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event on its way to one webhook.' })

/** RFC 9457. */
export const Problem = z
  .object({
    type: z.url().meta({ description: 'Address of the page that explains the code.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    requestId: z.string().meta({ description: 'Also in X-Request-Id: name it when you ask for help.' }),
    errors: z.array(Fault),
  })
  .meta({ id: 'Problem', description: 'RFC 9457: what went wrong, in one shape for every failure.' })

const [postEvents, channelEvents] = [eventsOf('post.'), eventsOf('channel.')]

/** What webhooks are sent (https://www.standardwebhooks.com). */
export const Event = {
  post: z
    .object({ type: z.enum(postEvents), timestamp: Instant, data: Post })
    .meta({ id: 'PostEvent', description: 'What happened to a post, and the post as it was then.' }),
  channel: z
    .object({ type: z.enum(channelEvents), timestamp: Instant, data: Channel })
    .meta({ id: 'ChannelEvent', description: 'What happened to a channel, and the channel as it was then.' }),
  test: z
    .object({ type: z.literal('webhook.test'), timestamp: Instant, data: z.object({ webhookId: Id }) })
    .meta({ id: 'TestEvent', description: 'What somebody asked for to see whether it arrives.' }),
}

function eventsOf<Noun extends string>(noun: Noun) {
  return eventTypes.filter((type): type is Extract<EventType, `${Noun}${string}`> => type.startsWith(noun))
}

/** A page of a list, named after what it lists. */
export function listOf(item: z.ZodType) {
  return z
    .object({
      data: z.array(item),
      nextCursor: z.string().nullable().meta({ description: 'For `cursor`; null on the last page.' }),
    })
    .meta({ id: `${item.meta()!.id}Page` })
}
