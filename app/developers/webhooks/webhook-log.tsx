import { useForm } from '@conform-to/react'
import { Form } from '@remix-run/react'
import { ChevronRight, CircleCheck, CircleX, Clock, LoaderCircle } from 'lucide-react'
import type { WebhookDelivery } from '../../../server/webhooks/log.ts'
import { Instant } from '../../shell/instant.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Submit } from '../../ui/forms/button.tsx'
import { FormErrors, Said } from '../../ui/forms/field.tsx'
import { TabbedList } from '../../ui/lists/tabbed-list.tsx'
import { Pill } from '../../ui/status.tsx'
import { useWebhook } from './webhook.ts'

const filters = [
  { status: null, name: 'All' },
  { status: 'PENDING', name: 'Waiting' },
  { status: 'DELIVERED', name: 'Received' },
  { status: 'FAILED', name: 'Failed' },
] as const

/** What was sent to a webhook and what it answered, newest first. */
export function WebhookLog() {
  const { webhook, log, status, asked } = useWebhook()
  const path = `/settings/developers/webhooks/${webhook.id}`
  return (
    <TabbedList
      id="log"
      title="Deliveries"
      tabs={filters.map((filter) => ({
        to: filter.status ? `${path}?status=${filter.status}` : path,
        name: filter.name,
        isCurrent: filter.status === status,
      }))}
      lead={<Resent />}
      rows={log.data.map((delivery) => <Delivery key={delivery.id} delivery={delivery} />)}
      none={status ? 'None.' : 'Nothing was sent yet. What is sent is kept here for 30 days.'}
      paging={{ path, filters: status ? { status } : {}, isFirstPage: !asked.cursor, nextCursor: log.nextCursor }}
    />
  )
}

function Resent() {
  const { said, ...answered } = useAnswer('resend')
  const [form] = useForm(answered)
  return (
    <>
      <FormErrors form={form} />
      <Said>{said}</Said>
    </>
  )
}

function Delivery({ delivery }: { delivery: WebhookDelivery }) {
  const { webhook } = useWebhook()
  const { id, type, createdAt, attempts } = delivery
  const last = attempts.at(-1)
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <p id={`delivery-${id}`} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <code className="break-all font-mono text-sm font-medium">{type}</code>
            <Outcome of={delivery} />
          </p>
          <p className="mt-1 text-sm text-muted">
            <Instant at={createdAt} form="exact" /> · {triesOf(attempts.length)}
            <NextTry of={delivery} />
          </p>
        </div>
        {webhook.status === 'ACTIVE' ? (
          <Form method="post" preventScrollReset>
            <input type="hidden" name="intent" value="resend" />
            <input type="hidden" name="deliveryId" value={id} />
            <Submit aria-describedby={`delivery-${id}`}>Send again</Submit>
          </Form>
        ) : null}
      </div>
      {last ? <Reply of={last} isShort /> : null}
      <Request of={delivery} />
    </>
  )
}

function Outcome({ of: { status, attempts } }: { of: WebhookDelivery }) {
  if (status === 'DELIVERED') return <Pill name="Received" icon={CircleCheck} tone="good" />
  if (status === 'FAILED' && attempts.length === 0) return <Pill name="Not sent" icon={CircleX} tone="calm" />
  if (status === 'FAILED') return <Pill name="Failed" icon={CircleX} tone="bad" />
  if (attempts.length === 0) return <Pill name="On its way" icon={LoaderCircle} tone="busy" isMoving />
  return <Pill name="Waiting" icon={Clock} tone="warn" />
}

function triesOf(count: number): string {
  return count === 0 ? 'not tried' : count === 1 ? '1 try' : `${count} tries`
}

function NextTry({ of: { status, nextAttemptAt, attempts } }: { of: WebhookDelivery }) {
  if (status !== 'PENDING' || !nextAttemptAt || attempts.length === 0) return null
  return (
    <>
      {' '}
      · next try at <Instant at={nextAttemptAt} form="exact" /> or later
    </>
  )
}

type Attempt = WebhookDelivery['attempts'][number]

function Reply({ of: { status, durationMs, reply, error }, isShort = false }: { of: Attempt; isShort?: boolean }) {
  return (
    <>
      <p className={`mt-1 break-words text-sm ${error ? 'text-bad' : 'text-muted'}`}>
        {error ?? `It answered ${status} within ${durationMs} ms.`}
      </p>
      {reply ? <Quote text={reply} isShort={isShort} /> : null}
    </>
  )
}

function Request({ of: { request, attempts } }: { of: WebhookDelivery }) {
  if (!request) return null
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <details className="group mt-2">
      <summary className="flex w-fit items-center gap-1.5 rounded text-sm text-muted hover:text-ink">
        <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
        Request and answers
      </summary>
      <h3 className="mt-2 text-sm font-medium">What was sent last</h3>
      <Quote text={`${headers.join('\n')}\n\n${request.body}`} />
      <h3 className="mt-3 text-sm font-medium">Tries</h3>
      <ol className="space-y-2">
        {attempts.map((attempt) => (
          <li key={attempt.no} className="text-sm">
            <span className="text-muted">
              {attempt.no}. <Instant at={attempt.startedAt} form="exact" />
            </span>
            <Reply of={attempt} />
          </li>
        ))}
      </ol>
    </details>
  )
}

function Quote({ text, isShort = false }: { text: string; isShort?: boolean }) {
  return (
    <pre className="mt-1.5 whitespace-pre-wrap break-all rounded-lg bg-sunken px-3 py-2 font-mono text-xs">
      <code className={isShort ? 'line-clamp-3' : ''}>{text}</code>
    </pre>
  )
}
