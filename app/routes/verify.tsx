import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { MailedLink } from '../../server/accounts/forms.ts'
import { answer, formOf } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import { isWholeToken, tokenIn } from '../shell/mailed-link.tsx'
import type { Handle } from '../shell/shell.tsx'
import { verifyStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { FormErrors } from '../ui/forms/field.tsx'
import { Notice } from '../ui/notice.tsx'

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: verifyStrings.pageTitle }]

export function loader({ request }: LoaderFunctionArgs) {
  return json({ isWhole: isWholeToken(tokenIn(request)) })
}

export async function action({ request, context }: ActionFunctionArgs) {
  const form = formOf(context)
  form.set('token', tokenIn(request))
  return answer(form, MailedLink, async (link) => ({
    said: verifyStrings.verified(await context.api.mail.verify(link)),
    reset: true,
  }))
}

export default function Verify() {
  const { isWhole } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer()
  const [form] = useForm(answered)
  if (!isWhole)
    return (
      <AuthLayout title={verifyStrings.title} foot={null}>
        <p>{verifyStrings.incomplete}</p>
      </AuthLayout>
    )
  return (
    <AuthLayout title={verifyStrings.title} foot={null} {...(said ? {} : { lead: verifyStrings.lead })}>
      {said ? (
        <>
          <Notice>{said}</Notice>
          <ButtonLink to="/" look="primary" className="w-full">
            {verifyStrings.onward}
          </ButtonLink>
        </>
      ) : (
        <Form method="post" {...getFormProps(form)} className="space-y-5">
          <FormErrors form={form} />
          <Submit look="primary" className="w-full">
            {verifyStrings.submit}
          </Submit>
        </Form>
      )}
    </AuthLayout>
  )
}
