import { z } from 'zod'
import { cursor, Id, limit, text } from '../forms.ts'
import { eventTypes } from './event-names.ts'

const WebhookUrl = text(2000)
  .pipe(z.url({ protocol: /^https?$/, error: 'Must be a URL that starts with https:// or http://.', abort: true }))
  .refine((url) => isPlainAddress(url), "Can't contain a user name, spaces or port 0.")

// As typed: a parser drops line breaks and a user without a name.
function isPlainAddress(value: string): boolean {
  const [, authority = '@'] = value.match(/^https?:\/\/([^/?#]+)/i) ?? []
  return !authority.includes('@') && !/[\s\p{Cc}\\]/u.test(value) && new URL(value).port !== '0'
}
const webhook = {
  url: WebhookUrl,
  description: text(200).trim(),
  events: z
    .array(z.enum(eventTypes))
    .min(1, 'Choose at least one event.')
    .max(eventTypes.length)
    .refine((events) => new Set(events).size === events.length, 'The same event is listed twice.'),
}
export const CreateWebhook = z.strictObject({
  url: webhook.url,
  description: webhook.description.optional(),
  events: webhook.events.optional(), // all that the credential may read
})
export const UpdateWebhook = z.strictObject({
  id: Id,
  url: webhook.url.optional(),
  description: webhook.description.optional(),
  events: webhook.events.optional(),
  status: z.enum(['ACTIVE', 'OFF']).optional(),
})
export const ListWebhooks = z.strictObject({ limit, cursor })
export const ListWebhookDeliveries = z.strictObject({
  id: Id,
  status: z.enum(['PENDING', 'DELIVERED', 'FAILED']).optional(),
  limit,
  cursor,
})
export const WebhookDeliveryById = z.strictObject({ id: Id, deliveryId: Id })
