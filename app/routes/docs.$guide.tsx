import { json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { GuideShown } from '../docs/guide.tsx'
import { docsStrings } from '../docs/strings.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: docsStrings.pageTitle(data?.title ?? docsStrings.notFound) },
]

export async function loader({ context, params }: LoaderFunctionArgs) {
  if (params.guide === 'quickstart') throw redirect('/docs') // where it is; but this is the address that people guess
  const guide = await context.guide(params.guide ?? '')
  if (!guide) throw json(null, { status: 404 })
  return json(guide)
}

export default function GuidePage() {
  return <GuideShown guide={useLoaderData<typeof loader>()} />
}
