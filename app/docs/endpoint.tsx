import { Link } from '@remix-run/react'
import { Fragment } from 'react'
import type { Endpoint } from '../../server/rest/reference.ts'
import { Sample } from '../ui/copy.tsx'
import { Fields } from './fields.tsx'

/** One route of the API: what it is for, what it takes and what it answers. */
export function EndpointShown({ endpoint }: { endpoint: Endpoint }) {
  const { id, method, path, title, about, parameters, bodies, answer, curl, refusals } = endpoint
  const rest = about.replaceAll('`', '').slice(`${title}. `.length)
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="scroll-mt-6 border-t border-line py-8">
      <h2 id={`${id}-title`} className="font-semibold text-lg">
        {title}
      </h2>
      <p className="mt-1 break-all font-mono text-sm">
        <span className="font-semibold text-accent-ink">{method}</span> {path}
      </p>
      <div className="mt-4 space-y-4">
        {rest ? <p>{rest}</p> : null}
        <Sample copyName={`Copy curl command: ${title}`} text={curl} />
        <Fields title="Parameters" fields={parameters} />
        {bodies.map((fields, i) => (
          <Fields
            key={fields.map(({ name, type }) => `${name} ${type}`).join()}
            title={bodies.length > 1 ? `Body, form ${i + 1} of ${bodies.length}` : 'Body'}
            fields={fields}
          />
        ))}
        <p className="text-sm">
          <span className="font-medium">Answers</span> {answer}
        </p>
        <p className="text-sm">
          <span className="font-medium">Refuses with</span>{' '}
          {refusals.map(({ status, codes }) => (
            <span key={status} className="mr-2">
              {status}{' '}
              {codes.map((code) => (
                <Fragment key={code}>
                  <Link to={`/docs/errors#${code}`} className="text-accent-ink underline underline-offset-2">
                    {code}
                  </Link>{' '}
                </Fragment>
              ))}
            </span>
          ))}
        </p>
      </div>
    </section>
  )
}
