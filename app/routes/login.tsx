import { getFormProps, useForm } from '@conform-to/react'
import {
  type ActionFunctionArgs,
  json,
  type LoaderFunctionArgs,
  type MetaFunction,
  redirectDocument,
  type SerializeFrom,
} from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { SignIn } from '../../server/accounts/forms.ts'
import { answer, formOf, localPath, searchFor } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import type { Handle } from '../shell/shell.tsx'
import { signInStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'

// An app's consent page may lead on to the app at once. The policy for forms would stop that; scripts may follow it.
export const handle: Handle = { bare: true, still: (data) => !(data as SerializeFrom<typeof loader>).isForApp }
export const meta: MetaFunction = () => [{ title: signInStrings.pageTitle }]

export function loader({ request, context: { member, signupOpen } }: LoaderFunctionArgs) {
  const next = localPath(new URL(request.url).searchParams.get('next'))
  if (member) throw redirectDocument(next)
  return json({ signupOpen, search: searchFor(next), isForApp: next.startsWith('/oauth/') })
}

export async function action({ request, context }: ActionFunctionArgs) {
  const { api, session } = context
  const next = localPath(new URL(request.url).searchParams.get('next'))
  return answer(formOf(context), SignIn, async (person) => {
    const started = await api.account.signIn(person)
    // As a document: a consent page has its own headers, and needs its query byte for byte.
    return redirectDocument(next, { headers: session.start(started) })
  })
}

export default function Login() {
  const { signupOpen, search } = useLoaderData<typeof loader>()
  const [form, fields] = useForm<{ email: string; password: string }>(useAnswer())
  return (
    <AuthLayout
      title={signInStrings.title}
      foot={
        signupOpen ? signInStrings.newHere(<Link to={`/signup${search}`}>{signInStrings.createAccount}</Link>) : null
      }
    >
      <Form method="post" {...getFormProps(form)} className="space-y-5">
        <FormErrors form={form} />
        <Field label={signInStrings.email} field={fields.email} type="email" autoComplete="username" required />
        <Field
          label={signInStrings.password}
          field={fields.password}
          type="password"
          autoComplete="current-password"
          required
        />
        <Submit look="primary" className="w-full">
          {signInStrings.submit}
        </Submit>
        <p className="text-center text-sm">
          <Link to="/forgot" className="text-accent-ink underline underline-offset-2">
            {signInStrings.forgot}
          </Link>
        </p>
      </Form>
    </AuthLayout>
  )
}
