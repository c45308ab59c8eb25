import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { Link } from '@remix-run/react'
import type { ReactNode } from 'react'
import { eventTypes } from '../../../server/webhooks/event-names.ts'
import { eventWords } from '../../../server/words.ts'
import { PostForm } from '../../shell/post-form.tsx'
import { Copyable } from '../../ui/copy.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Began } from '../../ui/forms/began.tsx'
import { Checkbox } from '../../ui/forms/checkbox.tsx'
import { FieldErrors } from '../../ui/forms/control.tsx'
import { Field, FormErrors, TextAreaField } from '../../ui/forms/field.tsx'
import { Panel } from '../../ui/page.tsx'
import { webhookStrings } from './strings.tsx'

type Fields = { url: string; description: string; events: string[] }

/** The form that adds or changes a webhook: its URL, description and events. `children` are the buttons. */
export function WebhookForm({ intent, webhook, children }: { intent: string; webhook?: Fields; children: ReactNode }) {
  const strings = webhookStrings.form
  const defaultValue = webhook ?? { events: [...eventTypes] }
  const [form, fields] = useForm<Fields>({ ...useAnswer(intent), defaultValue })
  return (
    <PostForm {...getFormProps(form)} className="space-y-5">
      <input type="hidden" name="intent" value={intent} />
      {webhook ? <Began intent={intent} values={webhook} /> : null}
      <FormErrors form={form} />
      <Field
        label={strings.url}
        field={fields.url}
        type="url"
        maxLength={2000}
        hint={strings.urlHint}
        className="max-w-xl"
        required
      />
      <div className="max-w-xl">
        <TextAreaField
          label={strings.description}
          field={fields.description}
          rows={2}
          maxLength={200}
          hint={strings.descriptionHint}
        />
      </div>
      <EventChoice field={fields.events} />
      <div className="flex flex-wrap gap-2">{children}</div>
    </PostForm>
  )
}

function EventChoice({ field }: { field: FieldMetadata<string[]> }) {
  const strings = webhookStrings.form
  const chosen = field.initialValue
  return (
    <fieldset aria-describedby={field.errors ? field.errorId : undefined}>
      <legend className="mb-2 text-sm font-medium">{strings.events}</legend>
      <div className="space-y-4">
        <Group name={strings.posts} prefix="post." chosen={chosen} />
        <Group name={strings.channels} prefix="channel." chosen={chosen} />
      </div>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </fieldset>
  )
}

type GroupProps = { name: string; prefix: string; chosen: unknown }

function Group({ name, prefix, chosen }: GroupProps) {
  const isChosen = (type: string) => [chosen].flat().includes(type) // a single choice comes back as a string
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm text-muted">{name}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {eventTypes
          .filter((type) => type.startsWith(prefix))
          .map((type) => (
            <Checkbox key={type} name="events" value={type} isChosen={isChosen(type)} about={eventWords[type]} />
          ))}
      </div>
    </fieldset>
  )
}

/** A webhook's secret, shown only once. */
export function SecretShown({ title, secret, children }: { title: string; secret: string; children?: ReactNode }) {
  const strings = webhookStrings.secret
  return (
    <Panel title={title} lead={strings.lead}>
      <div className="space-y-4">
        <Copyable label={strings.label} copyName={strings.copy} text={secret} />
        <p className="text-sm text-muted">
          {strings.use(
            <Link to="/docs/webhooks#verify" className="text-accent-ink underline underline-offset-2">
              {strings.verify}
            </Link>,
          )}
        </p>
        {children}
      </div>
    </Panel>
  )
}
