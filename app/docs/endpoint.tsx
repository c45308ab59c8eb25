import { Link } from '@remix-run/react'
import { Fragment } from 'react'
import type { Endpoint } from '../../server/rest/reference.ts'
import { Sample } from '../ui/copy.tsx'
import { Fields } from './fields.tsx'
import { referenceStrings } from './strings.tsx'

const strings = referenceStrings.endpoint

/** One route of the API: its purpose, its input and its responses. */
export function EndpointShown({ endpoint }: { endpoint: Endpoint }) {
  const { id, method, path, title, about, parameters, bodies, answer, curl } = endpoint
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
        <Sample copyName={strings.copyCall(title)} text={curl} />
        <Fields title={strings.parameters} fields={parameters} />
        {bodies.map((fields, i) => (
          <Fields
            key={fields.map(({ name, type }) => `${name} ${type}`).join()}
            title={strings.body(i + 1, bodies.length)}
            fields={fields}
          />
        ))}
        <p className="text-sm">
          {strings.response(<span className="font-medium">{strings.responseLabel}</span>, answer)}
        </p>
        <Refusals of={endpoint} />
      </div>
    </section>
  )
}

function Refusals({ of: { refusals } }: { of: Endpoint }) {
  return (
    <p className="text-sm">
      <span className="font-medium">{strings.refusalsLabel}</span>{' '}
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
  )
}
