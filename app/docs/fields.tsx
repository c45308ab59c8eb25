import type { Field } from '../../server/rest/reference.ts'
import { referenceStrings } from './strings.tsx'
import { WithCode } from './with-code.tsx'

/** Parameters or members, a row each. On a narrow screen a row becomes a paragraph. */
export function Fields({ title, fields }: { title: string; fields: Field[] }) {
  if (fields.length === 0) return null
  return (
    <div>
      <h3 className="mb-1 font-medium text-sm">{title}</h3>
      <dl className="divide-y divide-line rounded-lg border border-line text-sm">
        {fields.map(({ name, where, type, isRequired, about }) => (
          <div key={`${where} ${name}`} className="gap-x-4 px-3.5 py-2 sm:flex">
            <dt className="shrink-0 sm:w-44">
              <code className="break-all font-mono">{name}</code>
              {isRequired ? <span className="text-muted"> {referenceStrings.endpoint.required}</span> : null}
            </dt>
            <dd className="min-w-0">
              <span className="break-words text-muted">{type}</span>
              {about ? (
                <span className="block">
                  <WithCode text={about} />
                </span>
              ) : null}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
