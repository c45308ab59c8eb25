import { sql } from 'drizzle-orm'
import type { z } from 'zod'
import type { Tx } from '../../db/client.ts'
import { iso } from '../../jobs/ledger/post-view.ts'
import { type Page, pageOf, positionOf } from '../access/cursor.ts'
import type * as answers from './answers.ts'
import type { ListWebhookDeliveries } from './forms.ts'

// The events sent to a webhook, and its responses.

export type WebhookDelivery = z.infer<typeof answers.WebhookDelivery>

/** The deliveries of a webhook that its caller may see, newest first. */
export async function listDeliveries(
  tx: Tx,
  organisationId: string,
  { id, status, limit, cursor }: z.output<typeof ListWebhookDeliveries>,
): Promise<Page<WebhookDelivery>> {
  const after = positionOf(cursor)
  const rows = await tx.execute<DeliveryRow>(sql`
    ${deliveryRows} where d.webhook_id = ${id} and d.organisation_id = ${organisationId}
      ${status ? sql`and d.state::text = ${status.toLowerCase()}` : sql``}
      ${after ? sql`and (d.created_at, d.id) < (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``}
    order by d.created_at desc, d.id desc limit ${limit + 1}`)
  return pageOf([...rows], limit, showDelivery, (row) => [iso(row.createdAt), row.id])
}

type DeliveryRow = {
  id: string
  eventId: string
  type: WebhookDelivery['type']
  state: string
  nextAttemptAt: string | null
  createdAt: string
  body: string | null
  headers: Record<string, string> | null
  attempts: WebhookDelivery['attempts']
}

const deliveryRows = sql`
  select d.id, d.event_id as "eventId", e.type, d.state, d.next_attempt_at as "nextAttemptAt", d.created_at as "createdAt",
    e.body, a.headers, a.attempts
  from webhook_deliveries d join events e on e.id = d.event_id, lateral (
    select (array_agg(t.request_headers order by t.no desc))[1] as headers,
      coalesce(json_agg(json_build_object('no', t.no, 'startedAt', t.started_at, 'durationMs', t.duration_ms,
        'status', t.status, 'reply', t.reply, 'error', t.error) order by t.no), '[]') as attempts
    from webhook_attempts t where t.delivery_id = d.id
  ) a`

/** One delivery of a webhook that its caller may see. */
export async function readDelivery(
  tx: Tx,
  organisationId: string,
  webhookId: string,
  id: string,
): Promise<WebhookDelivery> {
  const [row] = await tx.execute<DeliveryRow>(sql`
    ${deliveryRows} where d.id = ${id} and d.webhook_id = ${webhookId} and d.organisation_id = ${organisationId}`)
  return showDelivery(row!)
}

function showDelivery({ state, body, headers, ...row }: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    eventId: row.eventId,
    type: row.type,
    status: state.toUpperCase() as WebhookDelivery['status'],
    nextAttemptAt: iso(row.nextAttemptAt),
    createdAt: iso(row.createdAt),
    request: body !== null && headers ? { headers, body } : null,
    attempts: row.attempts.map((attempt) => ({ ...attempt, startedAt: iso(attempt.startedAt) })),
  }
}
