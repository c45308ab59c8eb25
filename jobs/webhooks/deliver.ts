import { sql } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import type { Tx } from '../../db/client.ts'
import { activity } from '../../db/schema/api.ts'
import { webhookAttempts } from '../../db/schema/webhooks.ts'
import { open, type Place } from '../../db/sealed.ts'
import type { Deps } from '../deps.ts'
import { bodyOf } from '../ledger/events.ts'
import { ms } from '../ledger/ledger.ts'
import { type Payloads, wakeWebhooks } from '../ledger/wake-ups.ts'
import { noticeWebhook } from '../notices.ts'
import { OutboundError } from '../outbound/outbound.ts'
import type { Times } from '../timeouts-and-delays.ts'

const TurnsAtOnce = 10
const TurnsOfOrganisation = 3 // if its receivers are slow, others still have places
const CallsPerTurn = 20
const TurnMs = 10_000 // calls that began finish, no other begins
const ReplyBytes = 2000

/** Calls webhooks for a worker. `call` is the task of a wake-up. */
export type WebhookSender = {
  call: (payload: Payloads['webhook']) => void
  /** Wake the webhooks that lost their wake-up. */
  wakeForgotten: () => Promise<void>
  /** Begin nothing more, and wait for the running calls. */
  stop: () => Promise<void>
}

/**
 * Send webhooks their waiting events. We call up to ten webhooks at once, three of one organisation. Each webhook gets
 * one event after another, the oldest first.
 *
 * A wake-up job ends at once, and we call outside the queue. So a slow endpoint does not take a place from posts.
 */
export function startWebhookSender(deps: Deps): WebhookSender {
  const waiting = new Map<string, string>() // webhook and organisation, in the order of arrival
  const turns = new Map<Promise<void>, string>()
  let stopped = false
  const begin = () => {
    for (const [webhookId, organisationId] of waiting) {
      if (stopped || turns.size >= TurnsAtOnce) return
      if ([...turns.values()].filter((other) => other === organisationId).length >= TurnsOfOrganisation) continue
      waiting.delete(webhookId)
      const turn = goDown(deps, webhookId, () => stopped)
        .catch((error: unknown) =>
          deps.log.warn(
            { err: error, organisation: organisationId, webhook: webhookId },
            'a webhook’s turn failed: we wake it again',
          ),
        )
        .finally(() => {
          turns.delete(turn)
          begin()
        })
      turns.set(turn, organisationId)
    }
  }
  return {
    call({ webhookId, organisationId }) {
      waiting.set(webhookId, organisationId)
      begin()
    },
    wakeForgotten: () => wakeForgotten(deps),
    async stop() {
      stopped = true
      await Promise.all(turns.keys())
      await wakeWebhooks(deps.db, [...waiting.keys()])
    },
  }
}

/** Where a webhook's secrets are sealed. */
export function secretPlace(webhook: { id: string; organisationId: string }): Place {
  return { table: 'webhooks', id: webhook.id, organisationId: webhook.organisationId, field: 'secret' }
}

/** A delivery of an event to one webhook, under this worker's lease. */
type Due = {
  id: string
  organisationId: string
  webhookId: string
  eventId: string
  attemptNo: number
  leaseToken: string
  url: string
  secret: Uint8Array
  previousSecret: Uint8Array | null
  type: string
  at: string
  subject: unknown
  body: string | null
}

async function goDown(deps: Deps, webhookId: string, isOver: () => boolean): Promise<void> {
  const begun = performance.now()
  for (let calls = 0; calls < CallsPerTurn && performance.now() - begun < TurnMs && !isOver(); calls++) {
    const due = await claim(deps, webhookId)
    if (!due) break // nothing is due, or another worker calls it
    const call = await tellOne(deps, due)
    deps.metrics.webhookCalled(call.error === null ? 'delivered' : call.status === null ? 'unreachable' : 'refused')
    await settle(deps, due, call)
    const { organisationId: organisation, eventId: event, attemptNo: attempt } = due
    deps.log.info(
      { organisation, webhook: webhookId, event, attempt, status: call.status, failure: call.error },
      'webhook called',
    )
  }
  await wakeWebhooks(deps.db, [webhookId])
}

async function claim({ db, times }: Deps, webhookId: string): Promise<Due | undefined> {
  const [due] = await db.execute<Due>(sql`
    with webhook as (
      select w.* from webhooks w
      where w.id = ${webhookId} and w.off_since is null and (w.not_before is null or w.not_before <= now())
        and not exists (
          select from webhook_deliveries u where u.webhook_id = w.id and u.lease_until > now())
      for no key update skip locked
    ), head as (
      select d.id from webhook_deliveries d join webhook w on d.webhook_id = w.id
      where d.state = 'pending' and d.next_attempt_at <= now() order by d.created_at, d.id limit 1
    ), claimed as (
      update webhook_deliveries d set
        attempt_no = attempt_no + 1, lease_token = gen_random_uuid(), lease_until = now() + ${ms(times.webhookLeaseMs)}
      from head h where d.id = h.id and d.state = 'pending' and (d.lease_until is null or d.lease_until <= now())
      returning d.*
    )
    select d.id, d.organisation_id as "organisationId", d.webhook_id as "webhookId", d.event_id as "eventId",
      d.attempt_no as "attemptNo", d.lease_token as "leaseToken", w.url, w.secret,
      case when w.previous_secret_until > now() then w.previous_secret end as "previousSecret",
      e.type, e.at, e.subject, e.body
    from claimed d join webhook w on w.id = d.webhook_id join events e on e.id = d.event_id`)
  return due
}

/** How a call ended. Without an `error` it succeeded. */
type Call = {
  startedAt: Date
  durationMs: number
  status: number | null
  reply: string | null
  error: string | null
  requestHeaders: Record<string, string>
}

async function tellOne(deps: Deps, due: Due): Promise<Call> {
  const body = due.body ?? (await freeze(deps, due))
  const startedAt = new Date()
  const requestHeaders = signed(deps, due, body, startedAt)
  const begun = performance.now()
  const ended = (answer: Pick<Call, 'status' | 'reply' | 'error'>): Call => ({
    startedAt,
    requestHeaders,
    ...answer,
    durationMs: Math.round(performance.now() - begun),
  })
  try {
    const options = { headers: requestHeaders, body, timeoutMs: deps.times.webhookMs, excerptBytes: ReplyBytes }
    const answer = await deps.outbound.post(due.url, options)
    return ended({
      status: answer.status,
      reply: answer.text().replaceAll('\0', ''),
      error: answer.ok ? null : failureOf(answer.status),
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return ended({ status: null, reply: null, error: error.message })
  }
}

function failureOf(status: number): string {
  if (status >= 300 && status < 400) return `It answered ${status}. Redirects are not followed.`
  return `It answered ${status}; only 200 to 299 counts as received.`
}

// We keep the body of the first try: each try of each webhook sends the same bytes.
async function freeze({ db, appUrl }: Deps, due: Due): Promise<string> {
  const [row] = await db.execute<{ body: string }>(sql`
    update events set body = coalesce(body, ${bodyOf(due, appUrl)})
    where id = ${due.eventId} and organisation_id = ${due.organisationId} returning body`)
  return row!.body
}

// https://www.standardwebhooks.com: each try has its own time, so that a receiver can refuse old calls.
function signed({ ring }: Deps, due: Due, body: string, at: Date): Record<string, string> {
  const place = secretPlace({ id: due.webhookId, organisationId: due.organisationId })
  const secrets = [due.secret, due.previousSecret].flatMap((sealed) => (sealed ? [open(ring, place, sealed)] : []))
  return {
    'content-type': 'application/json',
    'webhook-id': due.eventId,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(due.eventId, at, body)).join(' '),
  }
}

async function settle({ db, times }: Deps, due: Due, call: Call): Promise<void> {
  const waitMs = times.webhookBackoffMs[due.attemptNo - 1]
  const wait = waitMs === undefined ? sql`null` : sql`now() + ${ms(waitMs)}`
  const isAskedAgain = sql`next_attempt_at > lease_until - ${ms(times.webhookLeaseMs)}`
  const next = sql`case when ${call.error === null} then null when ${isAskedAgain} then next_attempt_at else ${wait} end`
  const failed = sql`case when ${isAskedAgain} or ${waitMs !== undefined} then 'pending' else 'failed' end`
  await db.transaction(async (tx) => {
    // We lock the webhook before the delivery, in the same order as the code that switches it off or deletes it.
    await tx.execute(sql`select from webhooks where id = ${due.webhookId} for no key update`)
    // If another worker has the lease, it settles the delivery. But anyone may record that it was received.
    const settled = await tx.execute(sql`
      update webhook_deliveries set
        state = (${call.error === null ? 'delivered' : failed})::webhook_delivery_state, next_attempt_at = ${next},
        lease_token = null, lease_until = null
      where id = ${due.id} and organisation_id = ${due.organisationId} and state = 'pending'
        and (${call.error === null} or lease_token = ${due.leaseToken})
      returning id`)
    if (settled.length === 0) return
    const { organisationId, id: deliveryId, attemptNo: no } = due
    await tx.insert(webhookAttempts).values({ organisationId, deliveryId, no, ...call })
    await (call.error === null ? noteSuccess(tx, due) : noteFailure(tx, times, due, call))
  })
}

// When a failing webhook answers again, its waiting events go out at once.
async function noteSuccess(tx: Tx, { webhookId, organisationId, url }: Due): Promise<void> {
  await tx.execute(sql`
    with recovered as (
      update webhooks set failing_since = null, not_before = null
      where id = ${webhookId} and organisation_id = ${organisationId} and url = ${url} and failing_since is not null returning id
    )
    update webhook_deliveries d set next_attempt_at = now() from recovered w where d.webhook_id = w.id and d.state = 'pending'`)
}

/**
 * Record a failure, if the webhook still has the same URL. The longer it has failed, the longer we wait before the next
 * call: a tenth of that time, at most 10 minutes. After three days, or when it answers 410 Gone, we switch it off, and
 * its waiting deliveries fail.
 */
async function noteFailure(
  tx: Tx,
  times: Times,
  { webhookId, organisationId, url }: Due,
  { status }: Call,
): Promise<void> {
  const [off] = await tx.execute<{ url: string; reason: string }>(sql`
    update webhooks set
      failing_since = coalesce(failing_since, now()),
      not_before = now() + least((now() - coalesce(failing_since, now())) / 10, ${ms(times.webhookRestMs)}),
      off_reason = case when ${status === 410} then 'gone' when failing_since < now() - ${ms(times.webhookOffMs)} then 'failing' end,
      off_since = case when ${status === 410} or failing_since < now() - ${ms(times.webhookOffMs)} then now() end
    where id = ${webhookId} and organisation_id = ${organisationId} and url = ${url} and off_since is null
    returning url, off_reason as reason`)
  if (!off?.reason) return
  await endWaiting(tx, organisationId, webhookId)
  await noticeWebhook(tx, organisationId, webhookId)
  await tx.insert(activity).values({
    organisationId,
    action: 'webhook.switched_off',
    actorKind: 'punctual',
    actorId: null,
    actorName: 'Punctual',
    ...{ subjectId: webhookId, subjectName: off.url, outcome: 'ok', detail: { reason: off.reason } },
  })
}

/** End the waiting deliveries of a webhook that is switched off. We do not send them. A person can send them again. */
export async function endWaiting(tx: Tx, organisationId: string, webhookId: string): Promise<void> {
  await tx.execute(sql`
    update webhook_deliveries set state = 'failed', next_attempt_at = null, lease_token = null, lease_until = null
    where webhook_id = ${webhookId} and organisation_id = ${organisationId} and state = 'pending'`)
}

async function wakeForgotten({ db, times }: Deps): Promise<void> {
  const rows = await db.execute<{ id: string }>(sql`
    select distinct w.id from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    where d.state = 'pending' and d.next_attempt_at < now() - ${ms(times.overdueMs)} and w.off_since is null
      and (w.not_before is null or w.not_before < now() - ${ms(times.overdueMs)})
      and (d.lease_until is null or d.lease_until < now())`)
  await wakeWebhooks(
    db,
    [...rows].map(({ id }) => id),
  )
}
