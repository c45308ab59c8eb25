import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData, useLocation, useNavigate } from '@remix-run/react'
import { useEffect } from 'react'
import { GuideShown } from '../docs/guide.tsx'
import { docsStrings } from '../docs/strings.tsx'

export const meta: MetaFunction = () => [{ title: docsStrings.pageTitle(docsStrings.pages.quickstart) }]

export async function loader({ context }: LoaderFunctionArgs) {
  const guide = await context.guide('quickstart')
  if (!guide) throw json(null, { status: 404 })
  return json(guide)
}

export default function Quickstart() {
  useWayToReference()
  return <GuideShown guide={useLoaderData<typeof loader>()} />
}

/** The reference used to be here, so an address such as /docs#schema-Post leads to it. A server sees no fragment. */
function useWayToReference() {
  const { hash } = useLocation()
  const navigate = useNavigate()
  useEffect(() => {
    if (hash && !document.getElementById(hash.slice(1))) navigate(`/docs/reference${hash}`, { replace: true })
  }, [hash, navigate])
}
