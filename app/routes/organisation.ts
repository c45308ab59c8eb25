import { type ActionFunctionArgs, redirect } from '@remix-run/node'
import { formOf, shown, signedIn } from '../api.ts'

/** Look at another organisation from here on. Always back to the posts: what was on the page belongs to the one before. */
export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const id = formOf(args.context).get('id')
  await shown(api.account.switchOrganisation({ id: String(id) }))
  return redirect('/')
}

export function loader() {
  return redirect('/')
}

/** Never shown: with a page of its own, a refusal is one as well. */
export default function Organisation() {
  return null
}
