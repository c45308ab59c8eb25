import { getFormProps, useForm } from '@conform-to/react'
import { Form, Link } from '@remix-run/react'
import type { ReactNode } from 'react'
import { eventTypes } from '../../../server/webhooks/forms.ts'
import { eventWords } from '../../../server/words.ts'
import { Copyable } from '../../ui/copy.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Tick } from '../../ui/forms/checkbox.tsx'
import { Field, FieldErrors, FormErrors } from '../../ui/forms/field.tsx'
import { Panel } from '../../ui/page.tsx'

type Fields = { url: string; description: string; events: string[] }

/** Where a webhook leads and what it is told of, to add one or to change it. `children` are the buttons. */
export function WebhookForm({ intent, webhook, children }: { intent: string; webhook?: Fields; children: ReactNode }) {
  const defaultValue = webhook ?? { events: [...eventTypes] }
  const [form, fields] = useForm<Fields>({ ...useAnswer(intent), defaultValue })
  const chosen = fields.events.initialValue
  return (
    <Form method="post" {...getFormProps(form)} className="space-y-5">
      <input type="hidden" name="intent" value={intent} />
      <FormErrors form={form} />
      <Field
        label="URL"
        field={fields.url}
        type="url"
        maxLength={2000}
        hint="An address of yours that can be reached from the internet. It takes a POST with a JSON body."
        className="max-w-xl"
        required
      />
      <Field
        label="Description"
        field={fields.description}
        maxLength={200}
        hint="For you: what listens there."
        className="max-w-xl"
      />
      <fieldset aria-describedby={fields.events.errors ? fields.events.errorId : undefined}>
        <legend className="mb-2 text-sm font-medium">Events</legend>
        <div className="space-y-4">
          <Group name="Posts" prefix="post." chosen={chosen} />
          <Group name="Channels" prefix="channel." chosen={chosen} />
        </div>
        <FieldErrors id={fields.events.errorId} errors={fields.events.errors} />
      </fieldset>
      <div className="flex flex-wrap gap-2">{children}</div>
    </Form>
  )
}

type GroupProps = { name: string; prefix: string; chosen: unknown }

function Group({ name, prefix, chosen }: GroupProps) {
  const isChosen = (type: string) => [chosen].flat().includes(type) // one tick alone comes back as a text
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm text-muted">{name}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {eventTypes
          .filter((type) => type.startsWith(prefix))
          .map((type) => (
            <Tick key={type} name="events" value={type} isChosen={isChosen(type)} about={eventWords[type]} />
          ))}
      </div>
    </fieldset>
  )
}

/** The one showing of a webhook's secret. */
export function SecretShown({ title, secret, children }: { title: string; secret: string; children?: ReactNode }) {
  return (
    <Panel title={title} lead="Copy the signing secret now. It is shown this once.">
      <div className="space-y-4">
        <Copyable label="Signing secret" copyName="Copy signing secret" text={secret} />
        <p className="text-sm text-muted">
          Each call is signed with it.{' '}
          <Link to="/docs/webhooks#verify" className="text-accent-ink underline underline-offset-2">
            How to verify a call
          </Link>
        </p>
        {children}
      </div>
    </Panel>
  )
}
