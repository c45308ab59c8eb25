import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { useState } from 'react'
import { ChangePassword, UpdateAccount } from '../../server/accounts/forms.ts'
import { answer, formOf, shown, signedIn } from '../api.ts'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors, Said, SelectField } from '../ui/forms/field.tsx'
import { Card, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: 'Account · Punctual' }]

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
      const said = 'Your password is changed, and every other browser signed out.'
      return { said, reset: true, ...(session && { headers: args.context.session.start(session) }) }
    })
  if (form.get('intent') === 'everywhere') {
    await shown(api.account.signOutEverywhere())
    return redirect('/login', { headers: { 'Set-Cookie': args.context.session.end() } })
  }
  return answer(form, UpdateAccount, async (account) => {
    await api.account.update(account)
    return { said: 'Saved.' }
  })
}

export default function Account() {
  return (
    <>
      <PageHead title="Account" />
      <div className="space-y-6">
        <Card title="You">
          <Profile />
        </Card>
        <Card title="Password">
          <Password />
        </Card>
        <Card title="Sessions" lead="Ends every session of yours, this one as well.">
          <Form method="post">
            <Submit look="danger" name="intent" value="everywhere">
              Sign out everywhere
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
  const [email, setEmail] = useState(fields.email.initialValue ?? account.email)
  const asksPassword = email.trim().toLowerCase() !== account.email.toLowerCase()
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="profile" />
      <FormErrors form={form} />
      <Field label="Name" field={fields.name} autoComplete="name" required />
      <Field
        label="E-mail"
        field={fields.email}
        type="email"
        autoComplete="email"
        required
        onInput={(event) => setEmail(event.currentTarget.value)}
      />
      {asksPassword || fields.password.errors ? (
        <Field
          label="Your password"
          field={fields.password}
          type="password"
          autoComplete="current-password"
          hint="A new address takes your password."
        />
      ) : null}
      <SelectField label="Time zone" field={fields.timeZone} hint="Every time you see and type is in this zone.">
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </SelectField>
      <div className="flex items-center gap-4">
        <Submit look="primary">Save</Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}

function Password() {
  const { said, ...answered } = useAnswer('password')
  const [form, fields] = useForm<{ current: string; password: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="password" />
      <FormErrors form={form} />
      <Field label="Current password" field={fields.current} type="password" autoComplete="current-password" required />
      <Field
        label="New password"
        field={fields.password}
        type="password"
        autoComplete="new-password"
        hint="At least 10 characters, and not easy to guess."
        required
      />
      <div className="flex flex-wrap items-center gap-4">
        <Submit>Change password</Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}
