import { z } from 'zod'
import { Count, Id, Instant } from '../answers.ts'
import { eventTypes } from './forms.ts'

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
