import { type ActionFunctionArgs, redirect } from '@remix-run/node'

export async function action({ context: { api, member, session } }: ActionFunctionArgs) {
  if (member) await api.account.signOut()
  return redirect('/login', { headers: { 'Set-Cookie': session.end() } })
}

export function loader() {
  return redirect('/')
}
