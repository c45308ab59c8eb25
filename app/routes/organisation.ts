import { type ActionFunctionArgs, redirect } from '@remix-run/node'
import { shown, signedIn } from '../api.ts'

/** Look at another organisation from here on. Always back to the posts: what was on the page belongs to the one before. */
export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const id = (await args.request.formData()).get('id')
  await shown(api.account.switchOrganisation({ id: String(id) }))
  return redirect('/')
}

export function loader() {
  return redirect('/')
}
