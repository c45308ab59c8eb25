import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { useState } from 'react'
import { ChangePassword, UpdateAccount } from '../../server/accounts/forms.ts'
import { answer, formOf, shown, signedIn } from '../api.ts'
import { accountStrings } from '../settings/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors, Said, SelectField } from '../ui/forms/field.tsx'
import { Card, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: accountStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { member } = signedIn(args)
  const zones = [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), member.timeZone])]
  const { name, email, timeZone } = member
  return json({ name, email, timeZone, zones })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const form = formOf(args.context)
  if (form.get('intent') === 'password')
    return answer(form, ChangePassword, async (passwords) => {
      const session = await api.account.changePassword(passwords)
      return {
        said: accountStrings.password.changed,
        reset: true,
        ...(session && { headers: args.context.session.start(session) }),
      }
    })
  if (form.get('intent') === 'everywhere') {
    await shown(api.account.signOutEverywhere())
    return redirect('/login', { headers: { 'Set-Cookie': args.context.session.end() } })
  }
  return answer(form, UpdateAccount, async (account) => {
    await api.account.update(account)
    return { said: accountStrings.profile.saved }
  })
}

export default function Account() {
  return (
    <>
      <PageHead title={accountStrings.title} />
      <div className="space-y-6">
        <Card title={accountStrings.profile.title}>
          <Profile />
        </Card>
        <Card title={accountStrings.password.title}>
          <Password />
        </Card>
        <Card title={accountStrings.sessions.title} lead={accountStrings.sessions.lead}>
          <Form method="post">
            <Submit look="danger" name="intent" value="everywhere">
              {accountStrings.sessions.signOutEverywhere}
            </Submit>
          </Form>
        </Card>
      </div>
    </>
  )
}

type ProfileFields = { name: string; email: string; timeZone: string; password: string }

function Profile() {
  const { zones, ...account } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer('profile')
  const [form, fields] = useForm<ProfileFields>({ ...answered, defaultValue: account })
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="profile" />
      <FormErrors form={form} />
      <Field label={accountStrings.profile.name} field={fields.name} autoComplete="name" required />
      <EmailFields email={fields.email} password={fields.password} currentEmail={account.email} />
      <SelectField
        label={accountStrings.profile.timeZone}
        field={fields.timeZone}
        hint={accountStrings.profile.timeZoneHint}
      >
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </SelectField>
      <div className="flex items-center gap-4">
        <Submit look="primary">{accountStrings.profile.save}</Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}

type EmailFieldsProps = { email: FieldMetadata<string>; password: FieldMetadata<string>; currentEmail: string }

/** The e-mail address, and after a change of it, the password. */
function EmailFields({ email, password, currentEmail }: EmailFieldsProps) {
  const [typed, setTyped] = useState(email.initialValue ?? currentEmail)
  const asksPassword = typed.trim().toLowerCase() !== currentEmail.toLowerCase()
  return (
    <>
      <Field
        label={accountStrings.profile.email}
        field={email}
        type="email"
        autoComplete="email"
        required
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {asksPassword || password.errors ? (
        <Field
          label={accountStrings.profile.currentPassword}
          field={password}
          type="password"
          autoComplete="current-password"
          hint={accountStrings.profile.currentPasswordHint}
        />
      ) : null}
    </>
  )
}

function Password() {
  const { said, ...answered } = useAnswer('password')
  const [form, fields] = useForm<{ current: string; password: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="password" />
      <FormErrors form={form} />
      <Field
        label={accountStrings.password.current}
        field={fields.current}
        type="password"
        autoComplete="current-password"
        required
      />
      <Field
        label={accountStrings.password.new}
        field={fields.password}
        type="password"
        autoComplete="new-password"
        hint={accountStrings.password.newHint}
        required
      />
      <div className="flex flex-wrap items-center gap-4">
        <Submit>{accountStrings.password.change}</Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}
