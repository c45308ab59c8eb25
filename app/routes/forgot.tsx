import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { ForgotPassword } from '../../server/accounts/forms.ts'
import { answer, formOf } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import type { Handle } from '../shell/shell.tsx'
import { resetStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'
import { Notice } from '../ui/notice.tsx'

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: resetStrings.pageTitle }]

export function loader({ context: { sendsMail } }: LoaderFunctionArgs) {
  return json({ sendsMail })
}

export async function action({ context }: ActionFunctionArgs) {
  return answer(formOf(context), ForgotPassword, async (wanted) => {
    await context.api.passwordReset.request(wanted)
    return { said: resetStrings.sent, reset: true }
  })
}

export default function Forgot() {
  const { sendsMail } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer()
  const foot = <Link to="/login">{resetStrings.back}</Link>
  if (!sendsMail)
    return (
      <AuthLayout title={resetStrings.title} foot={foot}>
        <p>{resetStrings.noMail}</p>
      </AuthLayout>
    )
  if (said)
    return (
      <AuthLayout title={resetStrings.title} foot={foot}>
        <Notice>{said}</Notice>
        <p className="text-sm text-muted">{resetStrings.sentHint}</p>
      </AuthLayout>
    )
  return (
    <AuthLayout title={resetStrings.title} lead={resetStrings.lead} foot={foot}>
      <AddressForm answered={answered} />
    </AuthLayout>
  )
}

function AddressForm({ answered }: { answered: Omit<ReturnType<typeof useAnswer>, 'said'> }) {
  const [form, fields] = useForm<{ email: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="space-y-5">
      <FormErrors form={form} />
      <Field label={resetStrings.email} field={fields.email} type="email" autoComplete="username" required />
      <Submit look="primary" className="w-full">
        {resetStrings.submit}
      </Submit>
    </Form>
  )
}
