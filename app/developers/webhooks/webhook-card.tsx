import { getFormProps, useForm } from '@conform-to/react'
import { Form } from '@remix-run/react'
import type { ReactNode } from 'react'
import { Instant } from '../../shell/instant.tsx'
import { PostForm } from '../../shell/post-form.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Button, ButtonLink, Submit } from '../../ui/forms/button.tsx'
import { FormErrors, Said } from '../../ui/forms/field.tsx'
import { Card, Panel } from '../../ui/page.tsx'
import { webhookStrings } from './strings.tsx'
import { useWebhook } from './webhook.ts'
import { WebhookForm } from './webhook-form.tsx'
import { WebhookState } from './webhook-state.tsx'

/** A webhook with its buttons. */
export function WebhookCard() {
  const { webhook } = useWebhook()
  const strings = webhookStrings.card
  const { url, description, events, previousSecretUntil, createdBy, createdAt } = webhook
  return (
    <Card>
      <p className="break-all font-mono text-sm font-medium">{url}</p>
      {description ? <p className="mt-1 whitespace-pre-line">{description}</p> : null}
      <div className="mt-2">
        <WebhookState of={webhook} />
      </div>
      <dl className="mt-4 space-y-2 text-sm [&_dt]:text-muted">
        <div>
          <dt>{strings.events}</dt>
          <dd className="break-words font-mono">{events.join(' · ')}</dd>
        </div>
        <div>
          <dt>{strings.addedBy}</dt>
          <dd>{makers[createdBy.kind](createdBy.name, <Instant at={createdAt} />)}</dd>
        </div>
        {previousSecretUntil ? (
          <div>
            <dt>{strings.secret}</dt>
            <dd>{strings.rotated(<Instant at={previousSecretUntil} />)}</dd>
          </div>
        ) : null}
      </dl>
      <Actions />
    </Card>
  )
}

const makers = {
  member: webhookStrings.card.byMember,
  api_key: webhookStrings.card.byKey,
  app: webhookStrings.card.byApp,
}

function Actions() {
  const strings = webhookStrings.card
  const { webhook } = useWebhook()
  const isOn = webhook.status === 'ACTIVE'
  return (
    <div className="mt-5 flex flex-wrap items-start gap-2">
      {isOn ? <ActionForm intent="test" name={strings.sendTest} look="primary" /> : <SwitchOn />}
      {/* GET forms: the buttons work without a script, and Back closes what they open. */}
      <Form preventScrollReset className="flex flex-wrap gap-2">
        <Opener name="change">{strings.change}</Opener>
        <Opener name="rotate">{strings.rotate}</Opener>
        {isOn ? <Opener name="off">{strings.switchOff}</Opener> : null}
        <Opener name="delete">{strings.delete}</Opener>
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
    <ActionForm intent="switch" name={webhookStrings.card.switchOn} look="primary">
      <input type="hidden" name="status" value="ACTIVE" />
    </ActionForm>
  )
}

type ActionFormProps = { intent: string; name: string; look: 'primary' | 'danger'; children?: ReactNode }

/** A form of a single button. */
function ActionForm({ intent, name, look, children }: ActionFormProps) {
  const { said, ...answered } = useAnswer(intent)
  const [form] = useForm(answered)
  return (
    <PostForm {...getFormProps(form)} className="flex flex-col items-start gap-2">
      <FormErrors form={form} />
      <input type="hidden" name="intent" value={intent} />
      {children}
      <Submit look={look}>{name}</Submit>
      <Said>{said}</Said>
    </PostForm>
  )
}

/** The panel that a button of the card opened. */
export function WebhookPanel() {
  const { webhook, asked } = useWebhook()
  if ('change' in asked) return <Change />
  if ('rotate' in asked) return <RotationConfirmation />
  if ('off' in asked && webhook.status === 'ACTIVE') return <OffConfirmation />
  if ('delete' in asked) return <DeletionConfirmation />
  return null
}

function Change() {
  const { webhook } = useWebhook()
  const { url, description, events } = webhook
  const { changeTitle, save, close } = webhookStrings.form
  return (
    <Panel title={changeTitle}>
      <WebhookForm intent="change" webhook={{ url, description, events }}>
        <Submit look="primary">{save}</Submit>
        <Close>{close}</Close>
      </WebhookForm>
    </Panel>
  )
}

function RotationConfirmation() {
  const { rotateTitle, rotateLead, rotate } = webhookStrings.confirm
  return (
    <Confirmation title={rotateTitle} lead={rotateLead}>
      <ActionForm intent="rotate" name={rotate} look="primary" />
    </Confirmation>
  )
}

function OffConfirmation() {
  const { offTitle, offLead, off } = webhookStrings.confirm
  return (
    <Confirmation title={offTitle} lead={offLead}>
      <ActionForm intent="switch" name={off} look="danger">
        <input type="hidden" name="status" value="OFF" />
      </ActionForm>
    </Confirmation>
  )
}

function DeletionConfirmation() {
  const { deleteTitle, deleteLead, delete: name } = webhookStrings.confirm
  return (
    <Confirmation title={deleteTitle} lead={deleteLead}>
      <ActionForm intent="delete" name={name} look="danger" />
    </Confirmation>
  )
}

function Confirmation({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Panel title={title} lead={lead}>
      <div className="flex flex-wrap items-start gap-2">
        {children}
        <Close>{webhookStrings.confirm.keep}</Close>
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
