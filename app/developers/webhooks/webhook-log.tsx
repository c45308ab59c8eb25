import { useForm } from '@conform-to/react'
import { ChevronRight, CircleCheck, CircleX, Clock, LoaderCircle } from 'lucide-react'
import type { WebhookDelivery } from '../../../server/webhooks/log.ts'
import { Instant } from '../../shell/instant.tsx'
import { PostForm } from '../../shell/post-form.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Submit } from '../../ui/forms/button.tsx'
import { FormErrors, Said } from '../../ui/forms/field.tsx'
import { TabbedList } from '../../ui/lists/tabbed-list.tsx'
import { Pill } from '../../ui/status.tsx'
import { webhookStrings } from './strings.tsx'
import { useWebhook } from './webhook.ts'

const strings = webhookStrings.log

const filters = [
  { status: null, name: strings.all },
  { status: 'PENDING', name: strings.waiting },
  { status: 'DELIVERED', name: strings.received },
  { status: 'FAILED', name: strings.failed },
] as const

/** The deliveries of a webhook with its responses, newest first. */
export function WebhookLog() {
  const { webhook, log, status, asked } = useWebhook()
  const path = `/settings/developers/webhooks/${webhook.id}`
  return (
    <TabbedList
      id="log"
      title={strings.title}
      tabs={filters.map((filter) => ({
        to: filter.status ? `${path}?status=${filter.status}` : path,
        name: filter.name,
        isCurrent: filter.status === status,
      }))}
      lead={<Resent />}
      rows={log.data.map((delivery) => <Delivery key={delivery.id} delivery={delivery} />)}
      none={status ? strings.noneOfStatus : strings.none}
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
  const { id, type, attempts } = delivery
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
            <Tries of={delivery} />
          </p>
        </div>
        {webhook.status === 'ACTIVE' ? (
          <PostForm preventScrollReset>
            <input type="hidden" name="intent" value="resend" />
            <input type="hidden" name="deliveryId" value={id} />
            <Submit aria-describedby={`delivery-${id}`}>{strings.sendAgain}</Submit>
          </PostForm>
        ) : null}
      </div>
      {last ? <Reply of={last} isShort /> : null}
      <Request of={delivery} />
    </>
  )
}

function Outcome({ of: { status, attempts } }: { of: WebhookDelivery }) {
  if (status === 'DELIVERED') return <Pill name={strings.received} icon={CircleCheck} tone="good" />
  if (status === 'FAILED' && attempts.length === 0) return <Pill name={strings.notSent} icon={CircleX} tone="calm" />
  if (status === 'FAILED') return <Pill name={strings.failed} icon={CircleX} tone="bad" />
  if (attempts.length === 0) return <Pill name={strings.sending} icon={LoaderCircle} tone="busy" isMoving />
  return <Pill name={strings.waiting} icon={Clock} tone="warn" />
}

function Tries({ of: { status, createdAt, nextAttemptAt, attempts } }: { of: WebhookDelivery }) {
  const created = <Instant at={createdAt} form="exact" />
  const tries = strings.tries(attempts.length)
  if (status !== 'PENDING' || !nextAttemptAt || attempts.length === 0) return strings.summary(created, tries)
  return strings.summaryWithNext(created, tries, <Instant at={nextAttemptAt} form="exact" />)
}

type Attempt = WebhookDelivery['attempts'][number]

function Reply({ of: { status, durationMs, reply, error }, isShort = false }: { of: Attempt; isShort?: boolean }) {
  return (
    <>
      <p className={`mt-1 break-words text-sm ${error ? 'text-bad' : 'text-muted'}`}>
        {error ?? strings.answered(status, durationMs)}
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
        {strings.details}
      </summary>
      <h3 className="mt-2 text-sm font-medium">{strings.lastRequest}</h3>
      <Quote text={`${headers.join('\n')}\n\n${request.body}`} />
      <h3 className="mt-3 text-sm font-medium">{strings.triesTitle}</h3>
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
