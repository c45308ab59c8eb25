import { type ActionFunctionArgs, redirect } from '@remix-run/node'
import { formOf, shown, signedIn } from '../api.ts'

/** Switch to another organisation. Always goes to the posts, because the page before belongs to the other organisation. */
export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const id = formOf(args.context).get('id')
  await shown(api.account.switchOrganisation({ id: String(id) }))
  return redirect('/')
}

export function loader() {
  return redirect('/')
}

/** Never shown. A route with a component answers refusals with a page. */
export default function Organisation() {
  return null
}
