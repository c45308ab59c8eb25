import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { Fields } from '../docs/fields.tsx'
import { BackToReference } from '../docs/reference.tsx'
import { referenceStrings } from '../docs/strings.tsx'

export const meta: MetaFunction = () => [{ title: referenceStrings.groupPageTitle(referenceStrings.schemas) }]

export async function loader({ context }: LoaderFunctionArgs) {
  return json({ schemas: context.reference().schemas })
}

export default function Schemas() {
  const { schemas } = useLoaderData<typeof loader>()
  return (
    <article className="max-w-3xl">
      <BackToReference />
      <h1 className="font-semibold text-2xl tracking-tight">{referenceStrings.schemas}</h1>
      <p className="mt-1 text-muted">{referenceStrings.schemasLead}</p>
      {schemas.map(({ name, about, fields }) => (
        <section key={name} id={`schema-${name}`} aria-labelledby={`${name}-title`} className="scroll-mt-6 py-5">
          <h2 id={`${name}-title`} className="font-semibold">
            {name}
          </h2>
          {about ? <p className="mb-2 text-muted text-sm">{about}</p> : null}
          <Fields title={referenceStrings.members} fields={fields} />
        </section>
      ))}
    </article>
  )
}
