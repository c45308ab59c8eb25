import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData, useParams } from '@remix-run/react'
import { Contents } from '../docs/contents.tsx'
import { EndpointShown } from '../docs/endpoint.tsx'
import { BackToReference, headingOf } from '../docs/reference.tsx'
import { referenceStrings } from '../docs/strings.tsx'

export const meta: MetaFunction = ({ params }) => [
  { title: referenceStrings.groupPageTitle(headingOf(params.group ?? '')) },
]

export async function loader({ context, params }: LoaderFunctionArgs) {
  const endpoints = context.reference().endpoints.filter(({ group }) => group === params.group)
  if (endpoints.length === 0) throw json(null, { status: 404 })
  return json({ endpoints })
}

export default function ReferenceOfGroup() {
  const { endpoints } = useLoaderData<typeof loader>()
  const { group = '' } = useParams()
  return (
    <article className="max-w-3xl">
      <BackToReference />
      <h1 className="font-semibold text-2xl tracking-tight">{headingOf(group)}</h1>
      <Contents sections={endpoints} />
      {endpoints.map((endpoint) => (
        <EndpointShown key={endpoint.id} endpoint={endpoint} />
      ))}
    </article>
  )
}
