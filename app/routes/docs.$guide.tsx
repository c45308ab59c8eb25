import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { GuideShown } from '../docs/guide.tsx'
import { docsStrings } from '../docs/strings.tsx'

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: docsStrings.pageTitle(data?.title ?? docsStrings.notFound) },
]

export async function loader({ context, params }: LoaderFunctionArgs) {
  const guide = await context.guide(params.guide ?? '')
  if (!guide || params.guide === 'quickstart') throw json(null, { status: 404 }) // that one is at /docs
  return json(guide)
}

export default function GuidePage() {
  return <GuideShown guide={useLoaderData<typeof loader>()} />
}
