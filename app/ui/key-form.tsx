import { getFormProps, useForm } from '@conform-to/react'
import { Form, useLoaderData } from '@remix-run/react'
import type { Scope as ScopeName } from '../../server/forms.ts'
import type { loader } from '../routes/settings.developers.access.tsx'
import { useZone } from './account.ts'
import { useAnswer } from './answer.ts'
import { ButtonLink, Submit } from './button.tsx'
import { Copyable, Snippet } from './copy.tsx'
import { Field, FieldErrors, FormErrors } from './field.tsx'
import { Panel } from './page.tsx'
import { scopeWords } from './scopes.ts'

/** The form that makes a key. */
export function KeyForm() {
  const { scopes, defaultScopes } = useLoaderData<typeof loader>()
  const [form, fields] = useForm<{ name: string; scopes: string[]; expiresAt: string }>({
    ...useAnswer('generate'),
    defaultValue: { scopes: defaultScopes },
  })
  const chosen = fields.scopes.initialValue
  return (
    <Panel title="New key" lead="For a program of yours, or of somebody you trust, that posts for this organisation.">
      <Form method="post" {...getFormProps(form)} className="space-y-5">
        <input type="hidden" name="intent" value="generate" />
        <FormErrors form={form} />
        <Field
          label="Name"
          field={fields.name}
          hint="What will use it, for example: Website."
          className="max-w-md"
          required
        />
        <fieldset aria-describedby={fields.scopes.errors ? fields.scopes.errorId : undefined}>
          <legend className="mb-2 text-sm font-medium">Scopes</legend>
          <div className="grid gap-2 sm:grid-cols-2">
            {scopes.map((scope) => (
              <Scope key={scope} scope={scope} isChosen={chosen?.includes(scope) ?? false} />
            ))}
          </div>
          <FieldErrors id={fields.scopes.errorId} errors={fields.scopes.errors} />
        </fieldset>
        <Field
          label="Expires"
          field={fields.expiresAt}
          type="date"
          hint={`At the end of that day in ${useZone()}; never when left empty.`}
          className="max-w-md"
        />
        <div className="flex gap-2">
          <Submit look="primary">Generate</Submit>
          <ButtonLink to="/settings/developers/access" look="quiet">
            Close
          </ButtonLink>
        </div>
      </Form>
    </Panel>
  )
}

function Scope({ scope, isChosen }: { scope: ScopeName; isChosen: boolean }) {
  return (
    <label className="flex cursor-pointer gap-3 rounded-lg border border-line p-3 has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5">
      <input
        type="checkbox"
        name="scopes"
        value={scope}
        defaultChecked={isChosen}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <code className="block font-mono text-sm">{scope}</code>
        <span className="block text-sm text-muted">{scopeWords[scope]}</span>
      </span>
    </label>
  )
}

/** The one showing of a key, and a line to try it with. */
export function NewKeyShown({ value, baseUrl }: { value: string; baseUrl: string }) {
  return (
    <Panel title="Your key" lead="Copy it now. It is shown this once and kept nowhere.">
      <Copyable text={value} />
      <h3 className="mb-1.5 mt-5 text-sm font-medium">Try it in a terminal</h3>
      <Snippet text={`curl ${baseUrl}/public/v1/me -H 'Authorization: ${value}'`} />
    </Panel>
  )
}
