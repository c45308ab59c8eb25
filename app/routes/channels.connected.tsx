import { json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { problemOf, signedIn } from '../api.ts'
import { ButtonLink } from '../ui/button.tsx'
import { PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: 'Not connected · Punctual' }]

/** Where a network's consent page sends people back to (the redirect URI of OAuth, RFC 6749 §4.1.2). */
export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const { searchParams } = new URL(args.request.url)
  const [state, code, error] = ['state', 'code', 'error'].map((name) => searchParams.get(name))
  if (error === 'access_denied') return json({ why: 'You did not allow it there.' })
  if (error) return json({ why: `The network refused (${error.replace(/\W/g, '').slice(0, 50)}). Connect again.` }, 400)
  try {
    const channel = await api.channels.finish({ state: state ?? '', code: code ?? '' })
    return redirect(`/channels?connected=${channel.id}`)
  } catch (thrown) {
    const { detail, status } = problemOf(thrown)
    return json({ why: detail }, status)
  }
}

export default function Connected() {
  const { why } = useLoaderData<typeof loader>()
  return (
    <>
      <PageHead title="The channel is not connected" lead={why} />
      <ButtonLink to="/channels" look="primary">
        Back to the channels
      </ButtonLink>
    </>
  )
}
