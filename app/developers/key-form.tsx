import { getFormProps, useForm } from '@conform-to/react'
import { Form, useLoaderData } from '@remix-run/react'
import type { Scope } from '../../server/access/scopes.ts'
import { scopeWords } from '../../server/words.ts'
import { useZone } from '../shell/account.ts'
import { Copyable, Snippet } from '../ui/copy.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Tick } from '../ui/forms/checkbox.tsx'
import { Field, FieldErrors, FormErrors } from '../ui/forms/field.tsx'
import { Panel } from '../ui/page.tsx'

/** The form that makes a key. */
export function KeyForm() {
  const { scopes, defaultScopes } = useLoaderData<{ scopes: Scope[]; defaultScopes: Scope[] }>()
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
              <Tick
                key={scope}
                name="scopes"
                value={scope}
                isChosen={chosen?.includes(scope) ?? false}
                about={scopeWords[scope]}
              />
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

/** The one showing of a key, and a line to try it with. */
export function NewKeyShown({ value, baseUrl }: { value: string; baseUrl: string }) {
  return (
    <Panel title="Your key" lead="Copy it now. It is shown this once and kept nowhere.">
      <Copyable copyName="Copy API key" text={value} />
      <h3 className="mb-1.5 mt-5 text-sm font-medium">Try it in a terminal</h3>
      <Snippet text={`curl ${baseUrl}/public/v1/me -H 'Authorization: ${value}'`} />
    </Panel>
  )
}
