import { type FieldMetadata, getFormProps, getTextareaProps, useForm } from '@conform-to/react'
import { Form } from '@remix-run/react'
import { type ReactNode, useState } from 'react'
import type { App } from '../../../server/oauth/apps.ts'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Submit } from '../../ui/forms/button.tsx'
import { controlClass, Field, FieldErrors, FormErrors, Hint } from '../../ui/forms/field.tsx'
import { AppMark } from './app-mark.tsx'
import { redirectFaults } from './registration.ts'

type Fields = { name: string; description: string; picture: string; redirectUris: string }

/** The id of the form that an app's page has for taking the picture away. */
export const RemovePicture = 'remove-picture'

/** What a developer says of an app, to make it or to change it. `children` are the buttons. */
export function AppForm({ intent, app, children }: { intent: string; app?: App; children: ReactNode }) {
  const known = app && { ...app, picture: '', redirectUris: app.redirectUris.join('\n') }
  const [form, fields] = useForm<Fields>({ ...useAnswer(intent), ...(known ? { defaultValue: known } : {}) })
  return (
    <Form method="post" encType="multipart/form-data" {...getFormProps(form)} className="max-w-xl space-y-5">
      <FormErrors form={form} />
      <Field
        label="Name"
        field={fields.name}
        maxLength={100}
        hint="People read it when they are asked to let the app in."
        required
      />
      <TextField
        label="Description"
        field={fields.description}
        rows={2}
        maxLength={500}
        hint="In a sentence: what it does for them."
      />
      <Picture field={fields.picture} app={app} />
      <RedirectUrls field={fields.redirectUris} />
      <div className="flex flex-wrap items-center gap-4">
        <input type="hidden" name="intent" value={intent} />
        {app ? <input type="hidden" name="id" value={app.id} /> : null}
        {children}
      </div>
    </Form>
  )
}

type TextFieldProps = {
  label: string
  field: FieldMetadata<string>
  hint: ReactNode
  rows: number
  maxLength?: number
  isCode?: boolean
  required?: boolean
  errors?: string[] | undefined
  onInput?: (text: string) => void
}

function TextField({ label, field, hint, isCode, errors = field.errors, onInput, ...rest }: TextFieldProps) {
  const { key, ...textarea } = getTextareaProps(field, { ariaDescribedBy: field.descriptionId })
  return (
    <div>
      <label htmlFor={field.id} className="mb-1.5 block text-sm font-medium">
        {label}
      </label>
      <textarea
        key={key}
        {...textarea}
        {...rest}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        aria-invalid={errors?.length ? true : undefined}
        aria-describedby={`${field.descriptionId} ${field.errorId}`}
        className={`${controlClass} ${isCode ? 'font-mono text-sm' : ''}`}
        spellCheck={!isCode}
      />
      <Hint id={field.descriptionId}>{hint}</Hint>
      <FieldErrors id={field.errorId} errors={errors} />
    </div>
  )
}

function Picture({ field, app }: { field: FieldMetadata<string>; app?: App | undefined }) {
  return (
    <div>
      <label htmlFor={field.id} className="mb-1.5 block text-sm font-medium">
        Picture
      </label>
      <div className="flex items-center gap-4">
        {app?.picture ? <AppMark app={app} size="size-12" /> : null}
        <input
          id={field.id}
          type="file"
          name={field.name}
          accept="image/jpeg,image/png,image/gif,image/webp,image/avif"
          aria-invalid={field.errors ? true : undefined}
          aria-describedby={`${field.descriptionId} ${field.errorId}`}
          className="block w-full text-sm text-muted file:mr-3 file:min-h-9 file:cursor-pointer file:rounded-lg file:border file:border-solid file:border-line file:bg-panel file:px-3.5 file:py-1.5 file:text-sm file:font-medium file:text-ink hover:file:bg-sunken"
        />
      </div>
      {app?.picture ? (
        <Submit look="quiet" form={RemovePicture} className="mt-2 -ml-3.5">
          Remove picture
        </Submit>
      ) : null}
      <Hint id={field.descriptionId}>Square is best; JPEG, PNG, GIF, WebP or AVIF of up to 20 MB.</Hint>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </div>
  )
}

function RedirectUrls({ field }: { field: FieldMetadata<string> }) {
  const [typed, setTyped] = useState<string | null>(null)
  const faults = typed === null ? field.errors : redirectFaults(typed).filter((fault) => !isBeginning(fault))
  return (
    <TextField
      label="Redirect URL"
      field={field}
      rows={3}
      isCode
      required
      errors={typed === '' ? undefined : faults}
      onInput={setTyped}
      hint="Where people go back to, one on a line, compared byte for byte. https, or http to 127.0.0.1, [::1] or localhost. The first is taken when a request names none."
    />
  )
}

// Who has typed no more than the scheme has done nothing wrong yet.
function isBeginning(fault: string): boolean {
  const [line = ''] = fault.split(': ')
  return ['https://', 'http://'].some((scheme) => scheme.startsWith(line))
}
