import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { type ReactNode, useState } from 'react'
import type { App } from '../../../server/oauth/apps.ts'
import { PostForm } from '../../shell/post-form.tsx'
import { useAnswer } from '../../ui/forms/answer.ts'
import { Began } from '../../ui/forms/began.tsx'
import { Submit } from '../../ui/forms/button.tsx'
import { FieldErrors, Hint } from '../../ui/forms/control.tsx'
import { Field, FormErrors, TextAreaField } from '../../ui/forms/field.tsx'
import { AppMark } from './app-mark.tsx'
import { faultsWhileTyping } from './redirect-urls.ts'
import { appStrings } from './strings.tsx'

const strings = appStrings.form

type Fields = { name: string; description: string; picture: string; redirectUris: string }

/** The id of the form that removes the picture, on an app's page. */
export const RemovePicture = 'remove-picture'

/** The form that makes or changes an app. `children` are the buttons. */
export function AppForm({ intent, app, children }: { intent: string; app?: App; children: ReactNode }) {
  const known = app && { ...app, picture: '', redirectUris: app.redirectUris.join('\n') }
  const [form, fields] = useForm<Fields>({ ...useAnswer(intent), ...(known ? { defaultValue: known } : {}) })
  return (
    <PostForm encType="multipart/form-data" {...getFormProps(form)} className="max-w-xl space-y-5">
      <FormErrors form={form} />
      <Field label={strings.name} field={fields.name} maxLength={100} hint={strings.nameHint} required />
      <TextAreaField
        label={strings.description}
        field={fields.description}
        rows={2}
        maxLength={500}
        hint={strings.descriptionHint}
      />
      <Picture field={fields.picture} app={app} />
      <RedirectUrls field={fields.redirectUris} />
      <div className="flex flex-wrap items-center gap-4">
        <input type="hidden" name="intent" value={intent} />
        {app ? <Began intent={intent} values={settingsOf(app)} /> : null}
        {app ? <input type="hidden" name="id" value={app.id} /> : null}
        {children}
      </div>
    </PostForm>
  )
}

function settingsOf({ name, description, redirectUris }: App) {
  return { name, description, redirectUris }
}

function Picture({ field, app }: { field: FieldMetadata<string>; app?: App | undefined }) {
  return (
    <div>
      <label htmlFor={field.id} className="mb-1.5 block text-sm font-medium">
        {strings.picture}
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
          className="block w-full text-sm text-muted file:mr-3 file:min-h-10 file:cursor-pointer file:rounded-lg file:border file:border-solid file:border-line file:bg-panel file:px-3.5 file:py-1.5 file:text-sm file:font-medium file:text-ink hover:file:bg-sunken"
        />
      </div>
      {app?.picture ? (
        <Submit look="quiet" form={RemovePicture} className="mt-2 -ml-3.5">
          {strings.removePicture}
        </Submit>
      ) : null}
      <Hint id={field.descriptionId}>{strings.pictureHint}</Hint>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </div>
  )
}

function RedirectUrls({ field }: { field: FieldMetadata<string> }) {
  const [typed, setTyped] = useState<string | null>(null)
  const faults = typed === null ? field.errors : faultsWhileTyping(typed).filter((fault) => !isBeginning(fault))
  return (
    <TextAreaField
      label={strings.redirectUrl}
      field={field}
      rows={3}
      isCode
      required
      errors={typed === '' ? undefined : faults}
      onInput={setTyped}
      hint={strings.redirectUrlHint}
    />
  )
}

// A person who has typed only part of the scheme has made no mistake yet.
function isBeginning(fault: string): boolean {
  const [line = ''] = fault.split(': ')
  return ['https://', 'http://'].some((scheme) => scheme.startsWith(line))
}
