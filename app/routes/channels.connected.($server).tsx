import { json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { problemOf, signedIn } from '../api.ts'
import { channelStrings } from '../channels/strings.tsx'
import { ButtonLink } from '../ui/forms/button.tsx'
import { PageHead } from '../ui/page.tsx'

const strings = channelStrings.notConnected

export const meta: MetaFunction = () => [{ title: strings.pageTitle }]

/** Where a network's consent page sends people back to (the redirect URI of OAuth, RFC 6749 §4.1.2): one for each server. */
export async function loader(args: LoaderFunctionArgs) {
  const { api } = signedIn(args)
  const query = new URL(args.request.url).searchParams
  const [code, error, iss] = ['code', 'error', 'iss'].map((name) => query.get(name) ?? undefined)
  const { server } = args.params
  try {
    const channel = await api.channels.finish({ state: query.get('state') ?? '', server, code, error, iss })
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
      <PageHead title={strings.title} lead={why} />
      <ButtonLink to="/channels" look="primary">
        {strings.back}
      </ButtonLink>
    </>
  )
}
