import { getFormProps, useForm } from '@conform-to/react'
import {
  type ActionFunctionArgs,
  json,
  type LoaderFunctionArgs,
  type MetaFunction,
  redirectDocument,
} from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { FinishSignUp } from '../../server/accounts/forms.ts'
import { answer, formOf, localPath, searchFor, shown } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import { isWholeToken, LinkTerm, tokenIn } from '../shell/mailed-link.tsx'
import type { Handle } from '../shell/shell.tsx'
import { confirmStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: confirmStrings.pageTitle }]

export async function loader({ request, context: { api } }: LoaderFunctionArgs) {
  const token = tokenIn(request)
  const waiting = await shown(api.signUp.show({ token }))
  const isWhole = isWholeToken(token)
  return json({ isWhole, waiting: waiting && { ...waiting, search: searchFor(localPath(waiting.next)) } })
}

export async function action({ request, context }: ActionFunctionArgs) {
  const { api, session } = context
  const form = formOf(context)
  form.set('token', tokenIn(request))
  return answer(form, FinishSignUp, async (link) => {
    const { session: started, next } = await api.signUp.finish(link)
    // As a document: a consent page has its own headers, and needs its query byte for byte.
    return redirectDocument(localPath(next), { headers: session.start(started) })
  })
}

export default function Confirm() {
  const { waiting, isWhole } = useLoaderData<typeof loader>()
  if (!waiting)
    return (
      <AuthLayout title={confirmStrings.title} foot={<Link to="/signup">{confirmStrings.again}</Link>}>
        <p className="mb-5">{isWhole ? confirmStrings.expired : confirmStrings.incomplete}</p>
        <SignInLink search="" />
      </AuthLayout>
    )
  if (waiting.hasAccount)
    return (
      <AuthLayout title={confirmStrings.title} foot={<Link to="/forgot">{confirmStrings.reset}</Link>}>
        <p className="mb-5 break-words">{confirmStrings.hasAccount(waiting.email)}</p>
        <SignInLink search={waiting.search} />
      </AuthLayout>
    )
  return (
    <AuthLayout title={confirmStrings.title} lead={confirmStrings.lead} foot={confirmStrings.notYou}>
      <ConfirmForm {...waiting} />
    </AuthLayout>
  )
}

function SignInLink({ search }: { search: string }) {
  return (
    <ButtonLink to={`/login${search}`} look="primary" className="w-full">
      {confirmStrings.signIn}
    </ButtonLink>
  )
}

type Waiting = { name: string; email: string; organisation: string }

// What was typed is shown, so that the person sees which sign-up this is.
function ConfirmForm({ name, email, organisation }: Waiting) {
  const { said: _none, ...answered } = useAnswer()
  const [form, fields] = useForm<{ password: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="space-y-5">
      <FormErrors form={form} />
      <dl className="space-y-3 text-sm">
        <LinkTerm term={confirmStrings.email}>{email}</LinkTerm>
        <LinkTerm term={confirmStrings.name}>{name}</LinkTerm>
        <LinkTerm term={confirmStrings.organisation}>{organisation}</LinkTerm>
      </dl>
      {/* For password managers: whose password this is. */}
      <input type="hidden" autoComplete="username" value={email} readOnly />
      <Field
        label={confirmStrings.password}
        field={fields.password}
        type="password"
        autoComplete="current-password"
        required
      />
      <Submit look="primary" className="w-full">
        {confirmStrings.submit}
      </Submit>
    </Form>
  )
}
