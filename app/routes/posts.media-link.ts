import { type ActionFunctionArgs, json, redirect } from '@remix-run/node'
import { formOf, problemOf } from '../api.ts'

/** Where the composer sends the link of a file that we fetch for it (app/posts/composer/media/). There is no page here. */
export async function action({ context }: ActionFunctionArgs) {
  const { api, member } = context
  if (!member) return json({ problem: 'You are signed out. Sign in in another tab, and try again.' }, 401)
  const form = formOf(context)
  try {
    return json({ media: await api.media.uploadFromUrl({ url: String(form.get('url') ?? '') }) })
  } catch (error) {
    const { status, detail, errors, headers } = problemOf(error)
    return json({ problem: errors[0]?.message ?? detail }, { status, headers })
  }
}

export function loader() {
  return redirect('/posts/new')
}
