import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { MailedLink } from '../../server/accounts/forms.ts'
import { answer, formOf, shown, signedIn } from '../api.ts'
import { AuthLayout } from '../shell/auth-layout.tsx'
import { isWholeToken, LinkTerm, tokenIn } from '../shell/mailed-link.tsx'
import type { Handle } from '../shell/shell.tsx'
import { newAddressStrings } from '../shell/strings.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { ButtonLink, Submit } from '../ui/forms/button.tsx'
import { FormErrors } from '../ui/forms/field.tsx'
import { Notice } from '../ui/notice.tsx'

// Only the account that asked for a new address can use its link.

export const handle: Handle = { bare: true }
export const meta: MetaFunction = () => [{ title: newAddressStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const token = tokenIn(args.request)
  const isWhole = isWholeToken(token)
  return json({ isWhole, current: member.email, email: await shown(api.newAddress.show({ token })) })
}

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const form = formOf(args.context)
  form.set('token', tokenIn(args.request))
  return answer(form, MailedLink, async (link) => ({
    said: newAddressStrings.changed(await api.newAddress.use(link)),
    reset: true,
  }))
}

export default function NewAddress() {
  const { email, current, isWhole } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer()
  const [form] = useForm(answered)
  if (said || !email)
    return (
      <AuthLayout title={newAddressStrings.title} foot={null}>
        {said ? <Notice>{said}</Notice> : <p className="mb-5">{whyNot(isWhole)}</p>}
        <ButtonLink to="/settings/account" look="primary" className="w-full">
          {newAddressStrings.onward}
        </ButtonLink>
      </AuthLayout>
    )
  return (
    <AuthLayout title={newAddressStrings.title} lead={newAddressStrings.lead} foot={newAddressStrings.notYou}>
      <Form method="post" {...getFormProps(form)} className="space-y-5">
        <FormErrors form={form} />
        <dl className="space-y-3 text-sm">
          <LinkTerm term={newAddressStrings.current}>{current}</LinkTerm>
          <LinkTerm term={newAddressStrings.new}>{email}</LinkTerm>
        </dl>
        <Submit look="primary" className="w-full">
          {newAddressStrings.submit}
        </Submit>
      </Form>
    </AuthLayout>
  )
}

function whyNot(isWhole: boolean): string {
  return isWhole ? newAddressStrings.expired : newAddressStrings.incomplete
}
