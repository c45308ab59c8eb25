import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, Link, useLoaderData } from '@remix-run/react'
import { ResetPassword } from '../../server/accounts/forms.ts'
import { answer, formOf, shown } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import { isWholeToken, tokenIn } from '../shell/mailed-link.tsx'
import type { Handle } from '../shell/shell.tsx'
import { resetStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Field, FormErrors } from '../ui/forms/field.tsx'
import { Notice } from '../ui/notice.tsx'

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: resetStrings.pageTitle }]

export async function loader({ request, context: { api } }: LoaderFunctionArgs) {
  const token = tokenIn(request)
  const works = await shown(api.passwordReset.check({ token }))
  return json({ works, isWhole: isWholeToken(token) })
}

export async function action({ request, context }: ActionFunctionArgs) {
  const form = formOf(context)
  form.set('token', tokenIn(request))
  return answer(form, ResetPassword, async (wanted) => {
    await context.api.passwordReset.redeem(wanted)
    return { said: resetStrings.changed, reset: true }
  })
}

export default function Reset() {
  const { works, isWhole } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer()
  if (said)
    return (
      <AuthLayout title={resetStrings.title} foot={null}>
        <Notice>{said}</Notice>
        <ButtonLink to="/login" look="primary" className="w-full">
          {resetStrings.signIn}
        </ButtonLink>
      </AuthLayout>
    )
  if (!works)
    return (
      <AuthLayout title={resetStrings.title} foot={<Link to="/login">{resetStrings.back}</Link>}>
        <p className="mb-5">{isWhole ? resetStrings.expired : resetStrings.incomplete}</p>
        <ButtonLink to="/forgot" className="w-full">
          {resetStrings.again}
        </ButtonLink>
      </AuthLayout>
    )
  return (
    <AuthLayout title={resetStrings.title} foot={null}>
      <PasswordForm answered={answered} />
    </AuthLayout>
  )
}

function PasswordForm({ answered }: { answered: Omit<ReturnType<typeof useAnswer>, 'said'> }) {
  const [form, fields] = useForm<{ password: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="space-y-5">
      <FormErrors form={form} />
      <Field
        label={resetStrings.password}
        field={fields.password}
        type="password"
        autoComplete="new-password"
        hint={resetStrings.passwordHint}
        required
      />
      <Submit look="primary" className="w-full">
        {resetStrings.change}
      </Submit>
    </Form>
  )
}
