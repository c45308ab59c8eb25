import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { useLoaderData } from '@remix-run/react'
import type { Scope } from '../../server/access/scopes.ts'
import { scopeWords } from '../../server/words.ts'
import { useZone } from '../shell/account.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Copyable, Snippet } from '../ui/copy.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Checkbox } from '../ui/forms/checkbox.tsx'
import { FieldErrors } from '../ui/forms/control.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'
import { Panel } from '../ui/page.tsx'
import { keyStrings } from './strings.tsx'

type Offered = { scopes: Scope[]; defaultScopes: Scope[] }

/** The form that makes a key. */
export function KeyForm() {
  const strings = keyStrings.form
  const { defaultScopes } = useLoaderData<Offered>()
  const [form, fields] = useForm<{ name: string; scopes: string[]; expiresAt: string }>({
    ...useAnswer('generate'),
    defaultValue: { scopes: defaultScopes },
  })
  return (
    <Panel title={strings.title} lead={strings.lead}>
      <PostForm {...getFormProps(form)} className="space-y-5">
        <input type="hidden" name="intent" value="generate" />
        <FormErrors form={form} />
        <Field label={strings.name} field={fields.name} hint={strings.nameHint} className="max-w-md" required />
        <ScopeChoice field={fields.scopes} />
        <Field
          label={strings.expires}
          field={fields.expiresAt}
          type="date"
          hint={strings.expiresHint(useZone())}
          className="max-w-md"
        />
        <div className="flex gap-2">
          <Submit look="primary">{strings.generate}</Submit>
          <ButtonLink to="/settings/developers/access" look="quiet">
            {strings.close}
          </ButtonLink>
        </div>
      </PostForm>
    </Panel>
  )
}

function ScopeChoice({ field }: { field: FieldMetadata<string[]> }) {
  const { scopes } = useLoaderData<Offered>()
  const chosen = field.initialValue
  return (
    <fieldset aria-describedby={field.errors ? field.errorId : undefined}>
      <legend className="mb-2 text-sm font-medium">{keyStrings.form.scopes}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        {scopes.map((scope) => (
          <Checkbox
            key={scope}
            name="scopes"
            value={scope}
            isChosen={chosen?.includes(scope) ?? false}
            about={scopeWords[scope]}
          />
        ))}
      </div>
      <FieldErrors id={field.errorId} errors={field.errors} />
    </fieldset>
  )
}

/** A new key, shown only once, and a line to try it with. */
export function NewKeyShown({ value, baseUrl }: { value: string; baseUrl: string }) {
  const strings = keyStrings.made
  return (
    <Panel title={strings.title} lead={strings.lead}>
      <Copyable copyName={strings.copy} text={value} />
      <h3 className="mb-1.5 mt-5 text-sm font-medium">{strings.tryIt}</h3>
      <Snippet text={`curl ${baseUrl}/public/v1/me -H 'Authorization: ${value}'`} />
    </Panel>
  )
}
