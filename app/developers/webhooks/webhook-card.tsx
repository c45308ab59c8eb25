import { getFormProps, useForm } from '@conform-to/react'
import { Form } from '@remix-run/react'
import type { ReactNode } from 'react'
import { Instant } from '../../shell/instant.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Button, ButtonLink, Submit } from '../../ui/forms/button.tsx'
import { FormErrors, Said } from '../../ui/forms/field.tsx'
import { Card, Panel } from '../../ui/page.tsx'
import { useWebhook } from './webhook.ts'
import { WebhookForm } from './webhook-form.tsx'
import { WebhookState } from './webhook-state.tsx'

/** A webhook as it is, with what can be done to it. */
export function WebhookCard() {
  const { webhook } = useWebhook()
  const { url, description, events, previousSecretUntil, createdBy, createdAt } = webhook
  return (
    <Card>
      <p className="break-all font-mono text-sm font-medium">{url}</p>
      {description ? <p className="mt-1">{description}</p> : null}
      <div className="mt-2">
        <WebhookState of={webhook} />
      </div>
      <dl className="mt-4 space-y-2 text-sm [&_dt]:text-muted">
        <div>
          <dt>Told of</dt>
          <dd className="break-words font-mono">{events.join(' · ')}</dd>
        </div>
        <div>
          <dt>Added by</dt>
          <dd>
            {makers[createdBy.kind]}
            {createdBy.name}, <Instant at={createdAt} />
            {createdBy.kind === 'app' ? '. It ends with the app’s access.' : ''}
          </dd>
        </div>
        {previousSecretUntil ? (
          <div>
            <dt>Secret</dt>
            <dd>
              Rotated. Calls are signed with the one before as well until <Instant at={previousSecretUntil} />
            </dd>
          </div>
        ) : null}
      </dl>
      <Deeds />
    </Card>
  )
}

const makers = { member: '', api_key: 'the key ', app: 'the app ' }

function Deeds() {
  const { webhook } = useWebhook()
  const isOn = webhook.status === 'ACTIVE'
  return (
    <div className="mt-5 flex flex-wrap items-start gap-2">
      {isOn ? <Deed intent="test" name="Send test event" look="primary" /> : <SwitchOn />}
      {/* GET forms: the buttons work without a script, and Back closes what they open. */}
      <Form preventScrollReset className="flex flex-wrap gap-2">
        <Opener name="change">Change</Opener>
        <Opener name="rotate">Rotate secret</Opener>
        {isOn ? <Opener name="off">Switch off</Opener> : null}
        <Opener name="delete">Delete</Opener>
      </Form>
    </div>
  )
}

function Opener({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Button type="submit" name={name} value="">
      {children}
    </Button>
  )
}

function SwitchOn() {
  return (
    <Deed intent="switch" name="Switch on" look="primary">
      <input type="hidden" name="status" value="ACTIVE" />
    </Deed>
  )
}

type DeedProps = { intent: string; name: string; look: 'primary' | 'danger'; children?: ReactNode }

/** A form that is one button. */
function Deed({ intent, name, look, children }: DeedProps) {
  const { said, ...answered } = useAnswer(intent)
  const [form] = useForm(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="flex flex-col items-start gap-2">
      <FormErrors form={form} />
      <input type="hidden" name="intent" value={intent} />
      {children}
      <Submit look={look}>{name}</Submit>
      <Said>{said}</Said>
    </Form>
  )
}

/** What a button of the card has opened. */
export function WebhookPanel() {
  const { webhook, asked } = useWebhook()
  if ('change' in asked) return <Change />
  if ('rotate' in asked)
    return (
      <Confirmation
        title="Rotate the secret?"
        lead="The new one is shown once. For 24 hours each call is signed with both, so that the receiver can change over without missing one."
      >
        <Deed intent="rotate" name="Make a new secret" look="primary" />
      </Confirmation>
    )
  if ('off' in asked && webhook.status === 'ACTIVE')
    return (
      <Confirmation
        title="Switch it off?"
        lead="Nothing is sent to it from then on, nothing is kept for it, and what waits now is not sent. You can switch it on again."
      >
        <Deed intent="switch" name="Switch off now" look="danger">
          <input type="hidden" name="status" value="OFF" />
        </Deed>
      </Confirmation>
    )
  if ('delete' in asked)
    return (
      <Confirmation
        title="Delete the endpoint?"
        lead="Its log and its secret go with it, and what waits is not sent. This cannot be undone."
      >
        <Deed intent="delete" name="Delete endpoint" look="danger" />
      </Confirmation>
    )
  return null
}

function Change() {
  const { webhook } = useWebhook()
  const { url, description, events } = webhook
  return (
    <Panel title="Change the endpoint">
      <WebhookForm intent="change" webhook={{ url, description, events }}>
        <Submit look="primary">Save</Submit>
        <Close>Close</Close>
      </WebhookForm>
    </Panel>
  )
}

function Confirmation({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Panel title={title} lead={lead}>
      <div className="flex flex-wrap items-start gap-2">
        {children}
        <Close>Keep it as it is</Close>
      </div>
    </Panel>
  )
}

function Close({ children }: { children: ReactNode }) {
  const { webhook } = useWebhook()
  return (
    <ButtonLink to={`/settings/developers/webhooks/${webhook.id}`} look="quiet" preventScrollReset>
      {children}
    </ButtonLink>
  )
}
