import { z } from 'zod'
import { Count, Id, Instant } from '../answers.ts'
import { eventTypes } from './event-names.ts'

export const Webhook = z
  .object({
    id: Id,
    url: z.string(),
    description: z.string(),
    events: z.array(z.enum(eventTypes)),
    status: z
      .enum(['ACTIVE', 'OFF'])
      .meta({ description: "OFF: we send no events, and don't keep them to send later." }),
    offReason: z.enum(['failing', 'gone', 'person']).nullable().meta({
      description:
        'Why it is off: it failed for three days (failing), it answered 410 (gone), or somebody switched it off (person).',
    }),
    offSince: Instant.nullable(),
    failingSince: Instant.nullable().meta({ description: 'The first failure since the last success.' }),
    previousSecretUntil: Instant.nullable().meta({
      description: 'Until then, each call is also signed with the previous secret.',
    }),
    createdBy: z.object({ kind: z.enum(['member', 'api_key', 'app']), id: Id, name: z.string() }),
    createdAt: Instant,
  })
  .meta({ id: 'Webhook', description: 'A URL on your server that gets events.' })

export const WebhookWithSecret = Webhook.extend({
  secret: z.string().meta({ description: 'Signs each call. Shown only once.' }),
}).meta({ id: 'WebhookWithSecret' })

const WebhookAttempt = z
  .object({
    no: z.int().min(1),
    startedAt: Instant,
    durationMs: Count,
    status: z.int().nullable().meta({ description: 'The HTTP status of your response. Null: there was no response.' }),
    reply: z.string().nullable().meta({ description: 'The beginning of your response.' }),
    error: z.string().nullable().meta({ description: 'Why the call failed. Null: it succeeded.' }),
  })
  .meta({ id: 'WebhookAttempt', description: 'One call of a webhook.' })

export const WebhookDelivery = z
  .object({
    id: Id,
    eventId: Id.meta({ description: 'The header `webhook-id`. The same for each attempt and each webhook.' }),
    type: z.enum([...eventTypes, 'webhook.test']),
    status: z.enum(['PENDING', 'DELIVERED', 'FAILED']),
    nextAttemptAt: Instant.nullable(),
    createdAt: Instant,
    request: z
      .object({ headers: z.record(z.string(), z.string()), body: z.string() })
      .nullable()
      .meta({ description: 'What was sent last. Null before the first attempt.' }),
    attempts: z.array(WebhookAttempt),
  })
  .meta({ id: 'WebhookDelivery', description: 'One event for one webhook.' })
