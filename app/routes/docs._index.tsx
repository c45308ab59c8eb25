import { json, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node'
import { useLoaderData } from '@remix-run/react'
import type { ReactNode } from 'react'
import { Snippet } from '../ui/copy.tsx'
import { EndpointShown } from '../ui/endpoint.tsx'
import { Fields } from '../ui/fields.tsx'

export const meta: MetaFunction = () => [{ title: 'API reference · Punctual' }]

export async function loader({ context }: LoaderFunctionArgs) {
  const { baseUrl, endpoints, schemas } = context.reference()
  return json({ baseUrl, endpoints, schemas })
}

export default function Reference() {
  const { baseUrl, endpoints, schemas } = useLoaderData<typeof loader>()
  return (
    <article>
      <h1 className="font-semibold text-2xl tracking-tight">API reference</h1>
      <p className="mt-1 text-muted">
        Everything under <code className="break-all font-mono text-sm">{baseUrl}</code>, as{' '}
        <a href={`${baseUrl}/openapi.json`} className="text-accent-ink underline underline-offset-2">
          OpenAPI 3.1
        </a>
        .
      </p>
      <nav aria-label="Contents" className="mt-6 columns-1 gap-8 text-sm sm:columns-2">
        <ul className="space-y-1.5">
          {endpoints.map(({ id, title }) => (
            <li key={id}>
              <a href={`#${id}`} className="text-accent-ink hover:underline">
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Conventions baseUrl={baseUrl} />
      {endpoints.map((endpoint) => (
        <EndpointShown key={endpoint.id} endpoint={endpoint} />
      ))}
      <h2 className="border-t border-line pt-8 font-semibold text-xl">Schemas</h2>
      {schemas.map(({ name, about, fields }) => (
        <section key={name} id={`schema-${name}`} aria-label={name} className="scroll-mt-6 py-5">
          <h3 className="font-semibold">{name}</h3>
          {about ? <p className="mb-2 text-muted text-sm">{about}</p> : null}
          <Fields title="Members" fields={fields} />
        </section>
      ))}
    </article>
  )
}

function Conventions({ baseUrl }: { baseUrl: string }) {
  return (
    <div className="my-8 space-y-6">
      <Section title="Authentication">
        <p>
          Make an API key under Settings › Developers › Access. It is the whole value of the Authorization header; the
          word Bearer may stand before it. A product that works for other organisations asks them with OAuth instead,
          and sends the access token in the same way.
        </p>
        <Snippet text={`curl ${baseUrl}/me -H "Authorization: $PUNCTUAL_KEY"`} />
        <p>
          What a key or token may do is in its scopes; a call without the right one is refused with 403, which names it.
          Keys are shown once. Keep them out of web pages and repositories, and revoke one that was seen.
        </p>
      </Section>
      <Section title="Idempotency">
        <p>
          Give each new post an Idempotency-Key of your own, of up to 255 characters. When the answer is lost, send the
          same request with the same key: the first answer comes again, with Idempotent-Replayed: true, and nothing is
          made twice. Retries, decisions and uploads from a URL take one too. Keys are kept for 24 hours; one that comes
          with another body is refused, and one whose first request failed is free again.
        </p>
        <Snippet
          text={`curl ${baseUrl}/posts -H "Authorization: $PUNCTUAL_KEY" -H 'Idempotency-Key: order-4711' \\
  -H 'Content-Type: application/json' -d '{ "type": "now", "content": "Hello", "channelIds": ["…"] }'`}
        />
      </Section>
      <Section title="Lists">
        <p>
          A list answers data and nextCursor. Send nextCursor as cursor for the next page, or follow the Link header,
          until it is null. Instants are UTC with milliseconds, such as 2026-12-24T18:00:00.000Z.
        </p>
      </Section>
      <Section title="Limits and failures">
        <p>
          Each answer says in RateLimit how many requests are left. A failure is one JSON object in the form of RFC 9457
          with a code, a sentence, the request id, and every problem at its place.{' '}
          <a href="/docs/errors" className="text-accent-ink underline underline-offset-2">
            Each code with its cure
          </a>
        </p>
      </Section>
    </div>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="space-y-2">
      <h2 className="font-semibold text-lg">{title}</h2>
      {children}
    </section>
  )
}
