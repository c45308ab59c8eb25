import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { Link, useLoaderData } from '@remix-run/react'
import { headingOf } from '../docs/reference.tsx'
import { docsStrings, referenceStrings } from '../docs/strings.tsx'

export const meta: MetaFunction = () => [{ title: docsStrings.pageTitle(docsStrings.pages.reference) }]

export async function loader({ context }: LoaderFunctionArgs) {
  const { baseUrl, endpoints, schemas } = context.reference()
  const groups = [...new Set(endpoints.map(({ group }) => group))].map((name) => ({
    name,
    endpoints: endpoints.flatMap(({ id, title, method, path, group }) =>
      group === name ? [{ id, title, method, path }] : [],
    ),
  }))
  return json({ baseUrl, groups, schemas: schemas.map(({ name }) => name) })
}

const link = 'text-accent-ink underline underline-offset-2'

export default function Reference() {
  const { baseUrl, groups } = useLoaderData<typeof loader>()
  return (
    <article className="max-w-3xl">
      <h1 className="font-semibold text-2xl tracking-tight">{docsStrings.pages.reference}</h1>
      <p className="mt-1 text-muted">
        {referenceStrings.lead(
          <code className="break-all font-mono text-sm">{baseUrl}</code>,
          <a href={`${baseUrl}/openapi.json`} className={link}>
            {referenceStrings.openApi}
          </a>,
        )}
      </p>
      {groups.map((group) => (
        <Group key={group.name} group={group} />
      ))}
      <Schemas />
    </article>
  )
}

type Groups = ReturnType<typeof useLoaderData<typeof loader>>['groups']

function Group({ group: { name, endpoints } }: { group: Groups[number] }) {
  return (
    <section aria-labelledby={`group-${name}`} className="mt-7">
      <h2 id={`group-${name}`} className="font-semibold text-lg">
        <Link to={`/docs/reference/${name}`} className="hover:underline">
          {headingOf(name)}
        </Link>
      </h2>
      <ul className="mt-2 divide-y divide-line rounded-lg border border-line text-sm">
        {endpoints.map(({ id, title, method, path }) => (
          <li key={id} id={id} className="scroll-mt-6 gap-x-4 px-3.5 py-2 target:bg-accent/10 sm:flex">
            <Link to={`/docs/reference/${name}#${id}`} className={`${link} sm:w-72 sm:shrink-0`}>
              {title}
            </Link>
            <code className="block min-w-0 break-all font-mono text-muted">
              {method} {path}
            </code>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Schemas() {
  const { schemas } = useLoaderData<typeof loader>()
  return (
    <section aria-labelledby="group-schemas" className="mt-7">
      <h2 id="group-schemas" className="font-semibold text-lg">
        <Link to="/docs/reference/schemas" className="hover:underline">
          {referenceStrings.schemas}
        </Link>
      </h2>
      <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1.5 text-sm">
        {schemas.map((name) => (
          <li key={name} id={`schema-${name}`} className="scroll-mt-6 rounded px-1 target:bg-accent/10">
            <Link to={`/docs/reference/schemas#schema-${name}`} className={link}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
