import { z } from 'zod'
import * as post from '../../jobs/ledger/post-view.ts'
import { Count, Fault, Id, Instant } from '../answers.ts'

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
    status: z.enum(['DRAFT', 'SCHEDULED', 'PUBLISHING', 'HELD', 'PUBLISHED', 'FAILED', 'NEEDS_REVIEW', 'CANCELLED']),
    remoteId: z.string().nullable().meta({ description: "The network's id of the post, if it gives one." }),
    url: z.string().nullable().meta({ description: 'Where the post can be read.' }),
    publishedAt: Instant.nullable().meta({ description: 'When it was sent. Its attempts say how we know.' }),
    attempts: Count,
    nextAttemptAt: Instant.nullable(),
    error: DeliveryError.nullable(),
  })
  .meta({ id: 'Delivery', description: 'One post on one channel.' })

const Override = z.object({ channelId: Id, content: z.string().optional(), mediaIds: z.array(Id).optional() }).meta({
  id: 'Override',
  description: 'Another text or other media for one channel. What you leave out comes from the post.',
})

export const Post = z
  .object({
    id: Id,
    type: z.enum(['schedule', 'now', 'draft']),
    status: z.enum(post.postStatuses).meta({ description: 'Derived from the deliveries.' }),
    date: Instant.nullable().meta({ description: 'When it is due. Null for a draft without a date.' }),
    content: z.string(),
    channelIds: z.array(Id),
    mediaIds: z.array(Id),
    overrides: z.array(Override),
    tags: z.array(z.string()),
    deliveries: z.array(Delivery),
    queueId: Id.nullable().meta({
      description:
        'The queue that it took its time from. Null: it is in no queue, or it left its queue when it got another date.',
    }),
    createdBy: z.object({ kind: z.enum(['member', 'api_key', 'app']), id: Id, name: z.string() }),
    createdAt: Instant,
    updatedAt: Instant.meta({ description: 'When the post or one of its deliveries last changed.' }),
    version: z.int().min(1).meta({ description: 'Increases with each edit. Also sent as the ETag, for If-Match.' }),
  })
  .meta({ id: 'Post' }) satisfies z.ZodType<post.Post>

export const Attempt = z
  .object({
    id: Id,
    channelId: Id,
    no: z.int().min(1),
    startedAt: Instant,
    intendedAt: Instant.nullable().meta({ description: 'From this time on, the post may be published.' }),
    endedAt: Instant.nullable(),
    foundAt: Instant.nullable().meta({
      description:
        'When we checked the account and found the post that this attempt sent, after its outcome was unknown.',
    }),
    outcome: z.string().nullable(),
    status: z.int().nullable().meta({ description: "The network's HTTP status." }),
    message: z.string().nullable(),
    reply: z.string().nullable().meta({ description: "The network's response, shortened and without secrets." }),
  })
  .meta({ id: 'Attempt', description: 'One attempt to send a delivery.' })

export const Validation = z
  .object({ valid: z.boolean(), errors: z.array(Fault) })
  .meta({ id: 'Validation', description: 'What stops POST /posts from creating this post.' })
