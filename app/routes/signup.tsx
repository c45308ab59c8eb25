import { getFormProps, useForm } from '@conform-to/react'
import {
  type ActionFunctionArgs,
  json,
  type LoaderFunctionArgs,
  type MetaFunction,
  redirectDocument,
} from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { useEffect, useState } from 'react'
import { isZone } from '../../jobs/wall-clock.ts'
import { NextLength, SignUp } from '../../server/accounts/forms.ts'
import { answer, formOf, localPath, searchFor } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import type { Handle } from '../shell/shell.tsx'
import { signUpStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'
import { Notice } from '../ui/notice.tsx'

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: signUpStrings.pageTitle }]

export function loader({ request, context: { member, signupOpen } }: LoaderFunctionArgs) {
  const next = localPath(new URL(request.url).searchParams.get('next'))
  if (member) throw redirectDocument(next)
  return json({ signupOpen, search: searchFor(next) })
}

export async function action({ request, context }: ActionFunctionArgs) {
  const { api, session } = context
  const next = localPath(new URL(request.url).searchParams.get('next'))
  const form = formOf(context)
  if (!isZone(String(form.get('timeZone')))) form.delete('timeZone') // some browsers know none, or a newer one than we do
  return answer(form, SignUp, async (person) => {
    const started = await api.signUp.begin({ ...person, next: next.length > NextLength ? '/' : next })
    if (!started) return { said: signUpStrings.sent(person.email), reset: true }
    // As a document: a consent page has its own headers, and needs its query byte for byte.
    return redirectDocument(next, { headers: session.start(started) })
  })
}

export default function Signup() {
  const { signupOpen, search } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer()
  const foot = signUpStrings.haveAccount(<Link to={`/login${search}`}>{signUpStrings.signIn}</Link>)
  if (said)
    return (
      <AuthLayout title={signUpStrings.title} foot={foot}>
        <Notice>{said}</Notice>
        <p className="mb-5 text-sm text-muted">{signUpStrings.sentHint}</p>
        <ButtonLink to={`/signup${search}`} className="w-full">
          {signUpStrings.otherAddress}
        </ButtonLink>
      </AuthLayout>
    )
  if (signupOpen)
    return (
      <AuthLayout title={signUpStrings.title} lead={signUpStrings.lead} foot={foot}>
        <SignUpForm answered={answered} />
      </AuthLayout>
    )
  return (
    <AuthLayout title={signUpStrings.title} foot={foot}>
      <p>{signUpStrings.closed}</p>
    </AuthLayout>
  )
}

type Fields = { name: string; email: string; password: string; organisation: string }

function SignUpForm({ answered }: { answered: Omit<ReturnType<typeof useAnswer>, 'said'> }) {
  const [form, fields] = useForm<Fields>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="space-y-5">
      <FormErrors form={form} />
      <Field label={signUpStrings.name} field={fields.name} autoComplete="name" required />
      <Field label={signUpStrings.email} field={fields.email} type="email" autoComplete="username" required />
      <Field
        label={signUpStrings.password}
        field={fields.password}
        type="password"
        autoComplete="new-password"
        hint={signUpStrings.passwordHint}
        required
      />
      <Field
        label={signUpStrings.organisation}
        field={fields.organisation}
        autoComplete="organization"
        hint={signUpStrings.organisationHint}
        required
      />
      <BrowserZone />
      <Submit look="primary" className="w-full">
        {signUpStrings.submit}
      </Submit>
    </Form>
  )
}

/** The browser's time zone. Without scripts it is unknown, and the account begins in UTC. */
function BrowserZone() {
  const [zone, setZone] = useState('')
  useEffect(() => setZone(Intl.DateTimeFormat().resolvedOptions().timeZone), [])
  return zone ? <input type="hidden" name="timeZone" value={zone} /> : null
}
