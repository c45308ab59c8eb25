import { type ActionFunctionArgs, json, redirect } from '@remix-run/node'
import { SignIn } from '../../server/accounts/forms.ts'
import { answer, formOf } from '../api.ts'

/** Signs in without leaving the page that was open (app/posts/working-copy/sign-in-again.tsx). There is no page here. */
export async function action({ context }: ActionFunctionArgs) {
  const { api, session } = context
  return answer(formOf(context), SignIn, async (person) => {
    const started = await api.account.signIn(person)
    return json({ isSignedIn: true as const }, { headers: session.start(started) })
  })
}

export function loader() {
  return redirect('/login')
}
