import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import { docsStrings } from '../docs/strings.tsx'
import { WithCode } from '../docs/with-code.tsx'

export const meta: MetaFunction = () => [{ title: docsStrings.pageTitle(docsStrings.pages.errors) }]

export async function loader({ context }: LoaderFunctionArgs) {
  const { errors, faults } = context.reference()
  return json({ errors, faults })
}

export default function Errors() {
  const { errors, faults } = useLoaderData<typeof loader>()
  return (
    <article className="max-w-3xl">
      <h1 className="font-semibold text-2xl tracking-tight">{docsStrings.pages.errors}</h1>
      <p className="mt-1 text-muted">{docsStrings.errors.lead}</p>
      {errors.map(({ code, status, sentence, cure }) => (
        <section
          key={code}
          id={code}
          aria-labelledby={`${code}-title`}
          className="scroll-mt-6 border-line border-t py-5 target:rounded-lg target:bg-sunken target:px-4 first-of-type:mt-6"
        >
          <h2 id={`${code}-title`} className="font-semibold">
            <code className="break-all font-mono">{code}</code> <span className="font-normal text-muted">{status}</span>
          </h2>
          <p className="mt-1">{sentence}</p>
          <p className="mt-1 text-muted">
            <WithCode text={cure} />
          </p>
        </section>
      ))}
      <h2 className="mt-4 border-line border-t pt-6 font-semibold text-lg">{docsStrings.errors.faults}</h2>
      <dl>
        {faults.map(({ code, cure }) => (
          <div key={code} id={code} className="scroll-mt-6 py-2.5">
            <dt className="break-all font-mono font-semibold text-sm">{code}</dt>
            <dd className="text-muted">
              <WithCode text={cure} />
            </dd>
          </div>
        ))}
      </dl>
    </article>
  )
}
